//! The program as others use it: its address on standard output, requests over a socket.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

struct Mock {
    child: Child,
    address: String,
}

impl Mock {
    fn start(answers: Option<&str>, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentx-mock"));
        if let Some(answers) = answers {
            let name = format!("agentx-mock-{}-{}", std::process::id(), answers.len());
            let file = std::env::temp_dir().join(name);
            std::fs::write(&file, answers).unwrap();
            command.arg(file);
        }
        let mut child = command
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Self { child, address }
    }

    /// The status, and the body as it came.
    fn post(&self, path: &str, body: &Value) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: mock\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let (mut answer, mut bytes) = (String::new(), [0; 4096]);
        while !is_whole(&answer) {
            let count = stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "it broke off: {answer}");
            answer.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
        }
        (answer[9..12].parse().unwrap(), answer)
    }

    /// The status, and what the model says.
    fn asked(&self, path: &str, body: &Value) -> (u16, String) {
        let (status, answer) = self.post(path, body);
        let events = answer
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        let words = events.filter_map(|event: Value| {
            let delta = event
                .get("delta")
                .or_else(|| event.pointer("/choices/0/delta"))?
                .clone();
            let text = delta.get("text").or_else(|| delta.get("content"))?;
            text.as_str().map(str::to_owned)
        });
        (status, words.collect())
    }

    /// Ends the server and returns its standard error: one line for each request.
    fn end(mut self) -> String {
        self.child.kill().unwrap();
        let mut told = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        self.child.wait().unwrap();
        told
    }
}

/// A stream ends with an empty chunk, all else tells its length.
fn is_whole(answer: &str) -> bool {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return false;
    };
    match head.split_once("content-length: ") {
        Some((_, length)) => body.len() == length.parse::<usize>().unwrap(),
        None => body.ends_with("0\r\n\r\n"),
    }
}

fn claude(messages: Value) -> Value {
    json!({ "model": "made-up", "max_tokens": 100, "stream": true, "messages": messages })
}

fn gpt(messages: Value) -> Value {
    json!({ "model": "made-up", "stream": true, "messages": messages })
}

const ANSWERS: &str = r#"# The second line answers the second turn.
"first"

{"thinking": "so", "text": "second"}
{"when": "rain", "calls": [{"name": "weather", "input": {"city": "Rome"}}]}
"#;

#[test]
fn answers_come_in_turn_or_by_words_and_twice_the_same() {
    let mock = Mock::start(Some(ANSWERS), &[]);
    let user = |text: &str| json!({ "role": "user", "content": text });
    let first = claude(json!([user("hello")]));
    for _ in 0..2 {
        assert_eq!(mock.asked("/v1/messages", &first), (200, "first".to_owned()));
    }
    let second = json!([user("hello"), { "role": "assistant", "content": "first" }, user("and?")]);
    for (path, body) in [
        ("/v1/messages", claude(second.clone())),
        ("/v1/chat/completions", gpt(second)),
    ] {
        assert_eq!(mock.asked(path, &body), (200, "second".to_owned()));
    }
    let (_, answer) = mock.post("/v1/chat/completions", &gpt(json!([user("will it rain?")])));
    assert!(
        answer.contains("weather") && answer.contains("call_0_0"),
        "{answer}"
    );
    let told = mock.end();
    assert_eq!(told.matches(": an answer").count(), 5, "{told}");
}

#[test]
fn what_a_vendor_refuses_is_refused_and_what_has_no_answer_is_said() {
    let mock = Mock::start(Some("\"only one\""), &[]);
    let user = json!({ "role": "user", "content": "hello" });
    let (status, answer) = mock.post("/v1/messages", &json!({ "model": "made-up", "messages": [user] }));
    assert!(status == 400 && answer.contains("max_tokens"), "{answer}");
    let over = json!([user, { "role": "assistant", "content": "only one" }, user]);
    let (status, answer) = mock.post("/v1/messages", &claude(over));
    assert!(
        status == 400 && answer.contains("no answer to a conversation with 1 answers"),
        "{answer}"
    );
    assert_eq!(mock.post("/v1/elsewhere", &json!({})).0, 404);
    mock.end();
}

#[test]
fn groq_takes_reasoning_back_for_models_that_reason_alone() {
    let mock = Mock::start(None, &["--dialect", "groq"]);
    let user = json!({ "role": "user", "content": "hello mock" });
    let answer = json!({ "role": "assistant", "content": "hi", "reasoning": "Who is it?" });
    let mut asked = gpt(json!([user, answer, user]));
    asked["model"] = "made-up-instruct".into();
    let (status, told) = mock.post("/v1/chat/completions", &asked);
    assert!(
        status == 400 && told.contains("reasoning is not supported with this model"),
        "{told}"
    );
    asked["model"] = "openai/gpt-oss-120b".into();
    assert_eq!(mock.post("/v1/chat/completions", &asked).0, 200);
    mock.end();
}

#[test]
fn it_fails_as_it_is_told_and_then_says_what_it_hears() {
    let mock = Mock::start(
        None,
        &[
            "--fail",
            "529",
            "--fail",
            "500",
            "--delay",
            "1",
            "--dialect",
            "ollama",
        ],
    );
    let hello = gpt(json!([{ "role": "user", "content": "hello mock" }]));
    let asked: Vec<(u16, bool)> = (0..3)
        .map(|_| mock.asked("/v1/chat/completions", &hello))
        .map(|(status, words)| (status, words.trim() == "hello mock"))
        .collect();
    assert_eq!(asked, [(529, false), (500, false), (200, true)]);
    mock.end();
}

#[test]
fn mistakes_and_help_are_in_words() {
    let program = || Command::new(env!("CARGO_BIN_EXE_agentx-mock"));
    let missing = program().arg("/nowhere/answers").output().unwrap();
    let told = String::from_utf8(missing.stderr).unwrap();
    assert!(
        !missing.status.success() && told.starts_with("error: /nowhere/answers: "),
        "{told}"
    );
    let help = program().arg("--help").output().unwrap();
    let told = String::from_utf8(help.stdout).unwrap();
    for word in ["--port", "--delay", "--fail", "--dialect", "ANTHROPIC_BASE_URL"] {
        assert!(told.contains(word), "{word} in {told}");
    }
}
