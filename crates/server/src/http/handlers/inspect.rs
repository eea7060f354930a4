//! Inspection of a session: its stored bytes, its checks, its derived events made again, and the request that
//! a model got. Also its files, before a person decides about them.

use agentx_runtime::{
    ContextView, FileChangePreview, LogRows, ReplayReport, RestorePlan, Runtime as _, VerifyReport,
};
use agentx_types::ToolCallId;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::requests::extract::{Approving, Driving, QueryParams, SessionAs, Watching};
use crate::http::requests::query::PageLimit;
use crate::http::responses::permit_body::WithPermit;
use crate::http::responses::{JsonResponse, Tagged};
use crate::http::{ApiError, HandlerState};

/// The requested model call.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContextQuery {
    /// The last call at or before this event; if absent, the last one of all.
    at_seq: Option<u64>,
}

/// The requested tool call.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct FileQuery {
    /// A call that waits for a decision.
    tool_call_id: ToolCallId,
}

/// The requested event.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RestoreQuery {
    /// Files would be as they were before it.
    to_seq: u64,
}

/// The requested rows.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RowsQuery {
    /// From the beginning of the segment on that holds the event after this one.
    #[serde(default)]
    after_seq: u64,
    /// The target size of a page in bytes: a page ends where a segment does.
    #[serde(default)]
    bytes: PageLimit<1_048_576, 4_194_304>,
}

pub(crate) async fn rows(
    app: HandlerState,
    at: SessionAs<Watching>,
    QueryParams(query): QueryParams<RowsQuery>,
) -> Result<WithPermit<JsonResponse<LogRows>>, ApiError> {
    let answer = app.state.answer_turns().take(&at.caller.line).await;
    let (session, bytes) = (&at.session, query.bytes.get());
    let rows = at.access.runtime.rows(session, query.after_seq, bytes).await?;
    Ok(WithPermit(JsonResponse(rows), answer))
}

pub(crate) async fn verify(
    app: HandlerState,
    at: SessionAs<Watching>,
) -> Result<JsonResponse<VerifyReport>, ApiError> {
    let _turn = app.state.check_turns().take(&at.caller.line).await;
    Ok(JsonResponse(at.access.runtime.verify(&at.session).await?))
}

pub(crate) async fn replay(
    app: HandlerState,
    at: SessionAs<Watching>,
) -> Result<JsonResponse<ReplayReport>, ApiError> {
    let _turn = app.state.check_turns().take(&at.caller.line).await;
    Ok(JsonResponse(at.access.runtime.replay(&at.session).await?))
}

pub(crate) async fn context(
    app: HandlerState,
    at: SessionAs<Watching>,
    QueryParams(query): QueryParams<ContextQuery>,
) -> Result<WithPermit<Tagged<ContextView>>, ApiError> {
    let answer = app.state.answer_turns().take(&at.caller.line).await;
    let _turn = app.state.check_turns().take(&at.caller.line).await;
    let view = at.access.runtime.context(&at.session, query.at_seq).await?;
    Ok(WithPermit(Tagged(view), answer))
}

pub(crate) async fn file(
    app: HandlerState,
    at: SessionAs<Approving>,
    QueryParams(query): QueryParams<FileQuery>,
) -> Result<JsonResponse<FileChangePreview>, ApiError> {
    let who = (&at.caller, &at.access);
    let file = app
        .state
        .preview_file_change(who, &at.session, &query.tool_call_id);
    Ok(JsonResponse(file.await?))
}

pub(crate) async fn restore_plan(
    app: HandlerState,
    at: SessionAs<Driving>,
    QueryParams(query): QueryParams<RestoreQuery>,
) -> Result<JsonResponse<RestorePlan>, ApiError> {
    let who = (&at.caller, &at.access);
    let plan = app.state.plan_restore(who, &at.session, query.to_seq);
    Ok(JsonResponse(plan.await?))
}
