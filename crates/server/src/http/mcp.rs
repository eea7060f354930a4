//! `/mcp`: the tools and sessions of the caller for programs that speak the Model Context Protocol over HTTP.
//!
//! Each request is independent; `crates/mcp/src/serving/http_message.rs` has the rules of the protocol. If
//! the client takes a stream of events, a call of a tool is answered by one, with the progress of the call
//! first. Such a call may last longer than other requests. A client that goes away cancels its call.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use agentx_mcp::{
    HttpAnswer, HttpMessage, McpHttpRequest, McpRequestContext, MirroredHeaders, SentArguments, ServedParts,
    is_askable_session,
};
use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::{ApiError, HandlerState};
use crate::auth::mcp_tokens::FoundMcpCaller;
use crate::connections::connection_limits::address_of;
use crate::http::description::describe::{HandlerInput, HandlerResponse, Operation};
use crate::http::requests::body::JsonBody;
use crate::http::requests::extract::{Member, channel, counted};
use crate::http::responses::permit_body::hold_turn;
use crate::mcp::parts::CallerParts;
use crate::mcp::running_call::RunningCall;

/// Messages of a call that wait for its client; further lines of progress are dropped.
const WAITING: usize = 256;
/// The headers that repeat the body, as the protocol spells them.
const MIRRORED: [&str; 3] = ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"];
/// The header of the protocol's sessions. There are none: it only repeats that a client can be asked.
const SESSION: &str = "mcp-session-id";
/// The pause before a client that has too many calls may try again, in milliseconds.
const PAUSE_MS: u64 = 1000;

/// A message of the protocol: a request or a notification of JSON-RPC 2.0.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct McpBody(Map<String, Value>);

/// A member, also with a token that opens `/mcp` alone.
pub(crate) struct McpCaller(FoundMcpCaller);

/// The headers of the protocol.
pub(crate) struct McpHeaders {
    mirrored: MirroredHeaders,
    arguments: SentArguments,
    takes_events: bool,
    /// Whether the client of a version with a handshake said that it can be asked.
    can_be_asked: bool,
}

/// JSON, a stream of events, or nothing.
pub(crate) struct McpResponse(Response);

pub(crate) async fn message(
    app: HandlerState,
    McpCaller(FoundMcpCaller { caller, login }): McpCaller,
    headers: McpHeaders,
    JsonBody(McpBody(body)): JsonBody<McpBody>,
) -> Result<McpResponse, ApiError> {
    let request = match HttpMessage::read(&headers.mirrored, Value::Object(body)) {
        HttpMessage::Answered(answer) => return Ok(McpResponse(json_response(answer))),
        HttpMessage::Response(response) => {
            app.state
                .suspended_calls
                .respond(caller.person.as_str(), response);
            return Ok(McpResponse(StatusCode::ACCEPTED.into_response()));
        }
        HttpMessage::Request(request) => request,
    };
    if request.is_listening() && !headers.takes_events {
        let what = "a subscription is a stream: send `Accept: application/json, text/event-stream`";
        return Err(ApiError::new("bad_request", what));
    }
    let session = request.new_session();
    let running = RunningCall::begin(&app.state, &caller, request.is_resuming()).map_err(|most| {
        let what = format!("{most} of your requests run already, or wait for an answer of their client");
        ApiError::new("too_many", what).retry_after(PAUSE_MS)
    })?;
    // A text of a session is held in memory until it is sent, and this permit as long.
    let turn = if request.is_reading() {
        Some(app.state.answer_turns().take(&caller.line).await)
    } else {
        None
    };
    let person = caller.person.to_string();
    let parts = CallerParts::of(app.state.clone(), caller, login)?;
    // A stream has no status of its own any more.
    if let Some(answer) = request.argument_mismatch(&parts, &headers.arguments).await {
        running.end().await;
        return Ok(McpResponse(json_response(answer)));
    }
    let cancel = app.state.shutdown().child_token();
    let (said, heard) = mpsc::channel(WAITING);
    let is_stream = (request.is_call() || request.is_listening()) && headers.takes_events;
    let guard = cancel.clone().drop_guard();
    let context = McpRequestContext {
        cancel,
        said,
        suspended: app.state.suspended_calls.clone(),
        person,
        can_be_asked: is_stream && headers.can_be_asked,
    };
    let begun = BegunRequest {
        request,
        parts: Arc::new(parts),
        context,
        running,
        is_stream,
    };
    let answer = tokio::spawn(begun.answered());
    if is_stream {
        let heartbeat = app.state.options().limits.heartbeat;
        return Ok(McpResponse(event_response(heard, guard, heartbeat)));
    }
    let answer = answer.await;
    drop(guard);
    let answer = answer.map_err(|error| ApiError::new("internal", format!("the request broke: {error}")))?;
    let response = with_session(json_response(answer), session);
    Ok(McpResponse(match turn {
        Some(turn) => hold_turn(response, turn),
        None => response,
    }))
}

