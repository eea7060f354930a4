//! Tools that a folder's file or a server describes: whether a description is the accepted one, and its name
//! in rules.
//!
//! Another file may describe another tool of the same name, so a rule that "always" keeps names the file by
//! its hash: `allow weather@0123456789abcdef0123`. If the file changes, so does its hash, and the rule no
//! longer applies. The same holds for the description of a tool by an MCP server.

use agentx_types::ToolSpec;

/// The tool in rules about the tools of MCP servers; their argument is `SERVER/TOOL`.
pub const MCP: &str = "mcp";

/// Returns whether only a rule that names this very description allows a call.
pub(crate) fn needs_own_rule(tool: &ToolSpec) -> bool {
    replaces_another(tool) || has_changed(tool)
}

/// Returns whether a server of a folder's `.mcp.json` has the tool.
pub(crate) fn is_of_folder_server(tool: &ToolSpec) -> bool {
    tool.reach.as_ref().is_some_and(|reach| reach.of_folder)
}

/// The difference between the description of the tool and the one that was accepted, if a server changed it.
pub(crate) fn change_of(tool: &ToolSpec) -> Option<&str> {
    tool.reach.as_ref()?.changed.as_deref()
}

/// Returns whether a server changed the description of the tool and nobody has accepted that.
pub(crate) fn has_changed(tool: &ToolSpec) -> bool {
    change_of(tool).is_some()
}

/// The name of this tool in a rule only about it: with the hash of its file, if it has one.
pub(crate) fn name_in_rules(tool: &ToolSpec) -> String {
    match tool.reach.as_ref().and_then(|reach| reach.file.as_ref()) {
        Some(file) => format!("{}@{file}", tool.name),
        None => tool.name.clone(),
    }
}

/// Returns whether a folder's file describes the tool instead of the user's own file.
pub(crate) fn replaces_another(tool: &ToolSpec) -> bool {
    tool.reach.as_ref().is_some_and(|reach| reach.replaces)
}
