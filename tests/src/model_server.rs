//! A model server for tests and benchmarks of the whole program: Anthropic Messages over HTTP on a real
//! socket, on threads of its own, answering each request as a function says. A request that the vendor would
//! refuse is refused, and fails the test at its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use agentx_testing::{FailsOnRefusal, RequestChecks};

use crate::signed::Signed;

/// One answer of the model.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Calls of `bash`: id and command line.
    pub calls: Vec<(String, String)>,
    /// Calls of any tool: id, name and arguments.
    pub tools: Vec<(String, String, serde_json::Value)>,
    /// Words of the answer, each a delta.
    pub words: Vec<String>,
    /// The pause before each word.
    pub pace: Duration,
    /// Whether each word is the time at which it was sent, in microseconds since the epoch.
    pub stamped: bool,
}

/// The server's reaction to one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It answers.
    Answer(Answer),
    /// It says these words, then nothing until the client goes away. Without words it does not even begin to
    /// answer.
    Stall(Vec<String>),
    /// It answers as a vendor whose models bind their thinking to the request. The server has to check its
    /// requests.
    Signed(Signed),
    /// It sends these events of a stream.
    Events {
        /// Each with its name and the empty line at its end.
        events: Vec<String>,
        /// The pause before each of them.
        pace: Duration,
        /// Whether nothing comes behind them until the client goes away, not even an end.
        stalls: bool,
    },
    /// It says these words, then the connection breaks.
    Cut(Vec<String>),
    /// It answers with this status line, these headers and this body, and closes.
    Whole {
        /// For example `429 Too Many Requests`.
        status: &'static str,
        /// Lines, each `name: value`.
        headers: Vec<String>,
        /// The body.
        body: String,
    },
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl Reply {
    /// A body in JSON with this status.
    fn refusal(status: u16, body: &serde_json::Value) -> Self {
        Self::Whole {
            status: match status {
                404 => "404 Not Found",
                413 => "413 Payload Too Large",
                422 => "422 Unprocessable Entity",
                _ => "400 Bad Request",
            },
            headers: vec!["content-type: application/json".to_owned()],
            body: body.to_string(),
        }
    }
}

/// The function that answers a request.
type Script = dyn Fn(&Request) -> Reply + Send + Sync;

/// A server that is there until the process ends. Hold it until the test ends: when the last clone is
/// dropped, the test fails if a request was refused.
#[must_use]
#[derive(Clone, Debug)]
pub struct ModelServer {
    address: SocketAddr,
    _fails_on_refusal: Option<Arc<FailsOnRefusal>>,
}

/// A request as it came.
struct Request {
    path: String,
    beta: String,
    body: Vec<u8>,
}

impl ModelServer {
    /// Starts it on a port of its own.
    ///
    /// # Errors
    /// If no port is free.
    pub fn start<R: Into<Reply>>(
        script: impl Fn(&[u8]) -> R + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::checked(RequestChecks::new(), script)
    }

    /// The same, with checks of its own: for models that [`RequestChecks::new`] does not know.
    ///
    /// # Errors
    /// If no port is free.
    pub fn checked<R: Into<Reply>>(
        checks: RequestChecks,
        script: impl Fn(&[u8]) -> R + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let fails_on_refusal = Arc::new(checks.fail_when_dropped());
        let script = move |request: &Request| {
            let Request { path, beta, body } = request;
            match checks.check(path, beta, body) {
                Ok(accepted) => match script(body).into() {
                    Reply::Signed(answer) => answer.reply_to(&accepted),
                    reply => reply,
                },
                Err(refusal) => Reply::refusal(refusal.status, &refusal.body),
            }
        };
        let mut server = Self::listen(Arc::new(script))?;
        server._fails_on_refusal = Some(fails_on_refusal);
        Ok(server)
    }

    /// The same without any check: for tests that send garbage, and for measurements.
    ///
    /// # Errors
    /// If no port is free.
    pub fn accepting<R: Into<Reply>>(
        script: impl Fn(&[u8]) -> R + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        Self::listen(Arc::new(move |request: &Request| script(&request.body).into()))
    }

    fn listen(script: Arc<Script>) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = script.clone();
                std::thread::spawn(move || serve(stream, script.as_ref()));
            }
        });
        Ok(Self {
            address,
            _fails_on_refusal: None,
        })
    }

    /// Returns the value for `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Answers every request of a connection; a client that goes away ends it.
fn serve(stream: TcpStream, script: &Script) {
    let _ = stream.set_nodelay(true);
    let Ok(reading) = stream.try_clone() else { return };
    let mut reader = BufReader::new(reading);
    let mut writer = stream;
    while let Some(request) = read_request(&mut reader) {
        match reply(&mut writer, &mut reader, script(&request)) {
            Ok(true) => {}
            Ok(false) | Err(_) => return,
        }
    }
}

