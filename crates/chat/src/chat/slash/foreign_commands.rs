//! Commands that people know from Claude Code, Codex, Gemini CLI, aider and similar programs, with their
//! counterparts here.

use crate::command_line::other_programs::ForeignCommands;

/// The foreign commands that people type in a chat.
pub const FOREIGN_COMMANDS: &ForeignCommands = &[
    (
        &["reset", "restart"],
        "/new begins a new session; this one is kept",
    ),
    (&["bye", "q"], "/quit leaves"),
    (
        &["cost", "tokens", "stats", "quota"],
        "/usage shows tokens and cost, /context shows the use of the context window",
    ),
    (
        &["permissions", "allowed-tools", "approve"],
        "/approvals lists the rules, /approve-mode sets who decides about other calls",
    ),
    (
        &["login", "logout", "auth"],
        "AgentX has no login; it reads keys from variables, such as ANTHROPIC_API_KEY. /doctor says what is missing",
    ),
    (
        &["continue", "history", "load", "chat"],
        "/resume lets you pick a session and continues it; /sessions lists the latest",
    ),
    (
        &["undo", "restore", "checkpoint"],
        "/rewind restores the conversation, files or both",
    ),
    (&["branch"], "/fork continues in a copy of this session"),
    (&["rename", "name"], "/title TEXT names this session"),
    (&["models"], "/model lists them; /model NAME switches"),
    (
        &["mode"],
        "/plan starts plan mode; /approve-mode sets who decides about calls that no rule covers",
    ),
    (
        &["settings"],
        "/config shows the settings; `agentx config edit` opens their file, `agentx help settings` explains them",
    ),
    (
        &["theme", "color", "colors"],
        "`agentx config set chat.theme light` sets the colours of the next chat: `auto`, `dark`, `light` or `none`",
    ),
    (
        &["vim", "keybindings"],
        "`agentx config set chat.keys vi` makes the line of the next chat edit like vi, `emacs` as in a shell",
    ),
    (
        &["hooks"],
        "AgentX has no hooks; rules decide about calls, and /approvals lists them",
    ),
    (
        &["agents"],
        "/jobs lists those at work; `agentx agents` lists those in files, `agentx --agent NAME` uses one",
    ),
    (
        &["bashes", "tasks", "ps", "background"],
        "/jobs lists the commands in the background; /jobs stop NAME ends one",
    ),
    (&["tools"], "`agentx tools` lists the tools"),
    (
        &["skills", "commands", "prompts"],
        "/help all lists the commands and skills of files",
    ),
    (
        &["plugin", "plugins"],
        "MCP servers are listed with /mcp and added with `agentx mcp add`; plugins are not supported",
    ),
    (
        &["cd", "pwd"],
        "a session stays in its directory; `agentx --cwd DIR` starts one in another directory",
    ),
    (
        &["add-dir"],
        "to let the agent read or write elsewhere, add a rule: agentx approvals add allow read --path '/DIR/**'",
    ),
    (
        &["think", "reasoning"],
        "/effort sets how much the model reasons; for new sessions: `agentx config set params.thinking_tokens 8000`",
    ),
    (&["redo"], "/rewind undo reverts the last rewind"),
    (
        &["share"],
        "`agentx sessions share` lets other people of your server see a session; /export writes it to a file",
    ),
    (&["save"], "/export writes the session to a file"),
    (&["bug"], "/doctor looks for problems"),
    (&["add", "drop", "read"], "@FILE in a message sends a file along"),
    (&["ls"], "!ls runs it"),
    (&["version"], "`agentx --version` prints it"),
];

/// Returns the hint for `/NAME` if another program has that command.
pub(crate) fn instead_of_slash(name: &str) -> Option<&'static str> {
    let row = FOREIGN_COMMANDS.iter().find(|(words, _)| words.contains(&name));
    row.map(|(_, hint)| *hint)
}

/// Describes the equivalent of another program's command. A hint that itself says that something does not
/// exist is shown alone.
pub(super) fn instead_of(name: &str, hint: &str) -> String {
    if hint.starts_with("AgentX has no") {
        return hint.to_owned();
    }
    format!("there is no command /{name}: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_about_one_setting_names_its_key() {
        for (name, key) in [
            ("theme", "chat.theme"),
            ("vim", "chat.keys vi"),
            ("hooks", "no hooks"),
        ] {
            let hint = instead_of_slash(name).unwrap_or_default();
            assert!(hint.contains(key), "/{name}: {hint}");
        }
    }
}
