//! A model server for tests in any language: it answers from a file, refuses what the vendors refuse, and can
//! be slow or fail on request. `agentx_testing::Mock` does the work; this is its command line.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agentx_testing::vendors::Dialect;
use agentx_testing::{Mock, MockAnswers, TestServer};
use clap::{Parser, ValueEnum};

/// A model server for tests: answers from a file, refuses what the vendors refuse, and can be slow or fail on
/// request
///
/// It speaks the protocols of Anthropic (/v1/messages), OpenAI (/v1/chat/completions, /v1/responses), Gemini
/// (/v1beta/models/NAME:streamGenerateContent, /v1beta/interactions) and Amazon Bedrock
/// (/model/ID/invoke-with-response-stream), streamed. Its address is the one line of its standard output;
/// each request is a line of its standard error. It ends on Ctrl-C or SIGTERM.
#[derive(Parser)]
#[command(name = "agentx-mock", version, after_help = ANSWERS)]
struct Args {
    /// Answers, one JSON value a line; without a file, the server repeats the user's message
    answers: Option<PathBuf>,
    /// Listen at this port of this machine; 0 takes a free one
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    port: u16,
    /// Say nothing for so many milliseconds before each answer
    #[arg(long, default_value_t = 0, value_name = "MS")]
    delay: u64,
    /// Fail the first request for an answer with this status, as 529; given again, the second one, and so on
    #[arg(long, value_name = "STATUS", value_parser = clap::value_parser!(u16).range(400..600))]
    fail: Vec<u16>,
    /// The dialect of /v1/chat/completions: the vendor whose rules hold
    #[arg(long, value_enum, default_value_t = DialectArg::Openai)]
    dialect: DialectArg,
}

/// The format of the file of answers.
const ANSWERS: &str = "\
A line of ANSWERS is words as a JSON string, or an object:
  {\"text\": \"Hello.\"}
  {\"thinking\": \"Which?\", \"calls\": [{\"name\": \"weather\", \"input\": {\"city\": \"Rome\"}}]}
  {\"when\": \"weather\", \"text\": \"It is sunny.\"}
A line with `when` answers each message that has these words in it. The others answer in turn: the third one answers a
conversation with two answers in it, so that a request which comes twice is answered twice the same.

  agentx-mock answers.jsonl --port 8080 &
  ANTHROPIC_BASE_URL=http://127.0.0.1:8080 ANTHROPIC_API_KEY=any agentx run --model opus hello";

/// A server of Chat Completions.
#[derive(Clone, Copy, ValueEnum)]
enum DialectArg {
    Openai,
    Mistral,
    Deepseek,
    Groq,
    Perplexity,
    LlamaCpp,
    LlamaCppPython,
    Devstral,
    Gemma,
    Ollama,
}

impl DialectArg {
    fn dialect(self) -> Dialect {
        match self {
            Self::Openai => Dialect::OpenAi,
            Self::Mistral => Dialect::Mistral,
            Self::Deepseek => Dialect::DeepSeek,
            Self::Groq => Dialect::Groq,
            Self::Perplexity => Dialect::Perplexity,
            Self::LlamaCpp => Dialect::LlamaCpp,
            Self::LlamaCppPython => Dialect::LlamaCppPython,
            Self::Devstral => Dialect::Devstral,
            Self::Gemma => Dialect::Gemma,
            Self::Ollama => Dialect::Ollama,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            // If standard error is closed, a panic would not help.
            let _ = writeln!(std::io::stderr(), "error: {what}");
            ExitCode::FAILURE
        }
    }
}

/// Answers requests until the process receives Ctrl-C or SIGTERM.
async fn serve(args: &Args) -> Result<(), String> {
    let answers = match &args.answers {
        Some(file) => {
            let text =
                std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            MockAnswers::parse(&text).map_err(|what| format!("{}: {what}", file.display()))?
        }
        None => MockAnswers::default(),
    };
    let mock = Mock::new(answers, args.dialect.dialect())
        .delayed(Duration::from_millis(args.delay))
        .failing(args.fail.clone());
    let answering = move |request: &agentx_testing::HttpRequest| {
        let (reply, what) = mock.answer(request);
        // Nobody has to read standard error.
        let _ = writeln!(std::io::stderr(), "{} {}: {what}", request.method, request.path);
        reply
    };
    let server = TestServer::answering_at(args.port, answering).await;
    let server = server.map_err(|error| format!("cannot listen on port {}: {error}", args.port))?;
    let mut out = std::io::stdout();
    let told = writeln!(out, "{}", server.url()).and_then(|()| out.flush());
    told.map_err(|error| format!("cannot read its address: {error}"))?;
    told_to_end()
        .await
        .map_err(|error| format!("cannot listen for signals: {error}"))
}

#[cfg(unix)]
async fn told_to_end() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminated.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn told_to_end() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
