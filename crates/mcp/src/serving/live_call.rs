//! A tool call that runs in a separate task, so that it may outlive the request that began it: version
//! 2026-07-28 answers a request with the questions of its call, and another request brings the answers.

use std::sync::Arc;

use agentx_runtime::ToolOutcome;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::log::McpLogLevel;
use super::questions::{CallQuestions, OpenQuestion};
use super::{CallMessage, CallProgress, ServedCall, ServedParts};

/// The number of messages of a call that wait for the request that forwards them; further ones are dropped.
const WAITING: usize = 256;

/// A call of a tool, as a client asked for it.
pub(super) struct CallOfClient {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    /// The token with which the client wants to hear of progress.
    pub(super) token: Option<Value>,
    /// The lowest level of the tool's log lines that the client gets.
    pub(super) log_level: Option<McpLogLevel>,
    /// Whether the tool's results have a schema.
    pub(super) has_schema: bool,
    /// Whether the request speaks the version without a handshake.
    pub(super) stateless: bool,
    /// Whether the client can be asked.
    pub(super) can_be_asked: bool,
    /// The state of a call that was suspended.
    pub(super) state: Option<Value>,
    /// The answers to its questions.
    pub(super) responses: Option<Value>,
}

/// A call that runs. It is cancelled when this is dropped.
pub(super) struct LiveCall {
    outcome: JoinHandle<ToolOutcome>,
    asks: mpsc::Receiver<OpenQuestion>,
    said: mpsc::Receiver<CallMessage>,
    cancel: CancellationToken,
    ends: DropGuard,
}

/// The outcome of a call, or its next question.
pub(super) enum CallTurn {
    Ended(Option<ToolOutcome>),
    Asks(OpenQuestion),
}

impl LiveCall {
    /// Begins a call.
    pub(super) fn begin(parts: Arc<dyn ServedParts>, wanted: CallOfClient) -> Self {
        let cancel = CancellationToken::new();
        let (progress, said) = mpsc::channel(WAITING);
        let (asking, asks) = mpsc::channel(1);
        let call = ServedCall {
            tool: wanted.tool,
            arguments: wanted.arguments,
            cancel: cancel.clone(),
            progress: CallProgress::new(progress),
            questions: CallQuestions::new(wanted.can_be_asked.then_some(asking), cancel.clone()),
        };
        Self {
            outcome: tokio::spawn(async move { parts.call(call).await }),
            asks,
            said,
            ends: cancel.clone().drop_guard(),
            cancel,
        }
    }

    /// Waits until the call ends or asks a question, and passes its messages before that to `pass`. `gone`
    /// cancels it.
    pub(super) async fn turn(&mut self, gone: &CancellationToken, pass: impl Fn(CallMessage)) -> CallTurn {
        loop {
            tokio::select! {
                biased;
                Some(message) = self.said.recv() => pass(message),
                Some(asked) = self.asks.recv() => {
                    self.pass_waiting(pass);
                    return CallTurn::Asks(asked);
                }
                ended = &mut self.outcome => {
                    self.pass_waiting(pass);
                    return CallTurn::Ended(ended.ok());
                }
                () = gone.cancelled(), if !self.cancel.is_cancelled() => {
                    self.cancel.cancel();
                }
            }
        }
    }

    /// Forwards the messages from before the call asked or ended.
    fn pass_waiting(&mut self, pass: impl Fn(CallMessage)) {
        while let Ok(message) = self.said.try_recv() {
            pass(message);
        }
    }

    /// Drops a call that has ended, without cancelling it.
    pub(super) fn disarm(self) {
        self.ends.disarm();
    }
}