/// Does what is to be done with a request. `false` if the connection is over with it.
fn reply(out: &mut TcpStream, reader: &mut BufReader<TcpStream>, reply: Reply) -> std::io::Result<bool> {
    match reply {
        Reply::Answer(answer) => write_answer(out, &answer).map(|()| true),
        Reply::Signed(_) => panic!("a server that checks nothing signs nothing"),
        Reply::Events { events, pace, stalls } => {
            out.write_all(STREAM)?;
            for text in &events {
                std::thread::sleep(pace);
                chunk(out, text)?;
            }
            if stalls {
                until_it_goes(reader)
            } else {
                out.write_all(b"0\r\n\r\n").map(|()| true)
            }
        }
        Reply::Stall(words) => {
            begin_to_say(out, words)?;
            until_it_goes(reader)
        }
        Reply::Cut(words) => begin_to_say(out, words).map(|()| false),
        Reply::Whole {
            status,
            headers,
            body,
        } => {
            let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            out.write_all(text.as_bytes()).map(|()| false)
        }
    }
}

/// Waits for the client to go away.
fn until_it_goes(reader: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).map(|_| false)
}

/// The beginning of an answer: its words and no end. Empty if there are no words.
fn begin_to_say(out: &mut TcpStream, words: Vec<String>) -> std::io::Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    write_start(out)?;
    write_words(
        out,
        &Answer {
            words,
            ..Answer::default()
        },
        false,
    )
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let (mut length, mut beta) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            return Some(Request { path, beta, body });
        }
        match line.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().ok()?,
            Some(("anthropic-beta", value)) => value.trim().clone_into(&mut beta),
            _ => {}
        }
    }
}

/// The head of a reply that is a stream.
const STREAM: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn write_start(out: &mut TcpStream) -> std::io::Result<()> {
    out.write_all(STREAM)?;
    let usage = r#"{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}"#;
    event(
        out,
        "message_start",
        &format!(
            r#"{{"type":"message_start","message":{{"id":"msg_served","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}}}"#
        ),
    )
}

fn write_answer(out: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    write_start(out)?;
    let mut index = 0;
    if !answer.words.is_empty() {
        write_words(out, answer, true)?;
        index += 1;
    }
    for (id, command) in &answer.calls {
        write_call(out, index, id, "bash", &serde_json::json!({ "command": command }))?;
        index += 1;
    }
    for (id, name, input) in &answer.tools {
        write_call(out, index, id, name, input)?;
        index += 1;
    }
    let reason = if answer.calls.is_empty() && answer.tools.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    event(
        out,
        "message_delta",
        &format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":20}}}}"#
        ),
    )?;
    event(out, "message_stop", r#"{"type":"message_stop"}"#)?;
    out.write_all(b"0\r\n\r\n")
}

fn write_words(out: &mut TcpStream, answer: &Answer, to_the_end: bool) -> std::io::Result<()> {
    event(
        out,
        "content_block_start",
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    )?;
    for word in &answer.words {
        if !answer.pace.is_zero() {
            std::thread::sleep(answer.pace);
        }
        let word = if answer.stamped {
            format!("{} ", now_us())
        } else {
            word.clone()
        };
        let text = serde_json::Value::from(word);
        event(
            out,
            "content_block_delta",
            &format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#
            ),
        )?;
    }
    if !to_the_end {
        return Ok(());
    }
    event(
        out,
        "content_block_stop",
        r#"{"type":"content_block_stop","index":0}"#,
    )
}

fn write_call(
    out: &mut TcpStream,
    index: usize,
    id: &str,
    name: &str,
    input: &serde_json::Value,
) -> std::io::Result<()> {
    event(
        out,
        "content_block_start",
        &format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}}}"#
        ),
    )?;
    let input = input.to_string();
    let mut middle = input.len() / 2;
    while !input.is_char_boundary(middle) {
        middle += 1;
    }
    for part in [&input[..middle], &input[middle..]] {
        let part = serde_json::Value::from(part);
        event(
            out,
            "content_block_delta",
            &format!(
                r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":{part}}}}}"#
            ),
        )?;
    }
    event(
        out,
        "content_block_stop",
        &format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
    )
}

/// Microseconds since the epoch, the same clock in every process.
pub fn now_us() -> u128 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
        .as_micros()
}

/// One chunk of the body for each event, as servers do that flush each.
fn event(out: &mut TcpStream, name: &str, data: &str) -> std::io::Result<()> {
    chunk(out, &format!("event: {name}\ndata: {data}\n\n"))
}

fn chunk(out: &mut TcpStream, text: &str) -> std::io::Result<()> {
    out.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}
