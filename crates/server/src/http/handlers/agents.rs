//! The models, tools and agents that the server offers, and the default agent of new sessions.

use agentx_runtime::{AgentInfo, ModelInfo, NamedAgent, Runtime as _};
use agentx_types::{AgentConfig, ApprovalMode, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::requests::extract::{CanFail, Member, PathId, QueryParams};
use crate::http::responses::Tagged;
use crate::http::{ApiError, HandlerState};
use crate::members::trust::{default_agent, named_of_server};

/// Overrides of an agent's file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AgentQuery {
    /// Another model, by name.
    model: Option<String>,
    /// The approval mode; if the agent's file is stricter, the file's mode is used.
    approval: Option<ApprovalMode>,
    /// The directory that it works in, for operators.
    workspace: Option<String>,
}

pub(crate) async fn models(
    app: HandlerState,
    Member(caller): Member,
) -> Result<Tagged<Vec<ModelInfo>>, ApiError> {
    Ok(Tagged(app.state.runtime_of(&caller.person).models()))
}

pub(crate) async fn tools(
    app: HandlerState,
    Member(caller): Member,
) -> Result<Tagged<Vec<ToolSpec>>, ApiError> {
    Ok(Tagged(app.state.runtime_of(&caller.person).tools()))
}

pub(crate) async fn agent(
    app: HandlerState,
    Member(caller): Member,
) -> Result<Tagged<AgentConfig>, ApiError> {
    Ok(Tagged(default_agent(&app.state, &caller)?))
}

pub(crate) async fn list(
    app: HandlerState,
    Member(caller): Member,
) -> Result<Tagged<Vec<AgentInfo>>, ApiError> {
    Ok(Tagged(app.state.runtime_of(&caller.person).agents().await?))
}

pub(crate) async fn get(
    app: HandlerState,
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
    Ok(Tagged(named_of_server(&app.state, &caller, wanted)?))
}
