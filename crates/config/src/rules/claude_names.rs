//! The tools of Claude Code and opencode by the names that they have here. Files of these programs name them:
//! agents, and rules about calls.

/// Tools of Claude Code (<https://code.claude.com/docs/en/settings>) and the tools here that do the same.
const TOOLS: &[(&str, &str)] = &[
    ("Bash", "bash"),
    ("Read", "read"),
    ("Edit", "edit"),
    ("MultiEdit", "edit"),
    ("Write", "write"),
    ("Glob", "glob"),
    ("Grep", "grep"),
    ("WebFetch", "web_extract"),
    ("WebSearch", "web_search"),
    ("Task", "delegate"),
    ("Agent", "delegate"),
    ("TodoWrite", "todo"),
    ("Skill", "skill"),
    ("AskUserQuestion", "ask_user"),
];

/// Tools of opencode (<https://opencode.ai/docs/agents>) and the tools here that do the same.
const TOOLS_OF_OPENCODE: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("read", "read"),
    ("edit", "edit"),
    ("patch", "edit"),
    ("write", "write"),
    ("glob", "glob"),
    ("grep", "grep"),
    ("webfetch", "web_extract"),
    ("websearch", "web_search"),
    ("task", "delegate"),
    ("todowrite", "todo"),
    ("skill", "skill"),
    ("question", "ask_user"),
];

/// Returns the tool here that does what a tool of Claude Code does: `Bash` is `bash`, `mcp__github__search`
/// is `github__search`, and `mcp__github` is every tool of that server, `github__*`. `None` if there is none.
///
/// ```
/// use agentx_config::tool_of_claude;
/// assert_eq!(tool_of_claude("WebFetch").as_deref(), Some("web_extract"));
/// assert_eq!(tool_of_claude("mcp__github__search").as_deref(), Some("github__search"));
/// assert_eq!(tool_of_claude("mcp__github").as_deref(), Some("github__*"));
/// assert_eq!(tool_of_claude("NotebookEdit"), None);
/// ```
pub fn tool_of_claude(name: &str) -> Option<String> {
    if let Some(of_server) = name.strip_prefix("mcp__") {
        let (server, tool) = of_server.split_once("__").unwrap_or((of_server, "*"));
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        };
        return (is_name(server) && (tool == "*" || is_name(tool))).then(|| format!("{server}__{tool}"));
    }
    named_in(TOOLS, name)
}

/// Returns the tool here that does what a tool of opencode does; `None` if there is none.
///
/// ```
/// use agentx_config::tool_of_opencode;
/// assert_eq!(tool_of_opencode("webfetch").as_deref(), Some("web_extract"));
/// assert_eq!(tool_of_opencode("lsp"), None);
/// ```
pub fn tool_of_opencode(name: &str) -> Option<String> {
    named_in(TOOLS_OF_OPENCODE, name)
}

fn named_in(tools: &[(&str, &str)], name: &str) -> Option<String> {
    let known = tools.iter().find(|(theirs, _)| *theirs == name);
    known.map(|(_, ours)| (*ours).to_owned())
}
