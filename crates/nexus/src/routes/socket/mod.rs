//! `/ws/{public_key}`: the WebSocket of NEXUS's older clients.

mod connection;
mod opening;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::Deserialize;

use self::connection::NexusSocket;
use self::opening::opening;
use super::bodies::BODY_BYTES;
use crate::gateway::Gateway;
use crate::gateway::refusal::ApiRefusal;

/// The subprotocol that a browser offers beside the one with its token, because a server has to take one.
const SUBPROTOCOL: &str = "nexus.v1";
/// The largest frame of a client that did not send a token with its request, in bytes.
const UNKNOWN_BYTES: usize = 16 << 10;
/// The size of the buffers of a connection, in bytes.
const BUFFER_BYTES: usize = 4 << 10;

/// The query of the request.
#[derive(Deserialize)]
pub(super) struct SocketQuery {
    /// The `id` of the last frame that the client has.
    after: Option<String>,
}

pub(super) async fn upgrade(
    State(gateway): State<Gateway>,
    Path(public_key): Path<String>,
    Query(query): Query<SocketQuery>,
    parts: Parts,
    upgrade: WebSocketUpgrade,
) -> Result<Response, ApiRefusal> {
    if gateway.server().shutdown().is_cancelled() {
        let what = "the server is shutting down; try again in a moment";
        return Err(ApiRefusal::new(StatusCode::SERVICE_UNAVAILABLE, "closing", what));
    }
    let caller = gateway.caller(&parts);
    let has_token = caller.has_token();
    let opening = opening(&caller, public_key, query.after).await?;
    let socket = NexusSocket::new(gateway, caller, opening);
    let most = if has_token { BODY_BYTES } else { UNKNOWN_BYTES };
    Ok(upgrade
        .protocols([SUBPROTOCOL])
        .max_message_size(most)
        .max_frame_size(most)
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .on_upgrade(move |stream| socket.serve(stream)))
}