/// A request that a task answers.
struct BegunRequest {
    request: McpHttpRequest,
    parts: Arc<dyn ServedParts>,
    context: McpRequestContext,
    running: RunningCall,
    is_stream: bool,
}

impl BegunRequest {
    /// Answers it; the answer of a stream comes last in it.
    async fn answered(self) -> HttpAnswer {
        let said = self.context.said.clone();
        let mut answer = self.request.answer(&self.parts, self.context).await;
        self.running.end().await;
        if let Some(message) = answer.message.take_if(|_| self.is_stream) {
            // Nobody hears it if the client has gone.
            let _ = said.send(message).await;
        }
        answer
    }
}

fn json_response(answer: HttpAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let Some(message) = answer.message else {
        return status.into_response();
    };
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, kind, message.to_string()).into_response()
}

/// Gives the client an `Mcp-Session-Id`.
fn with_session(mut response: Response, session: Option<String>) -> Response {
    if let Some(id) = session.and_then(|id| HeaderValue::try_from(id).ok()) {
        response.headers_mut().insert(SESSION, id);
    }
    response
}

/// A stream that a client reads. When it goes, its call is cancelled.
struct OpenEvents {
    heard: mpsc::Receiver<Value>,
    _guard: DropGuard,
}

/// Streams messages until the last sender is gone. Comments show that the server is alive.
fn event_response(heard: mpsc::Receiver<Value>, guard: DropGuard, heartbeat: Duration) -> Response {
    let begun = OpenEvents { heard, _guard: guard };
    let next = move |mut open: OpenEvents| async move {
        let bytes = match tokio::time::timeout(heartbeat, open.heard.recv()).await {
            Ok(message) => format!("event: message\ndata: {}\n\n", message?),
            Err(_) => ": \n\n".to_owned(),
        };
        Some((Ok::<_, Infallible>(Bytes::from(bytes)), open))
    };
    let body = Body::from_stream(stream::unfold(begun, next));
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        // Proxies that buffer would hold back progress.
        (
            HeaderName::from_static("x-accel-buffering"),
            HeaderValue::from_static("no"),
        ),
    ];
    (headers, body).into_response()
}

impl FromRequestParts<HandlerState> for McpCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        let address = address_of(&parts.extensions);
        let (auth, now) = (app.state.auth(), app.state.now_ms());
        let found = auth.mcp_caller_of(&parts.headers, &channel(parts), &address, now);
        let (found, login) = match found {
            Ok(found) => (Ok(found.caller), Some(found.login)),
            Err(problem) => (Err(problem), None),
        };
        let caller = counted(parts, app, found)?;
        let Member(caller) = Member::unless_visitor(caller)?;
        // Whoever was found came with something.
        let login = login.ok_or_else(|| ApiError::new("unauthenticated", "authentication required"))?;
        Ok(Self(FoundMcpCaller { caller, login }))
    }
}

impl HandlerInput for McpCaller {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        Member::describe(operation, schemas);
    }
}

impl FromRequestParts<HandlerState> for McpHeaders {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &HandlerState) -> Result<Self, Infallible> {
        let text = |name: &str| Some(parts.headers.get(name)?.to_str().ok()?.trim().to_owned());
        let is_unreadable = |name: &&'static str| {
            let mut values = parts.headers.get_all(*name).iter();
            let is_text = values.next().is_none_or(|value| value.to_str().is_ok());
            !is_text || values.next().is_some()
        };
        let accepted = parts.headers.get_all(ACCEPT).iter();
        let takes_events = accepted
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.contains("text/event-stream"));
        let mut arguments = SentArguments::default();
        for (name, value) in &parts.headers {
            arguments.add(name.as_str(), value.to_str().ok());
        }
        Ok(Self {
            arguments,
            mirrored: MirroredHeaders {
                version: text("mcp-protocol-version"),
                method: text("mcp-method"),
                name: text("mcp-name"),
                unreadable: MIRRORED.into_iter().find(is_unreadable),
            },
            takes_events,
            can_be_asked: text(SESSION).is_some_and(|id| is_askable_session(&id)),
        })
    }
}

impl HandlerInput for McpHeaders {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let text = || json!({"type": "string"});
        operation.header("mcp-protocol-version", "The version of the protocol.", text());
        operation.header("mcp-method", "The method, as in the body.", text());
        operation.header("mcp-name", "The tool or the address, as in the body.", text());
        operation.header(SESSION, "The one that `initialize` gave, if it gave one.", text());
    }
}

impl IntoResponse for McpResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerResponse for McpResponse {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let object = || json!({"schema": {"type": "object"}});
        let kinds =
            json!({"application/json": object(), "text/event-stream": {"schema": {"type": "string"}}});
        operation.answer(200, "The answer, or a stream that ends with it.", kinds);
        operation.answer(202, "A notification was taken.", Value::Null);
        for status in [400, 404] {
            let error = json!({"application/json": object()});
            operation.answer(status, "An error of JSON-RPC, or what went wrong.", error);
        }
        operation.add_failures(&[400, 404, 422, 429]);
    }
}
