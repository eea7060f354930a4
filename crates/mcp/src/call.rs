//! A call of a tool on a connection: the request, the server's messages during the call, and the end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{Effector, Pauses, ToolContext};
use agentx_types::OutputChannel;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequiredResult, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::connection::McpConnection;
use crate::error_chain::cause;
use crate::hidden::HiddenValues;
use crate::limits::{OUTPUT_BYTES, ROUNDS};
use crate::server_requests::ServerRequests;

/// The outcome of a call.
pub(crate) enum RemoteCallEnd {
    /// The server answered.
    Answered(Box<CallToolResult>),
    /// The server refused it, or requires something that AgentX does not support.
    Refused(String),
    /// The request never reached the server.
    NotSent(ServiceError),
    /// The connection ended before the answer.
    Lost(ServiceError),
    /// The server sent too many messages meanwhile.
    Flooded,
    /// There was no answer in time.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

impl RemoteCallEnd {
    /// Returns whether the connection is no longer usable: a server that did not answer hangs, and one that
    /// floods does not stop.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Flooded | Self::TimedOut)
    }
}

/// A call that is about to be made.
pub(crate) struct RemoteCall<'a> {
    pub(crate) connection: &'a Arc<McpConnection>,
    pub(crate) server: &'a str,
    /// Performs model calls, if the server may ask for them.
    pub(crate) models: Option<Arc<dyn Effector>>,
    pub(crate) hidden: &'a HiddenValues,
    pub(crate) limit: Duration,
}

/// The end of one request: that of the call, or the server's questions before it answers.
enum RoundEnd {
    Call(RemoteCallEnd),
    Needs(InputRequiredResult),
}

impl From<RemoteCallEnd> for RoundEnd {
    fn from(end: RemoteCallEnd) -> Self {
        Self::Call(end)
    }
}

