//! What the server offers: models, tools, and the agent that it gives a new session by itself.

use agentx_runtime::{ModelInfo, Runtime as _};
use agentx_types::{AgentConfig, ToolSpec};

use super::answer::Tagged;
use super::extract::Member;
use super::{Failure, Shared};
use crate::trust::choose;

pub(crate) async fn models(front: Shared, Member(caller): Member) -> Result<Tagged<Vec<ModelInfo>>, Failure> {
    Ok(Tagged(front.state.runtime_of(&caller.person).models()))
}

pub(crate) async fn tools(front: Shared, Member(caller): Member) -> Result<Tagged<Vec<ToolSpec>>, Failure> {
    Ok(Tagged(front.state.runtime_of(&caller.person).tools()))
}

pub(crate) async fn agent(front: Shared, Member(caller): Member) -> Result<Tagged<AgentConfig>, Failure> {
    let known = front.state.runtime_of(&caller.person).models();
    let settings = front.state.settings();
    let model = choose(settings, &known, &settings.model_or_default().value)?;
    let tools = front.state.runtime_of(&caller.person).tools();
    Ok(Tagged(settings.agent(model, tools)))
}
