//! Words that people know from Claude Code, Codex, Gemini CLI, aider and similar programs, each with a hint
//! that names the equivalent here. Errors show the hint.

use agentx::config::nearest;

use crate::error::ChatError;

/// Words of other programs, each row with the hint that names the equivalent here.
pub type ForeignCommands = [(&'static [&'static str], &'static str)];

/// The error for options that shape an agent at a command that has none; `is_model_of_serve` if that is a
/// model for `serve`, which takes it from the configuration.
pub fn misplaced_options(is_model_of_serve: bool) -> ChatError {
    if is_model_of_serve {
        return ChatError::usage(
            "`serve` takes no `-m`",
            "set `model` in the configuration: `agentx config set model NAME`",
        );
    }
    ChatError::usage(
        "options that shape an agent belong to `chat`, `run` and `resume`",
        "leave them out here, or set them in the configuration: `agentx help settings`",
    )
}

/// Flags and commands of other programs, each with a hint.
pub const COMMAND_LINE: &ForeignCommands = &[
    (
        &[
            "-p",
            "--print",
            "--prompt",
            "-e",
            "-i",
            "--message",
            "exec",
            "ask",
            "prompt",
            "print",
        ],
        "to run one prompt and get the answer: agentx run \"PROMPT\"",
    ),
    (
        &["-r", "--resume", "--last", "continue"],
        "to continue the latest session here: agentx resume --last, or without a terminal: agentx run --last \
         \"PROMPT\"; `agentx resume` lists sessions",
    ),
    (
        &[
            "--dangerously-skip-permissions",
            "--allow-dangerously-skip-permissions",
            "--dangerously-bypass-approvals-and-sandbox",
            "--full-auto",
            "--yolo",
            "--yes-always",
            "--auto-approve",
        ],
        "use --yes to allow every call that no rule denies, or `agentx approvals add` to allow single commands",
    ),
    (
        &["--permission-mode", "--ask-for-approval", "--approval-mode", "-a"],
        "use --approval ask, accept-edits, auto or deny to choose who decides about calls that no rule covers",
    ),
    (
        &[
            "--allowedTools",
            "--allowed-tools",
            "--disallowedTools",
            "--disallowed-tools",
            "--tools",
            "permissions",
        ],
        "`agentx approvals add` adds a rule that allows or denies calls; tools.disabled in the configuration removes tools",
    ),
    (
        &["-s", "--sandbox"],
        "to run commands in a sandbox: agentx config set sandbox.mode auto; to forbid all changes and commands in a folder: agentx config trust --read-only",
    ),
    (
        &["login", "logout", "auth", "setup", "setup-token", "configure"],
        "AgentX has no login: it reads API keys from environment variables, such as ANTHROPIC_API_KEY; `agentx doctor` shows what is missing",
    ),
    (
        &["init"],
        "project instructions belong in AGENTS.md; to have the agent write one: agentx run \"write an AGENTS.md for this project\"",
    ),
    (&["new"], "`agentx` without a command starts a new session"),
    (
        &["ls", "list", "history"],
        "to list sessions: agentx sessions list",
    ),
    (
        &["export", "share"],
        "to export a session: agentx sessions export",
    ),
    (&["cost", "stats"], "to see tokens and cost: agentx usage"),
    (
        &["web"],
        "`agentx serve` shares sessions over the network, and serves a web page",
    ),
    (
        &["uninstall"],
        "delete the program (`cargo uninstall agentx-cli` if Cargo installed it); `agentx doctor` prints the directories with its settings and sessions",
    ),
    (&["demo"], "to try it without a model: agentx --model demo"),
    (&["-v", "version"], "to print the version: agentx --version"),
    (
        &["--cd", "-C", "--dir"],
        "use --cwd DIR to work in another directory",
    ),
    (
        &["--system-prompt", "--append-system-prompt"],
        "use --system TEXT to replace the system prompt",
    ),
    (
        &["--max-turns"],
        "use --max-iterations N to limit the tool rounds of a run",
    ),
    (
        &["--max-budget-usd"],
        "use --max-cost USD to limit the cost of a run",
    ),
    (
        &["--output-last-message"],
        "`agentx run` prints only the answer to standard output, so it can be redirected",
    ),
    (
        &["--verbose", "--debug"],
        "to write a log: agentx config set log debug, or AGENTX_LOG=debug for one start",
    ),
    (
        &["plugin", "plugins"],
        "plugins are not supported; add an MCP server with `agentx mcp add`, or write a tool of your own: `agentx tools new`",
    ),
    (
        &["--add-dir"],
        "to let the agent read or write elsewhere, add a rule: agentx approvals add allow read --path '/DIR/**'",
    ),
    (
        &["update", "upgrade"],
        "AgentX does not update itself; install the new version the way you installed this one",
    ),
];

/// Returns the hint for a word of a command line that another program has.
pub fn instead_of_word(word: &str) -> Option<&'static str> {
    find(COMMAND_LINE, word.split('=').next().unwrap_or(word))
}

/// Returns whether words in the place of one of these commands are a prompt. Several words are. A single word
/// is one unless it is nearly a command, a command of another program, or the id of a session: those are
/// mistakes, and to send them to a model costs money.
///
/// ```
/// use agentx_chat::other_programs::is_prompt;
/// assert!(is_prompt("tour", &["run", "tools"]) && is_prompt("run it", &["run"]));
/// assert!(!is_prompt("rnu", &["run"]) && !is_prompt("login", &["run"]) && !is_prompt("ses_abcd", &["run"]));
/// ```
pub fn is_prompt(words: &str, commands: &[&str]) -> bool {
    let is_mistake = || {
        words.starts_with("ses_")
            || instead_of_word(words).is_some()
            || !nearest(words, commands.iter().copied(), 1).is_empty()
    };
    words.trim().contains(char::is_whitespace) || !is_mistake()
}

/// Returns the hint for a subcommand of `agentx COMMAND` that another program has.
pub fn instead_of_nested(command: &str, word: &str) -> Option<&'static str> {
    Some(match (command, word) {
        ("sessions", "remove") => "to delete a session: agentx sessions delete ID",
        ("sessions", "resume" | "open") => "to continue a session: agentx resume ID",
        ("config", "get" | "list") => "to see every setting and where it comes from: agentx config show",
        ("approvals", "delete") => "to remove a rule: agentx approvals remove N",
        _ => return None,
    })
}

fn find(table: &ForeignCommands, word: &str) -> Option<&'static str> {
    let row = table.iter().find(|(words, _)| words.contains(&word));
    row.map(|(_, hint)| *hint)
}