impl RemoteCall<'_> {
    /// Makes the call. Messages of the server become output of the call, and its requests are answered or
    /// refused.
    pub(crate) async fn run(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> RemoteCallEnd {
        self.connection.call_begins();
        let requests = Arc::new(ServerRequests::new(
            self.server,
            self.hidden,
            self.models.clone(),
            context,
        ));
        let _ends = requests.end_with_call();
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let deadline = time_is_up(self.limit, context.journal.pauses());
        tokio::pin!(deadline);
        let mut end = RemoteCallEnd::Refused("it asked for more again and again".to_owned());
        for _ in 0..ROUNDS {
            let needs = match self
                .round(params.clone(), &requests, deadline.as_mut(), context)
                .await
            {
                RoundEnd::Call(of_call) => {
                    end = of_call;
                    break;
                }
                RoundEnd::Needs(needs) => needs,
            };
            let answers = tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(RemoteCallEnd::Cancelled),
                () = deadline.as_mut() => Err(RemoteCallEnd::TimedOut),
                answers = requests.answers(needs.input_requests.unwrap_or_default()) => {
                    answers.map_err(RemoteCallEnd::Refused)
                }
            };
            match answers {
                Ok(answers) => params.input_responses = (!answers.is_empty()).then_some(answers),
                Err(of_call) => {
                    end = of_call;
                    break;
                }
            }
            params.request_state = needs.request_state;
        }
        requests.settle_bills().await;
        end
    }

    /// Sends a request, and waits for its end.
    async fn round(
        &self,
        params: CallToolRequestParams,
        requests: &Arc<ServerRequests>,
        mut deadline: Pin<&mut impl Future<Output = ()>>,
        context: &ToolContext,
    ) -> RoundEnd {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self
            .connection
            .peer()
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        // The queue to a server that does not read may be full.
        let sent = tokio::select! {
            sent = sent => sent,
            () = context.cancel.cancelled() => return RemoteCallEnd::Cancelled.into(),
            () = deadline.as_mut() => return RemoteCallEnd::TimedOut.into(),
        };
        let mut handle = match sent {
            Ok(handle) => handle,
            Err(error) => return RemoteCallEnd::NotSent(error).into(),
        };
        let token = handle.progress_token.0.to_string();
        let mut heard = self.connection.calls.hear(token, requests.clone());
        let mut room = OUTPUT_BYTES;
        let end = loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    // Messages before the answer come before it.
                    while let Ok(line) = heard.lines.try_recv() {
                        self.say(&line, &mut room, context).await;
                    }
                    return end_of(answer.unwrap_or(Err(ServiceError::TransportClosed)));
                }
                () = context.cancel.cancelled() => break RemoteCallEnd::Cancelled,
                () = self.connection.calls.flooded() => break RemoteCallEnd::Flooded,
                () = deadline.as_mut() => break RemoteCallEnd::TimedOut,
                Some(line) = heard.lines.recv() => self.say(&line, &mut room, context).await,
            }
        };
        cancel(handle).await;
        end.into()
    }

    /// Shows a line, as long as there is room.
    async fn say(&self, line: &str, room: &mut usize, context: &ToolContext) {
        let line = format!("{}\n", self.hidden.removed_from_cut(line));
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

/// Notifies the server that the call is cancelled, without waiting for a server that does not read.
async fn cancel(handle: RequestHandle<RoleClient>) {
    const PATIENCE: Duration = Duration::from_millis(200);
    let told = handle.cancel(Some("the client stopped waiting".to_owned()));
    if let Ok(Err(error)) = tokio::time::timeout(PATIENCE, told).await {
        tracing::debug!(%error, "a server was not told that its call is cancelled");
    }
}

/// Ends when the call has taken this long. The time in which it waits for a person does not count.
async fn time_is_up(limit: Duration, pauses: &Pauses) {
    let (began, before) = (Instant::now(), pauses.waited());
    loop {
        pauses.finished().await;
        let allowed = limit + pauses.waited().saturating_sub(before);
        match allowed.checked_sub(began.elapsed()) {
            Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
            _ => return,
        }
    }
}

fn end_of(answer: Result<ServerResult, ServiceError>) -> RoundEnd {
    let unexpected = || RemoteCallEnd::Refused("its answer is not a result of a tool call".to_owned());
    let end = match answer {
        Ok(ServerResult::CallToolResult(answer)) => RemoteCallEnd::Answered(Box::new(answer)),
        // An answer that has no content at all.
        Ok(ServerResult::EmptyResult(_)) => RemoteCallEnd::Answered(Box::default()),
        Ok(ServerResult::InputRequiredResult(needs)) => return RoundEnd::Needs(needs),
        Ok(ServerResult::CreateTaskResult(_)) => {
            RemoteCallEnd::Refused("it answers later (tasks), which AgentX does not wait for".to_owned())
        }
        Ok(_) => unexpected(),
        Err(ServiceError::McpError(error)) => RemoteCallEnd::Refused(error.to_string()),
        Err(ServiceError::UnexpectedResponse) => unexpected(),
        Err(error) if was_not_sent(&error) => RemoteCallEnd::NotSent(error),
        Err(error) => RemoteCallEnd::Lost(error),
    };
    end.into()
}

/// Returns whether the request surely never reached the server.
fn was_not_sent(error: &ServiceError) -> bool {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return true;
    }
    let mut next = std::error::Error::source(error);
    while let Some(inner) = next {
        if inner
            .downcast_ref::<reqwest::Error>()
            .is_some_and(reqwest::Error::is_connect)
        {
            return true;
        }
        next = cause(inner);
    }
    false
}

#[cfg(test)]
mod tests {
    use rmcp::transport::DynamicTransportError;
    use rmcp::transport::streamable_http_client::StreamableHttpError;
    use tokio::net::TcpListener;

    use super::*;
    use crate::error_chain::{chain, without_types};

    #[tokio::test]
    async fn a_call_to_a_server_that_is_gone_was_not_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        drop(listener);
        let client = agentx_http::client_builder(agentx_http::Certificates::None);
        let refused = client.build().unwrap().get(&address).send().await.unwrap_err();
        let kind = std::any::TypeId::of::<()>();
        let error = StreamableHttpError::Client(refused);
        let error = DynamicTransportError::from_parts("a::Transport<X>", kind, Box::new(error));
        let error = ServiceError::TransportSend(error);
        assert!(was_not_sent(&error));
        assert_eq!(
            without_types(&chain(&error)),
            "nothing listens at its address (connection refused)"
        );
        assert!(!was_not_sent(&ServiceError::TransportClosed));
    }
}
