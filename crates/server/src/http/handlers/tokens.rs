//! The tokens with which other programs of the caller use `/mcp`, and those of their pages: listed and taken
//! back. `POST /v1/auth/token` and `POST /v1/auth/page` make them.

use agentx_types::wire::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::requests::extract::{Member, PathId};
use crate::http::responses::{DoneResponse, JsonResponse};
use crate::http::{ApiError, HandlerState};

/// A token for another program of the person, which opens `/mcp` alone.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct McpTokenWish {
    /// The name of the program: 1 to 64 letters and digits of ASCII, `-`, `_` and `.`.
    pub(super) name: String,
    /// The lifetime in seconds: from a minute to 90 days.
    pub(super) lifetime_s: u64,
}

/// A token, without its text.
#[derive(Serialize, JsonSchema)]
pub(crate) struct McpTokenEntry {
    /// The id, by which it is taken back.
    id: String,
    /// The name of the program that has it.
    name: String,
    /// The time of its creation: milliseconds since 1970.
    made_at_ms: u64,
    /// Until when it counts: milliseconds since 1970.
    expires_at_ms: u64,
    /// Whether it is the token of a web page, which opens everything, and not of a program that uses `/mcp`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    page: bool,
}

pub(crate) async fn list(
    app: HandlerState,
    Member(caller): Member,
) -> Result<JsonResponse<Vec<McpTokenEntry>>, ApiError> {
    let tokens = app.state.auth().mcp_tokens_of(&caller.person, app.state.now_ms());
    let entries = tokens.into_iter().map(|token| McpTokenEntry {
        id: token.id,
        name: token.name,
        made_at_ms: token.made_at_ms,
        expires_at_ms: token.expires_at_ms,
        page: token.page,
    });
    Ok(JsonResponse(entries.collect()))
}

pub(crate) async fn revoke(
    app: HandlerState,
    Member(caller): Member,
    PathId(id): PathId,
) -> Result<DoneResponse, ApiError> {
    let state = app.state.clone();
    let asked = id.clone();
    let removed = on_disk(move || state.auth().remove_mcp_token(&caller.person, &asked)).await?;
    if removed {
        app.state.end_calls_without_login();
        return Ok(DoneResponse);
    }
    Err(ApiError::new(
        "not_found",
        format!("you have no token {id:?} here"),
    ))
}

/// Does something that waits for the disk, on a thread that serves no connections.
pub(super) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Box<Problem>> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|lost| ApiError::new("internal", format!("the request broke: {lost}")))?;
    Ok(done?)
}
