//! A model that says what a journey has written down, and waits when the journey wants it to: Anthropic
//! Messages on a socket of this machine, on threads of its own. A request that Anthropic would refuse is
//! refused, and fails the test at its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use agentx_testing::{CheckedRequest, FailsOnRefusal, RequestChecks};
use serde_json::{Value, json};

/// A part of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Words, in small pieces.
    Say(String),
    /// Words that it thinks aloud.
    Think(String),
    /// A call of a tool.
    Call(&'static str, Value),
    /// Nothing, until the journey continues.
    Hold,
    /// Not an answer, but this status and this body.
    Refuse(&'static str, Value),
}

/// The number of letters that are sent at once, as models do.
const PIECE: usize = 7;

/// The holds that may be passed, and a word to those who wait.
#[derive(Debug, Default)]
struct Gate {
    open: Mutex<usize>,
    changed: Condvar,
}

/// The remaining answers.
type Answers = std::vec::IntoIter<Vec<Part>>;

/// A model.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) url: String,
    shared: Arc<Shared>,
    _fails_on_refusal: FailsOnRefusal,
}

/// The state that a model and its answering threads share.
#[derive(Debug)]
struct Shared {
    answers: Mutex<Answers>,
    gate: Gate,
    asked: Mutex<Vec<String>>,
    checks: RequestChecks,
}

/// The models that the journeys configure.
const MODELS: [&str; 3] = ["opal-1", "blind-1", "flint-1"];

impl Model {
    /// Starts a model that gives these answers, one to each request.
    pub(crate) fn start(answers: Vec<Vec<Part>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let checks = MODELS
            .into_iter()
            .fold(RequestChecks::new(), RequestChecks::knowing);
        let fails_on_refusal = checks.fail_when_dropped();
        let shared = Arc::new(Shared {
            answers: Mutex::new(answers.into_iter()),
            gate: Gate::default(),
            asked: Mutex::default(),
            checks,
        });
        let serving = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serve(stream, &serving));
            }
        });
        Self {
            url,
            shared,
            _fails_on_refusal: fails_on_refusal,
        }
    }

    /// The request that came as this one, from 0.
    pub(crate) fn asked(&self, index: usize) -> String {
        self.shared.asked.lock().unwrap()[index].clone()
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.shared.asked.lock().unwrap().len()
    }

    /// Ends one hold.
    pub(crate) fn go_on(&self) {
        *self.shared.gate.open.lock().unwrap() += 1;
        self.shared.gate.changed.notify_all();
    }
}

impl Gate {
    fn pass(&self) {
        let mut open = self.open.lock().unwrap();
        while *open == 0 {
            open = self.changed.wait(open).unwrap();
        }
        *open -= 1;
    }
}

/// Answers the requests of a connection, until the client goes away.
fn serve(stream: TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut out = stream;
    while let Some((beta, request)) = read_request(&mut reader) {
        let checked = shared.checks.check("/v1/messages", &beta, request.as_bytes());
        shared.asked.lock().unwrap().push(request);
        let written = match checked {
            Err(refusal) => write_refusal(&mut out, "400 Bad Request", &refusal.body),
            Ok(checked) => {
                let answer = shared.answers.lock().unwrap().next();
                let answer =
                    answer.unwrap_or_else(|| vec![Part::Say("There is no more in the script.".into())]);
                write_answer(&mut out, &answer, &shared.gate, &checked)
            }
        };
        if written.is_err() {
            return;
        }
    }
}

/// The header `anthropic-beta` and the body.
fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, String)> {
    let (mut length, mut beta) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        match line.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().ok()?,
            Some(("anthropic-beta", value)) => value.trim().clone_into(&mut beta),
            Some(_) => {}
            None if line.is_empty() => {
                let mut body = vec![0; length];
                reader.read_exact(&mut body).ok()?;
                return Some((beta, String::from_utf8(body).ok()?));
            }
            None => {}
        }
    }
}

