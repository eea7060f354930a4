//! Looking into a session: its bytes as they are stored, and checked, its meaning derived again, the request that a model got.

use agentx_runtime::{ContextView, LogRows, ReplayReport, Runtime as _, VerifyReport};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Failure;
use super::answer::{Body, Tagged};
use super::extract::{In, Query, Watching};
use super::query::Limit;

/// Which request.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContextQuery {
    /// The last one at or before this event; the last one of all where it is absent.
    at_seq: Option<u64>,
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

pub(crate) async fn rows(at: In<Watching>, Query(query): Query<RowsQuery>) -> Result<Body<LogRows>, Failure> {
    let (session, bytes) = (&at.session, query.bytes.get());
    Ok(Body(
        at.access.runtime.rows(session, query.after_seq, bytes).await?,
    ))
}

pub(crate) async fn verify(at: In<Watching>) -> Result<Body<VerifyReport>, Failure> {
    Ok(Body(at.access.runtime.verify(&at.session).await?))
}

pub(crate) async fn replay(at: In<Watching>) -> Result<Body<ReplayReport>, Failure> {
    Ok(Body(at.access.runtime.replay(&at.session).await?))
}

pub(crate) async fn context(
    at: In<Watching>,
    Query(query): Query<ContextQuery>,
) -> Result<Tagged<ContextView>, Failure> {
    let view = at.access.runtime.context(&at.session, query.at_seq).await?;
    Ok(Tagged(view))
}
