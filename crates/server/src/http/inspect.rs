//! Looking into a session: its bytes as they are stored, and checked, its meaning derived again, the request that a model got; and at
//! its files, before somebody decides what becomes of them.

use agentx_runtime::{
    ContextView, FileInQuestion, LogRows, ReplayReport, RestorePlan, Runtime as _, VerifyReport,
};
use agentx_types::ToolCallId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{Body, Tagged};
use super::extract::{Approving, Driving, In, Query, Watching};
use super::in_turn::InTurn;
use super::query::Limit;
use super::{Failure, Shared};

/// Which request.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContextQuery {
    /// The last one at or before this event; the last one of all where it is absent.
    at_seq: Option<u64>,
}

/// Which call.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct FileQuery {
    /// One that waits for a decision.
    tool_call_id: ToolCallId,
}

/// Which event.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RestoreQuery {
    /// Files would be as they were before it.
    to_seq: u64,
}

/// Which rows.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct RowsQuery {
    /// From the beginning of the segment on that holds the event after this one.
    #[serde(default)]
    after_seq: u64,
    /// So many bytes of rows are enough: a page ends where a segment does.
    #[serde(default)]
    bytes: Limit<1_048_576, 4_194_304>,
}

pub(crate) async fn rows(
    front: Shared,
    at: In<Watching>,
    Query(query): Query<RowsQuery>,
) -> Result<InTurn<Body<LogRows>>, Failure> {
    let answer = front.state.answers().take(&at.caller.line).await;
    let (session, bytes) = (&at.session, query.bytes.get());
    let rows = at.access.runtime.rows(session, query.after_seq, bytes).await?;
    Ok(InTurn(Body(rows), answer))
}

pub(crate) async fn verify(front: Shared, at: In<Watching>) -> Result<Body<VerifyReport>, Failure> {
    let _turn = front.state.checks().take(&at.caller.line).await;
    Ok(Body(at.access.runtime.verify(&at.session).await?))
}

pub(crate) async fn replay(front: Shared, at: In<Watching>) -> Result<Body<ReplayReport>, Failure> {
    let _turn = front.state.checks().take(&at.caller.line).await;
    Ok(Body(at.access.runtime.replay(&at.session).await?))
}

pub(crate) async fn context(
    front: Shared,
    at: In<Watching>,
    Query(query): Query<ContextQuery>,
) -> Result<InTurn<Tagged<ContextView>>, Failure> {
    let answer = front.state.answers().take(&at.caller.line).await;
    let _turn = front.state.checks().take(&at.caller.line).await;
    let view = at.access.runtime.context(&at.session, query.at_seq).await?;
    Ok(InTurn(Tagged(view), answer))
}

pub(crate) async fn file(
    front: Shared,
    at: In<Approving>,
    Query(query): Query<FileQuery>,
) -> Result<Body<FileInQuestion>, Failure> {
    let who = (&at.caller, &at.access);
    let file = front
        .state
        .file_in_question(who, &at.session, &query.tool_call_id);
    Ok(Body(file.await?))
}

pub(crate) async fn restore_plan(
    front: Shared,
    at: In<Driving>,
    Query(query): Query<RestoreQuery>,
) -> Result<Body<RestorePlan>, Failure> {
    let who = (&at.caller, &at.access);
    let plan = front.state.plan_restore(who, &at.session, query.to_seq);
    Ok(Body(plan.await?))
}
