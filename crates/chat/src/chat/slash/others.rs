//! Commands that people know from the chats of Claude Code, Codex, Gemini CLI, aider and the like, and what does the same here.

/// Words of other programs, and the hint that helps whoever typed one.
pub type Others = [(&'static [&'static str], &'static str)];

/// Those that are typed in a chat.
pub const OTHERS: &Others = &[
    (
        &["new", "clear", "reset"],
        "leave with /quit and type `agentx` for a new session; this one is kept. /compact makes room in this one, /rewind goes back",
    ),
    (&["bye", "q"], "/quit leaves"),
    (
        &["cost", "tokens", "stats", "quota"],
        "/usage says what was spent, /context what fills the window",
    ),
    (
        &["permissions", "allowed-tools", "approve"],
        "/approvals lists the rules, /approve-mode says who decides about the rest",
    ),
    (
        &["login", "logout", "auth"],
        "there is no login: a model's key is read from its variable, such as ANTHROPIC_API_KEY; `agentx doctor` says what is missing",
    ),
    (
        &["init", "memory"],
        "instructions for a project stand in its AGENTS.md; ask the agent to write one, or to change it",
    ),
    (
        &["resume", "continue", "history", "load", "chat"],
        "/sessions lists the latest; leave with /quit and type `agentx resume` to go on with one",
    ),
    (
        &["undo", "restore", "checkpoint"],
        "/rewind goes back: conversation, files or both",
    ),
    (&["branch"], "/fork tries another way in a copy of this session"),
    (&["rename", "name"], "/title TEXT names this session"),
    (
        &["models"],
        "/model lists them; /model NAME asks another one from here on",
    ),
    (
        &["plan", "mode"],
        "/approve-mode deny refuses all calls that no rule allows, /approve-mode ask asks again",
    ),
    (
        &["config", "settings", "theme", "vim", "hooks"],
        "settings stand in a file: `agentx config edit` opens it, `agentx help settings` explains them",
    ),
    (
        &["agents"],
        "`agentx agents` lists them; `agentx --agent NAME` talks to one",
    ),
    (
        &["bashes", "tasks", "ps", "background"],
        "/jobs lists the commands in the background; /jobs stop NAME ends one",
    ),
    (&["tools", "skills"], "`agentx tools` lists the tools"),
    (
        &["mcp", "plugin", "plugins"],
        "there are no MCP servers and plugins; a file describes a tool of your own: `agentx tools new`",
    ),
    (
        &["cd", "pwd"],
        "a session stays in its directory; `agentx --cwd DIR` begins one in another",
    ),
    (
        &["add-dir"],
        "a rule lets the agent read or write elsewhere: agentx approvals add allow read --path '/DIR/**'",
    ),
    (
        &["effort", "think", "reasoning"],
        "params.thinking_tokens in the configuration says how much the model may reason: `agentx config set params.thinking_tokens 8000`",
    ),
    (&["redo"], "/rewind undo takes the last rewind back"),
    (
        &["share"],
        "`agentx sessions share` lets other people of your server see a session; `agentx sessions export ID` writes it down",
    ),
    (
        &["export", "save", "copy"],
        "`agentx sessions export ID` writes a session down; /status says its id",
    ),
    (&["doctor", "bug"], "`agentx doctor` looks for what is wrong"),
    (&["add", "drop", "read"], "@FILE in a message sends a file along"),
    (&["ls"], "!ls runs it"),
    (&["version"], "`agentx --version` prints it"),
];

/// What to type in a chat instead of `/NAME`.
pub(crate) fn instead_of_slash(name: &str) -> Option<&'static str> {
    let row = OTHERS.iter().find(|(words, _)| words.contains(&name));
    row.map(|(_, hint)| *hint)
}
