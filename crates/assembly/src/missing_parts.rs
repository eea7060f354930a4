//! Finds parts of an older session's agent that this program lacks: their files are gone or have moved.

use agentx_types::{AgentConfig, ToolSpec};

/// Returns the names of the agent's tools that are neither among those `here`, nor answered by its machine
/// itself.
pub fn tools_lacking<'a>(agent: &'a AgentConfig, here: &[ToolSpec]) -> Vec<&'a str> {
    let own = agentx_agent::delegation_tools(&agent.agents);
    let is_there = |name: &str| here.iter().chain(&own).any(|tool| tool.name == name);
    let names = agent.tools.iter().map(|tool| tool.name.as_str());
    names.filter(|name| !is_there(name)).collect()
}
