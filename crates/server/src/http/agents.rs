//! What the server offers: models, tools, the agents that its files describe, and the one that it gives a new session by itself.

use agentx_runtime::{AgentInfo, ModelInfo, NamedAgent, Runtime as _};
use agentx_types::{AgentConfig, ApprovalMode, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{CanFail, Member, PathId, QueryParams};
use super::responses::Tagged;
use super::{ApiError, HandlerState};
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

pub(crate) async fn models(
    front: HandlerState,
    Member(caller): Member,
) -> Result<Tagged<Vec<ModelInfo>>, ApiError> {
    Ok(Tagged(front.state.runtime_of(&caller.person).models()))
}

pub(crate) async fn tools(
    front: HandlerState,
    Member(caller): Member,
) -> Result<Tagged<Vec<ToolSpec>>, ApiError> {
    Ok(Tagged(front.state.runtime_of(&caller.person).tools()))
}

pub(crate) async fn agent(
    front: HandlerState,
    Member(caller): Member,
) -> Result<Tagged<AgentConfig>, ApiError> {
    Ok(Tagged(default_agent(&front.state, &caller)?))
}

pub(crate) async fn list(
    front: HandlerState,
    Member(caller): Member,
) -> Result<Tagged<Vec<AgentInfo>>, ApiError> {
    Ok(Tagged(front.state.runtime_of(&caller.person).agents().await?))
}

pub(crate) async fn get(
    front: HandlerState,
    Member(caller): Member,
    PathId(agent): PathId,
    QueryParams(query): QueryParams<AgentQuery>,
    _: CanFail<422>,
) -> Result<Tagged<AgentConfig>, ApiError> {
    let wanted = NamedAgent {
        agent,
        model: query.model,
        approval: query.approval,
        workspace: query.workspace,
        ..NamedAgent::default()
    };
    Ok(Tagged(named_of_server(&front.state, &caller, wanted)?))
}
