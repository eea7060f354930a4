//! The request that waits for a call: it passes on what the call says, and answers with its result or its
//! questions.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::live_call::{CallOfClient, CallTurn, LiveCall};
use super::log::McpLogLevel;
use super::message::{INTERNAL_ERROR, INVALID_PARAMS};
use super::questions::{self, ClientAnswer, OpenQuestion};
use super::refusal::McpRefusal;
use super::request_context::McpRequestContext;
use super::suspended_calls::{SuspendedCall, fingerprint};
use super::{CallMessage, ServedParts, answers, content};

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

/// Runs a call, or resumes a suspended one, until it ends or asks something.
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
        // Missing answers are requested again.
        None => match request.suspended(suspended) {
            Ok(result) => Ok(result),
            Err(live) => request.answered(live).await,
        },
    }
}

impl CallRequest<'_> {
    /// The answer to the request: the result of the call, or its questions.
    async fn answered(&self, mut live: LiveCall) -> Result<Value, McpRefusal> {
        loop {
            let turn = live.turn(&self.context.cancel, |message| self.pass(message));
            let asked = match turn.await {
                CallTurn::Ended(Some(outcome)) => {
                    live.disarm();
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

    /// Suspends a call; returns the result that asks. If the person has too many suspended calls, nobody is
    /// asked and the call continues.
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

    /// Asks a client of a version with a handshake. Drops the question if too many are open, or if the client
    /// cancels the call before there is room for the message.
    async fn send(&self, asked: OpenQuestion) {
        let OpenQuestion { question, answer, .. } = asked;
        if let Some(id) = self.context.suspended.register(&self.context.person, answer) {
            let sent = self.context.said.send(questions::request(&id, &question));
            // A client that has gone cancels its call.
            let _ = self.context.cancel.run_until_cancelled(sent).await;
        }
    }

    /// Forwards the messages of the call to this client, with the token of this request, from its log level
    /// on.
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