fn write_refusal(out: &mut TcpStream, status: &str, body: &Value) -> std::io::Result<()> {
    let body = body.to_string();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n");
    write!(out, "{head}content-length: {}\r\n\r\n{body}", body.len())
}

fn write_answer(
    out: &mut TcpStream,
    parts: &[Part],
    gate: &Gate,
    checked: &CheckedRequest,
) -> std::io::Result<()> {
    if let [Part::Refuse(status, body)] = parts {
        return write_refusal(out, status, body);
    }
    // A model that holds at once has not begun to answer.
    let parts = match parts {
        [Part::Hold, rest @ ..] => {
            gate.pass();
            rest
        }
        parts => parts,
    };
    out.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let usage = json!({ "input_tokens": 2400, "output_tokens": 1 });
    event(
        out,
        &json!({ "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant",
            "model": "opal-1", "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage } }),
    )?;
    let mut open = Block::default();
    for part in parts {
        open.write(out, part, gate, checked)?;
    }
    open.close(out)?;
    let calls = parts.iter().any(|part| matches!(part, Part::Call(..)));
    let reason = if calls { "tool_use" } else { "end_turn" };
    event(
        out,
        &json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
            "usage": { "output_tokens": 120 } }),
    )?;
    event(out, &json!({ "type": "message_stop" }))?;
    out.write_all(b"0\r\n\r\n")
}

/// The block of an answer that is being said.
#[derive(Default)]
struct Block {
    index: usize,
    kind: Option<&'static str>,
}

impl Block {
    fn write(
        &mut self,
        out: &mut TcpStream,
        part: &Part,
        gate: &Gate,
        checked: &CheckedRequest,
    ) -> std::io::Result<()> {
        match part {
            Part::Hold => gate.pass(),
            Part::Refuse(..) => {}
            Part::Say(text) => {
                self.begin(out, "text", json!({ "type": "text", "text": "" }))?;
                for piece in pieces(text) {
                    self.delta(out, &json!({ "type": "text_delta", "text": piece }))?;
                }
            }
            Part::Think(text) => {
                self.begin(out, "thinking", json!({ "type": "thinking", "thinking": "" }))?;
                for piece in pieces(text) {
                    self.delta(out, &json!({ "type": "thinking_delta", "thinking": piece }))?;
                }
                if let CheckedRequest::Anthropic(accepted) = checked {
                    let signature = accepted.sign(text);
                    self.delta(out, &json!({ "type": "signature_delta", "signature": signature }))?;
                }
            }
            Part::Call(name, input) => {
                self.close(out)?;
                let id = format!("toolu_{}", self.index);
                let block = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                self.begin(out, "tool_use", block)?;
                let delta = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
                self.delta(out, &delta)?;
                self.close(out)?;
            }
        }
        Ok(())
    }

    /// Begins a block of this kind, unless one is open.
    fn begin(&mut self, out: &mut TcpStream, kind: &'static str, block: Value) -> std::io::Result<()> {
        if self.kind == Some(kind) {
            return Ok(());
        }
        self.close(out)?;
        self.kind = Some(kind);
        event(
            out,
            &json!({ "type": "content_block_start", "index": self.index, "content_block": block }),
        )
    }

    fn delta(&self, out: &mut TcpStream, delta: &Value) -> std::io::Result<()> {
        event(
            out,
            &json!({ "type": "content_block_delta", "index": self.index, "delta": delta }),
        )
    }

    fn close(&mut self, out: &mut TcpStream) -> std::io::Result<()> {
        if self.kind.take().is_none() {
            return Ok(());
        }
        let index = self.index;
        self.index += 1;
        event(out, &json!({ "type": "content_block_stop", "index": index }))
    }
}

fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(PIECE)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Sends one chunk of the body for each event, as servers do that flush each.
fn event(out: &mut TcpStream, data: &Value) -> std::io::Result<()> {
    let name = data["type"].as_str().unwrap_or_default();
    let text = format!("event: {name}\ndata: {data}\n\n");
    out.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}
