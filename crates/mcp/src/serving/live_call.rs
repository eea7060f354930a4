//! A tool call that runs in a task of its own, so that it may outlive the request that began it: version 2026-07-28
//! answers a request with the questions of its call, and another request brings the answers.

use std::sync::Arc;

use agentx_runtime::ToolOutcome;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::log::McpLogLevel;
use super::message::{INTERNAL_ERROR, INVALID_PARAMS};
use super::questions::{self, CallQuestions, ClientAnswer, OpenQuestion};
use super::requests::{McpRefusal, McpRequestContext};
use super::suspended_calls::{SuspendedCall, fingerprint};
use super::{CallMessage, CallProgress, ServedCall, ServedParts, answers, content};

/// What a call says that waits for the request that passes it on; the rest is dropped.
const WAITING: usize = 256;

/// A call of a tool, as a client asked for it.
pub(super) struct CallOfClient {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    /// The token with which the client wants to hear of progress.
    pub(super) token: Option<Value>,
    /// The least severe level of what the client hears that the tool logs.
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

/// What comes next of a call.
enum CallTurn {
    Ended(Option<ToolOutcome>),
    Asks(OpenQuestion),
}

/// The request that waits for a call.
struct CallRequest<'a> {
    context: &'a McpRequestContext,
    token: Option<Value>,
    log_level: Option<McpLogLevel>,
    /// The tool, which is the logger of what it logs.
    tool: String,
    has_schema: bool,
    stateless: bool,
    call: [u8; 32],
}

/// Runs a call, or goes on with one that was suspended, until it ends or asks something.
pub(super) async fn run(
    parts: Arc<dyn ServedParts>,
    wanted: CallOfClient,
    context: &McpRequestContext,
) -> Result<Value, McpRefusal> {
    let request = CallRequest {
        context,
        token: wanted.token.clone(),
        log_level: wanted.log_level,
        tool: wanted.tool.clone(),
        has_schema: wanted.has_schema,
        stateless: wanted.stateless,
        call: fingerprint(&wanted.tool, &wanted.arguments),
    };
    if wanted.state.is_none() {
        return request.answered(LiveCall::begin(parts, wanted)).await;
    }
    let state = wanted.state.as_ref().and_then(Value::as_str);
    let kept = state.and_then(|state| context.suspended.take(state, &context.person, &request.call));
    let Some(suspended) = kept else {
        let why = "`requestState` is not the state of this call, was used before, or is older than ten minutes; \
                   call the tool again without it";
        return Err(McpRefusal::new(INVALID_PARAMS, why));
    };
    let responses = wanted.responses.as_ref();
    let response = responses.and_then(|responses| responses.get(&suspended.asked.question.key));
    match response.and_then(ClientAnswer::read) {
        Some(answer) => {
            // The call may have been cancelled meanwhile.
            let _ = suspended.asked.answer.send(answer);
            request.answered(suspended.live).await
        }
        // What is missing is asked again.
        None => match request.suspended(suspended) {
            Ok(result) => Ok(result),
            Err(live) => request.answered(live).await,
        },
    }
}

impl LiveCall {
    fn begin(parts: Arc<dyn ServedParts>, wanted: CallOfClient) -> Self {
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

    /// Waits until the call ends or asks something.
    async fn turn(&mut self, request: &CallRequest<'_>) -> CallTurn {
        loop {
            tokio::select! {
                biased;
                Some(message) = self.said.recv() => request.pass(message),
                Some(asked) = self.asks.recv() => {
                    self.pass_waiting(request);
                    return CallTurn::Asks(asked);
                }
                ended = &mut self.outcome => {
                    self.pass_waiting(request);
                    return CallTurn::Ended(ended.ok());
                }
                () = request.context.cancel.cancelled(), if !self.cancel.is_cancelled() => {
                    self.cancel.cancel();
                }
            }
        }
    }

    /// Passes on what the call said before it asked or ended.
    fn pass_waiting(&mut self, request: &CallRequest<'_>) {
        while let Ok(message) = self.said.try_recv() {
            request.pass(message);
        }
    }
}

impl CallRequest<'_> {
    /// The answer to the request: the result of the call, or its questions.
    async fn answered(&self, mut live: LiveCall) -> Result<Value, McpRefusal> {
        loop {
            let asked = match live.turn(self).await {
                CallTurn::Ended(Some(outcome)) => {
                    live.ends.disarm();
                    return Ok(content::called(&outcome, self.has_schema));
                }
                CallTurn::Ended(None) => {
                    return Err(McpRefusal::new(INTERNAL_ERROR, "the call broke"));
                }
                CallTurn::Asks(asked) => asked,
            };
            if !self.stateless {
                self.send(asked).await;
                continue;
            }
            let suspended = SuspendedCall {
                person: self.context.person.clone(),
                call: self.call,
                asked,
                live,
            };
            match self.suspended(suspended) {
                Ok(result) => return Ok(result),
                Err(again) => live = again,
            }
        }
    }

    /// Suspends a call; returns the result that asks. If the person has too many suspended calls, nobody is asked, and
    /// the call goes on.
    fn suspended(&self, call: SuspendedCall) -> Result<Value, LiveCall> {
        let asked = &call.asked.question;
        let requests = Map::from_iter([(asked.key.clone(), questions::input_request(asked))]);
        match self.context.suspended.keep(call) {
            Ok(state) => Ok(json!({
                "resultType": "input_required",
                "inputRequests": requests,
                "requestState": state,
            })),
            Err(call) => Err(call.live),
        }
    }

    /// Asks a client of a version with a handshake. Without room among the open questions, it is dropped; so it is if the
    /// client cancels the call before there is room for the message.
    async fn send(&self, asked: OpenQuestion) {
        let OpenQuestion { question, answer } = asked;
        if let Some(id) = self.context.suspended.register(&self.context.person, answer) {
            let sent = self.context.said.send(questions::request(&id, &question));
            // A client that has gone cancels its call.
            let _ = self.context.cancel.run_until_cancelled(sent).await;
        }
    }

    /// Passes on to this client what the call says, under the token of this request, and from its log level on.
    fn pass(&self, message: CallMessage) {
        let message = match message {
            CallMessage::Progress { said, line } => {
                let token = self.token.as_ref();
                token.map(|token| answers::progress(token, said, &line))
            }
            CallMessage::Log(logged) => {
                let least = self.log_level;
                least.and_then(|least| logged.message(&self.tool, least))
            }
        };
        if let Some(message) = message {
            // A client that does not read loses lines, not calls.
            let _ = self.context.said.try_send(message);
        }
    }
}
