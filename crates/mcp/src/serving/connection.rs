//! A client's connection: its requests, each in its own task, and its messages, one per line.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::message::{BUSY, ClientMessage, INVALID_PARAMS, PARSE_ERROR};
use super::refusal::McpRefusal;
use super::request_context::McpRequestContext;
use super::requests::answer;
use super::subscriptions::{McpSubscriptions, is_listening, listen};
use super::suspended_calls::SuspendedCalls;
use super::{ServedParts, answers, questions};
use crate::limits::MESSAGE_BYTES;

/// The requests of a client that may run at once; a further one is refused.
const RUNNING: usize = 64;
/// Messages about running calls that wait to be written; further ones are dropped.
const WAITING: usize = 256;
/// The only person at the other end of a pipe.
const OF_PIPE: &str = "";
/// The maximum number of a client's lines that wait to be handled; then the client has to wait.
const LINES: usize = 16;

/// Serves one client until its input ends, or `stop` is cancelled. Nothing but messages of the protocol is
/// written. Calls that still run then are cancelled, and waited for.
///
/// # Errors
/// Returns an error if the client's input cannot be read, or nothing can be written to it.
pub async fn serve(
    parts: Arc<dyn ServedParts>,
    input: impl AsyncBufRead + Send + Unpin + 'static,
    mut output: impl AsyncWrite + Send + Unpin,
    stop: CancellationToken,
) -> io::Result<()> {
    let (lines, mut heard) = mpsc::channel(LINES);
    let reader = tokio::spawn(read_lines(input, lines));
    let (said, mut asides) = mpsc::channel(WAITING);
    let watch = McpSubscriptions::default();
    let watching = watch.clone().run(parts.clone(), said.clone());
    let _watching = AbortOnDropHandle::new(tokio::spawn(watching));
    let mut client = Client {
        parts,
        said,
        watch,
        running: JoinSet::new(),
        cancels: BTreeMap::new(),
        suspended: Arc::default(),
        can_be_asked: false,
    };
    let ended = loop {
        let message = tokio::select! {
            biased;
            () = stop.cancelled() => break Ok(()),
            Some(aside) = asides.recv() => Some(aside),
            Some(done) = client.running.join_next() => done.ok().map(|(key, answer)| client.done(&key, answer)),
            line = heard.recv() => match line {
                None => break Ok(()),
                Some(line) => client.take(line?),
            },
        };
        if let Some(message) = message
            && let Err(error) = write(&mut output, &message).await
        {
            break Err(error);
        }
    };
    reader.abort();
    client.end().await;
    ended
}

/// Reads lines until the end. One that is too long is ignored, and reported as `None`.
async fn read_lines(mut input: impl AsyncBufRead + Unpin, lines: mpsc::Sender<io::Result<Option<Vec<u8>>>>) {
    let most = u64::try_from(MESSAGE_BYTES).unwrap_or(u64::MAX);
    let mut is_rest = false;
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(most).read_until(b'\n', &mut line).await;
        let is_whole = line.last() == Some(&b'\n');
        let told = match read {
            Ok(0) => return,
            Ok(_) if is_rest => {
                is_rest = !is_whole;
                continue;
            }
            Ok(_) if !is_whole && line.len() >= MESSAGE_BYTES => {
                is_rest = true;
                Ok(None)
            }
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(_) => Ok(Some(line)),
            Err(error) => Err(error),
        };
        if lines.send(told).await.is_err() {
            return;
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(output: &mut W, message: &Value) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line).await?;
    output.flush().await
}

/// A request of a client whose connection lasts.
struct McpClientRequest {
    id: Value,
    method: String,
    params: Map<String, Value>,
}

impl McpClientRequest {
    /// The result: subscriptions belong to the connection, and the rest is as everywhere.
    async fn answered(
        &mut self,
        parts: &Arc<dyn ServedParts>,
        watch: &McpSubscriptions,
        context: McpRequestContext,
    ) -> Result<Value, McpRefusal> {
        let (method, params) = (&*self.method, std::mem::take(&mut self.params));
        if is_listening(method, &params) {
            return listen(&**parts, &self.id, &params, context.cancel, context.said).await;
        }
        if McpSubscriptions::takes(method, &params) {
            return watch.answer(&**parts, method, &params).await;
        }
        let result = answer(parts, method, params, context).await?;
        Ok(match method {
            "initialize" => answers::with_subscriptions(result),
            _ => result,
        })
    }
}

struct Client {
    parts: Arc<dyn ServedParts>,
    said: mpsc::Sender<Value>,
    watch: McpSubscriptions,
    running: JoinSet<(String, Value)>,
    /// The cancellation of each request that runs, by its id as JSON.
    cancels: BTreeMap<String, CancellationToken>,
    suspended: Arc<SuspendedCalls>,
    /// Whether the client said in its handshake that it shows forms to a person.
    can_be_asked: bool,
}

impl Client {
    /// Takes a line; returns an immediate answer, if there is one.
    fn take(&mut self, line: Option<Vec<u8>>) -> Option<Value> {
        let Some(line) = line else {
            let why = format!("a message may have {MESSAGE_BYTES} bytes");
            return Some(answers::error(&Value::Null, PARSE_ERROR, &why));
        };
        match ClientMessage::read(&line) {
            ClientMessage::Request { id, method, params } => self.request(id, method, params),
            ClientMessage::Notification { method, params } => {
                if method == "notifications/cancelled"
                    && let Some(id) = params.get("requestId")
                    && let Some(cancel) = self.cancels.get(&id.to_string())
                {
                    cancel.cancel();
                }
                None
            }
            ClientMessage::Answer(response) => {
                self.suspended.respond(OF_PIPE, response);
                None
            }
            ClientMessage::Wrong { id, code, why } => Some(answers::error(&id, code, &why)),
        }
    }

    fn request(&mut self, id: Value, method: String, params: Map<String, Value>) -> Option<Value> {
        let key = id.to_string();
        if self.running.len() >= RUNNING {
            return Some(answers::error(
                &id,
                BUSY,
                &format!("{RUNNING} requests run already"),
            ));
        }
        if self.cancels.contains_key(&key) {
            let why = "a request with this id runs already";
            return Some(answers::error(&id, INVALID_PARAMS, why));
        }
        if method == "initialize" {
            self.can_be_asked = questions::can_be_asked(params.get("capabilities"));
        }
        let cancel = CancellationToken::new();
        self.cancels.insert(key.clone(), cancel.clone());
        let (parts, watch) = (self.parts.clone(), self.watch.clone());
        let context = McpRequestContext {
            cancel,
            said: self.said.clone(),
            suspended: self.suspended.clone(),
            person: OF_PIPE.to_owned(),
            can_be_asked: self.can_be_asked,
        };
        self.running.spawn(async move {
            let mut asked = McpClientRequest { id, method, params };
            let answered = asked.answered(&parts, &watch, context).await;
            let id = asked.id;
            let answer = match answered {
                Ok(result) => answers::result(&id, &result),
                Err(refusal) => answers::refused(&id, &refusal),
            };
            (key, answer)
        });
        None
    }

    /// A request is answered.
    fn done(&mut self, key: &str, answer: Value) -> Value {
        self.cancels.remove(key);
        answer
    }

    /// Cancels the running requests, and waits for them.
    async fn end(mut self) {
        self.cancels.values().for_each(CancellationToken::cancel);
        while self.running.join_next().await.is_some() {}
    }
}
