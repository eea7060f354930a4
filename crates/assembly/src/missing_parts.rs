//! What an agent of an older session has that this program has not: its files are gone, or lie elsewhere.

use agentx_types::{AgentConfig, ToolSpec};

/// The names of the agent's tools that are not among those `here`, nor answered by its machine itself.
pub fn tools_lacking<'a>(agent: &'a AgentConfig, here: &[ToolSpec]) -> Vec<&'a str> {
    let own = agentx_agent::delegation_tools(&agent.agents);
    let is_there = |name: &str| here.iter().chain(&own).any(|tool| tool.name == name);
    let names = agent.tools.iter().map(|tool| tool.name.as_str());
    names.filter(|name| !is_there(name)).collect()
}
