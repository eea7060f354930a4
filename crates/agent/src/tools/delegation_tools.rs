//! The tools with which an agent delegates work to other agents: their descriptions and their arguments.

use agentx_types::{Access, AgentConfig, ToolSpec};
use serde_json::{Value, json};

/// The tool by which an agent makes others.
pub const DELEGATE: &str = "delegate";
/// The tool by which an agent manages its agents in the background.
pub const AGENTS: &str = "agents";
/// The tools by which an agent makes those in `agents` work for it. Empty if there are none. They are
/// answered by the machine itself; no effector knows them.
///
/// ```
/// let agents = [agentx_agent::fixtures::config()];
/// let tools = agentx_agent::delegation_tools(&agents);
/// let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
/// assert_eq!(names, ["delegate", "agents"]);
/// assert!(agentx_agent::delegation_tools(&[]).is_empty());
/// ```
pub fn delegation_tools(agents: &[AgentConfig]) -> Vec<ToolSpec> {
    let known: Vec<_> = agents.iter().map(described).collect();
    tools_for(&known)
}

/// The name of an agent and the first line of its instructions.
pub(crate) fn described(agent: &AgentConfig) -> (&str, &str) {
    (agent.name.as_str(), first_line(&agent.system_prompt))
}

/// The tools for agents with these names and descriptions.
pub(crate) fn tools_for(agents: &[(&str, &str)]) -> Vec<ToolSpec> {
    if agents.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = agents.iter().map(|(name, _)| *name).collect();
    let known: Vec<String> = agents
        .iter()
        .map(|(name, does)| format!("- {name}: {does}"))
        .collect();
    let delegate = json!({
        "type": "object",
        "properties": {
            "agent": {"type": "string", "enum": names, "description": "Which agent."},
            "input": {"type": "string", "description": "The task, with everything that the agent has to know."},
            "background": {"type": "boolean", "description": "Continue without waiting; the answer comes later as a message."},
        },
        "required": ["agent", "input"],
        "additionalProperties": false,
    });
    let look_after = json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["list", "status", "stop"], "description": "list when left out."},
            "id": {"type": "string", "description": "Which agent; all when left out, but for stop."},
        },
        "additionalProperties": false,
    });
    vec![
        own_tool(
            DELEGATE,
            format!(
                "Has another agent work on something and gives its answer.
{}",
                known.join("\n")
            ),
            delegate,
        ),
        own_tool(
            AGENTS,
            "Lists the agents that were given work, shows their status, or stops one.".to_owned(),
            look_after,
        ),
    ]
}

pub(crate) fn own_tool(name: &str, description: String, input_schema: Value) -> ToolSpec {
    ToolSpec::new(name.to_owned(), description, input_schema, Access::Internal).with_checked(true)
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
