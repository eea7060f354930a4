//! What the server offers: models, tools, the agents that its files describe, and the one that it gives a new session by itself.

use agentx_runtime::{AgentInfo, ModelInfo, NamedAgent, Runtime as _};
use agentx_types::{AgentConfig, ApprovalMode, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::Tagged;
use super::extract::{CanFail, Member, PathId, Query};
use super::{Failure, Shared};
use crate::trust::{default_agent, named_of_server};

/// What is to be otherwise than an agent's file says.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AgentQuery {
    /// Another model, by name.
    model: Option<String>,
    /// Who decides about its calls; where its file is stricter, that counts.
    approval: Option<ApprovalMode>,
    /// The directory that it works in, for operators.
    workspace: Option<String>,
}

pub(crate) async fn models(front: Shared, Member(caller): Member) -> Result<Tagged<Vec<ModelInfo>>, Failure> {
    Ok(Tagged(front.state.runtime_of(&caller.person).models()))
}

pub(crate) async fn tools(front: Shared, Member(caller): Member) -> Result<Tagged<Vec<ToolSpec>>, Failure> {
    Ok(Tagged(front.state.runtime_of(&caller.person).tools()))
}

pub(crate) async fn agent(front: Shared, Member(caller): Member) -> Result<Tagged<AgentConfig>, Failure> {
    Ok(Tagged(default_agent(&front.state, &caller)?))
}

pub(crate) async fn list(front: Shared, Member(caller): Member) -> Result<Tagged<Vec<AgentInfo>>, Failure> {
    Ok(Tagged(front.state.runtime_of(&caller.person).agents().await?))
}

pub(crate) async fn get(
    front: Shared,
    Member(caller): Member,
    PathId(agent): PathId,
    Query(query): Query<AgentQuery>,
    _: CanFail<422>,
) -> Result<Tagged<AgentConfig>, Failure> {
    let wanted = NamedAgent {
        agent,
        model: query.model,
        approval: query.approval,
        workspace: query.workspace,
        ..NamedAgent::default()
    };
    Ok(Tagged(named_of_server(&front.state, &caller, wanted)?))
}
