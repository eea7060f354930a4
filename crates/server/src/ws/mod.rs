//! The WebSocket: many subscriptions, and all actions of people, over one connection.

mod allowance;
mod connection;
mod frames;
mod rate_limiter;
mod read_half;
mod requests;
mod shared;
mod wire;
mod write_half;
mod writer_task;

use std::sync::Arc;

use agentx_types::wire::{Problem, SUBPROTOCOL};
use axum::Router;
use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header::SEC_WEBSOCKET_PROTOCOL;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use hyper::upgrade::OnUpgrade;

use crate::auth::credentials::nonce_of;
use crate::auth::{Identity, bearer, bearer_subprotocol};
use crate::connections::channel::ConnectionChannel;
use crate::connections::connection_limits::{Permit, address_of};
use crate::http::problem_response;
use crate::problems::problem;
use crate::state::ServerState;

/// Returns the routes of the WebSocket.
pub fn router(state: Arc<ServerState>) -> Router {
    Router::new()
        .route("/v1/socket", get(upgrade))
        .route("/ws", get(upgrade))
        .with_state(state)
}

async fn upgrade(State(state): State<Arc<ServerState>>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let channel: ConnectionChannel = parts.extensions.get().copied().unwrap_or_default();
    let entry = match identify(&state, &parts.headers, &channel) {
        Ok((known, nonce)) => SocketOpening {
            known,
            nonce,
            channel,
            permit: parts.extensions.get::<Permit>().cloned(),
            address: address_of(&parts.extensions),
        },
        Err(problem) => return problem_response(*problem),
    };
    let upgrading = parts.extensions.get::<OnUpgrade>().cloned();
    // axum's rejection has the right status and headers for it.
    if let Err(rejection) = WebSocketUpgrade::from_request_parts(&mut parts, &state).await {
        return rejection.into_response();
    }
    let (Some(upgrading), Some(headers)) = (upgrading, wire::answer(&parts.headers, SUBPROTOCOL)) else {
        return StatusCode::UPGRADE_REQUIRED.into_response();
    };
    tokio::spawn(async move {
        match upgrading.await {
            // The connection counts as one until its end.
            Ok(socket) => connection::run(state, socket, entry).await,
            Err(error) => tracing::debug!(%error, "WebSocket upgrade failed"),
        }
    });
    (StatusCode::SWITCHING_PROTOCOLS, headers, Body::empty()).into_response()
}

/// The state of a socket when it is opened.
pub(super) struct SocketOpening {
    /// The identity, if a token gave it.
    known: Option<Identity>,
    /// The client's nonce, which the server signs to prove its key.
    nonce: Option<String>,
    /// The kind of the connection.
    channel: ConnectionChannel,
    /// The connection's place in the server's limit.
    permit: Option<Permit>,
    /// The client's address, as it is counted.
    address: String,
}

/// Returns the identity of a client that sends a token, and its nonce; others authenticate on the socket.
fn identify(
    state: &ServerState,
    headers: &HeaderMap,
    channel: &ConnectionChannel,
) -> Result<(Option<Identity>, Option<String>), Box<Problem>> {
    state.auth().check_origin(headers)?;
    check_protocol(headers)?;
    let token = match bearer_subprotocol(headers) {
        Some(token) => Some(token),
        None => bearer(headers)?,
    };
    if state.shutdown().is_cancelled() {
        let mut closing = problem("closing", "the server is shutting down; try again in a moment");
        closing.retry_after_ms = Some(1000);
        return Err(closing);
    }
    let known = token.map(|token| state.auth().holder(token, (channel, state.now_ms())));
    Ok((known.transpose()?, nonce_of(headers)?))
}

/// Checks the subprotocol: a client that offers others, but not this one, would not understand a frame.
fn check_protocol(headers: &HeaderMap) -> Result<(), Box<Problem>> {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let mut names = offered
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .peekable();
    if names.peek().is_none() || names.any(|name| name.trim() == SUBPROTOCOL) {
        return Ok(());
    }
    let what = format!("this server requires the subprotocol {SUBPROTOCOL}, which the client did not offer");
    Err(problem("bad_request", &what))
}
