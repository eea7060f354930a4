//! A call of a tool on a connection: the request, the server's messages during the call, and the end.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{Effector, Pauses, ToolContext};
use agentx_types::OutputChannel;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, InputRequiredResult,
    InputResponses, RequestMetaObject, ServerResult, Task,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::connection::McpConnection;
use crate::error_chain::cause;
use crate::hidden::HiddenValues;
use crate::limits::{OUTPUT_BYTES, ROUNDS};
use crate::server_requests::ServerRequests;
use crate::suspension::Suspensions;

/// The key of a request that wants log messages of its call, and the least level of them.
const LOG_LEVEL: (&str, &str) = ("io.modelcontextprotocol/logLevel", "info");

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
    /// The call waited for an answer in an earlier program, and cannot be continued for this reason.
    NotContinued(String),
}

impl RemoteCallEnd {
    /// The end of a call that only asks.
    pub(crate) fn asks_too_often() -> Self {
        Self::Refused("it asked for more again and again".to_owned())
    }

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

/// The end of one request: that of the call, the server's questions before it answers, or a task that brings
/// the answer.
enum RoundEnd {
    Call(RemoteCallEnd),
    Needs(InputRequiredResult),
    Task(Task),
}

/// The content of the request after the server's questions.
struct NextRequest {
    answers: Option<InputResponses>,
    /// The state that the server sent with its questions.
    state: Option<String>,
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
        let mut suspensions = Suspensions::of(&context.journal, self.hidden);
        let mut needs = match suspensions.resumed() {
            Ok(resumed) => resumed.map(|resumed| {
                requests.goes_on_after(resumed.asked);
                resumed.needs
            }),
            Err(why) => return RemoteCallEnd::NotContinued(why),
        };
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let deadline = time_is_up(self.limit, context.journal.pauses());
        tokio::pin!(deadline);
        let mut end = RemoteCallEnd::asks_too_often();
        for _ in suspensions.rounds()..ROUNDS {
            let round = async {
                let asked = match needs.take() {
                    Some(asked) => asked,
                    None => {
                        self.asked(&params, &requests, deadline.as_mut(), context, &mut suspensions)
                            .await?
                    }
                };
                self.answered(asked, &requests, deadline.as_mut(), context, &mut suspensions)
                    .await
            };
            match round.await {
                Ok(next) => {
                    params.input_responses = next.answers;
                    params.request_state = next.state;
                }
                Err(of_call) => {
                    end = of_call;
                    break;
                }
            }
        }
        requests.settle_bills().await;
        end
    }

    /// Sends a request. Returns what the server asks before it answers, which is in the log if another
    /// process may continue with it.
    ///
    /// # Errors
    /// Returns the end of the call, if it has ended.
    async fn asked(
        &self,
        params: &CallToolRequestParams,
        requests: &Arc<ServerRequests>,
        mut deadline: Pin<&mut impl Future<Output = ()>>,
        context: &ToolContext,
        suspensions: &mut Suspensions<'_>,
    ) -> Result<InputRequiredResult, RemoteCallEnd> {
        match self
            .round(params.clone(), requests, deadline.as_mut(), context)
            .await
        {
            RoundEnd::Call(of_call) => Err(of_call),
            RoundEnd::Task(task) => Err(self.follow_task(&task, requests, deadline, context).await),
            RoundEnd::Needs(asked) => {
                let is_there = suspensions.begin(&asked, requests.asked()).await;
                is_there.then_some(asked).ok_or(RemoteCallEnd::Cancelled)
            }
        }
    }

    /// Answers what the server asks. Returns what the next request carries: the answers, and the server's
    /// state.
    ///
    /// # Errors
    /// Returns the end of the call, if there are no answers.
    async fn answered(
        &self,
        asked: InputRequiredResult,
        requests: &Arc<ServerRequests>,
        mut deadline: Pin<&mut impl Future<Output = ()>>,
        context: &ToolContext,
        suspensions: &mut Suspensions<'_>,
    ) -> Result<NextRequest, RemoteCallEnd> {
        let answers = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(RemoteCallEnd::Cancelled),
            () = deadline.as_mut() => return Err(RemoteCallEnd::TimedOut),
            answers = requests.answers(asked.input_requests.unwrap_or_default()) => {
                answers.map_err(RemoteCallEnd::Refused)?
            }
        };
        if !suspensions.end().await {
            return Err(RemoteCallEnd::Cancelled);
        }
        Ok(NextRequest {
            answers: (!answers.is_empty()).then_some(answers),
            state: asked.request_state,
        })
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
        let mut options = PeerRequestOptions::no_options();
        if self.connection.is_stateless {
            // Older versions send log messages without being asked.
            let mut meta = RequestMetaObject::new();
            meta.insert(LOG_LEVEL.0.to_owned(), LOG_LEVEL.1.into());
            options = options.with_meta(meta);
        }
        let sent = self.connection.peer().send_cancellable_request(request, options);
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
        Ok(ServerResult::CreateTaskResult(created)) => return RoundEnd::Task(created.task),
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
