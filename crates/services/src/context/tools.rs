//! The module `tools`: each tool of the agent with what it touches.

use agentx_types::{Access, AgentConfig, ToolSpec};

/// The tools of an agent, a line each. Only the description of each is left out, because every request has
/// it.
pub(super) fn tools_text(config: &AgentConfig) -> String {
    if config.tools.is_empty() {
        return "You have no tools.".to_owned();
    }
    let mut text = "Your tools, and what they touch:".to_owned();
    for tool in config.tools.iter() {
        text.push_str(&format!("\n- {}: {}", tool.name, touches(tool)));
    }
    text
}

fn touches(tool: &ToolSpec) -> String {
    let access = match tool.access {
        Access::Internal => "nothing outside of this conversation",
        Access::Read => "reads files",
        Access::Change => "changes files",
        Access::Run => "runs programs",
        Access::Network => "leaves this machine",
    };
    let Some(reach) = &tool.reach else {
        return access.to_owned();
    };
    let mut parts = vec![access.to_owned()];
    let lists = [
        ("hosts", &reach.hosts),
        ("variables", &reach.variables),
        ("other tools", &reach.tools),
        ("models", &reach.models),
        ("key spaces", &reach.key_spaces),
        ("agents", &reach.agents),
    ];
    for (what, names) in lists {
        if !names.is_empty() {
            parts.push(format!("{what} {}", names.join(", ")));
        }
    }
    if let Some(mcp) = &reach.mcp {
        parts.push(format!("server {mcp}"));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use agentx_types::ToolReach;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_kind_of_access_is_said() {
        let said = |access| touches(&ToolSpec::new("t", "", json!({}), access));
        assert_eq!(said(Access::Run), "runs programs");
        assert_eq!(said(Access::Network), "leaves this machine");
    }

    #[test]
    fn every_grant_of_a_file_is_said() {
        let reach = ToolReach {
            hosts: vec!["api.example.com".into()],
            models: vec!["*".into()],
            key_spaces: vec!["notes".into()],
            agents: vec!["scout".into()],
            ..ToolReach::default()
        };
        let tool = ToolSpec::new("t", "", json!({}), Access::Network).with_reach(reach);
        assert_eq!(
            touches(&tool),
            "leaves this machine; hosts api.example.com; models *; key spaces notes; agents scout"
        );
    }
}
