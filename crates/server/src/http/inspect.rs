//! Looking into a session: its bytes checked, its meaning derived again, the request that a model got.

use agentx_runtime::{ContextView, ReplayReport, Runtime as _, VerifyReport};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Failure;
use super::answer::{Body, Tagged};
use super::extract::{In, Query, Watching};

/// Which request.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContextQuery {
    /// The last one at or before this event; the last one of all where it is absent.
    at_seq: Option<u64>,
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
