//! A call of a tool on a connection: the request, the server's messages during the call, and the end.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::ToolContext;
use agentx_types::OutputChannel;
use rmcp::model::{CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};

use crate::connection::McpConnection;
use crate::hidden::HiddenValues;
use crate::limits::OUTPUT_BYTES;

/// The outcome of a call.
pub(crate) enum RemoteCallEnd {
    /// The server answered.
    Answered(Box<CallToolResult>),
    /// The server refused it, or wants what AgentX does not give.
    Refused(String),
    /// The request never reached the server.
    NotSent(ServiceError),
    /// The connection ended before the answer.
    Lost(ServiceError),
    /// There was no answer in time.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

impl RemoteCallEnd {
    /// Returns whether the connection is of no use any more: a server that does not answer hangs.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::TimedOut)
    }
}

/// A call that is about to be made.
pub(crate) struct RemoteCall<'a> {
    pub(crate) connection: &'a Arc<McpConnection>,
    pub(crate) hidden: &'a HiddenValues,
    pub(crate) limit: Duration,
}

impl RemoteCall<'_> {
    /// Makes it. What the server says meanwhile becomes output of the call.
    pub(crate) async fn run(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> RemoteCallEnd {
        self.connection.call_begins();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self
            .connection
            .peer()
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = match sent.await {
            Ok(handle) => handle,
            Err(error) => return RemoteCallEnd::NotSent(error),
        };
        let mut heard = self.connection.calls.hear(handle.progress_token.0.to_string());
        let mut room = OUTPUT_BYTES;
        let deadline = tokio::time::sleep(self.limit);
        tokio::pin!(deadline);
        let end = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    // What it said before it answered comes before the answer.
                    while let Ok(line) = heard.lines.try_recv() {
                        self.say(&line, &mut room, context).await;
                    }
                    return end_of(answer.unwrap_or(Err(ServiceError::TransportClosed)));
                }
                () = context.cancel.cancelled() => break RemoteCallEnd::Cancelled,
                () = &mut deadline => break RemoteCallEnd::TimedOut,
                Some(line) = heard.lines.recv() => self.say(&line, &mut room, context).await,
            }
        };
        cancel(handle).await;
        end
    }

    /// Shows a line, as long as there is room.
    async fn say(&self, line: &str, room: &mut usize, context: &ToolContext) {
        let line = format!("{}\n", self.hidden.removed_from(line));
        let Some(rest) = room.checked_sub(line.len()) else {
            if std::mem::take(room) > 0 {
                let note = "[the server says more than is shown]\n";
                context.output.write(OutputChannel::Progress, note).await;
            }
            return;
        };
        *room = rest;
        context.output.write(OutputChannel::Progress, line).await;
    }
}

/// Tells the server that nobody waits any more. A server that does not take that in is not waited for.
async fn cancel(handle: RequestHandle<RoleClient>) {
    const PATIENCE: Duration = Duration::from_millis(200);
    let told = handle.cancel(Some("the client stopped waiting".to_owned()));
    if let Ok(Err(error)) = tokio::time::timeout(PATIENCE, told).await {
        tracing::debug!(%error, "a server was not told that its call is cancelled");
    }
}

fn end_of(answer: Result<ServerResult, ServiceError>) -> RemoteCallEnd {
    let unexpected = || RemoteCallEnd::Refused("its answer is none to a call of a tool".to_owned());
    match answer {
        Ok(ServerResult::CallToolResult(answer)) => RemoteCallEnd::Answered(Box::new(answer)),
        // An answer that has no content at all.
        Ok(ServerResult::EmptyResult(_)) => RemoteCallEnd::Answered(Box::default()),
        Ok(ServerResult::InputRequiredResult(_)) => RemoteCallEnd::Refused(
            "it wants an answer from a person (elicitation), or from a model, which AgentX does not give"
                .to_owned(),
        ),
        Ok(ServerResult::CreateTaskResult(_)) => {
            RemoteCallEnd::Refused("it answers later (tasks), which AgentX does not wait for".to_owned())
        }
        Ok(_) => unexpected(),
        Err(ServiceError::McpError(error)) => RemoteCallEnd::Refused(error.to_string()),
        Err(ServiceError::UnexpectedResponse) => unexpected(),
        Err(error) if was_not_sent(&error) => RemoteCallEnd::NotSent(error),
        Err(error) => RemoteCallEnd::Lost(error),
    }
}

/// Returns whether the request surely never reached the server.
fn was_not_sent(error: &ServiceError) -> bool {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return true;
    }
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if inner
            .downcast_ref::<reqwest::Error>()
            .is_some_and(reqwest::Error::is_connect)
        {
            return true;
        }
        cause = inner.source();
    }
    false
}
