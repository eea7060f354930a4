//! Words that people know from Claude Code, Codex, Gemini CLI, aider and the like, and what does the same here: an error names it.

use crate::chat::slash::Others as Table;

const COMMAND_LINE: &Table = &[
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
        "to give one prompt and get the answer: agentx run \"PROMPT\"",
    ),
    (
        &["-r", "--resume", "--last", "continue"],
        "to go on with the latest session here: agentx resume --last, or without a terminal: agentx run --last \"PROMPT\"; \
         `agentx resume` lists them",
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
        "--yes allows every call that no rule denies, without asking; `agentx approvals add` allows single commands instead",
    ),
    (
        &["--permission-mode", "--ask-for-approval", "--approval-mode", "-a"],
        "--approve ask, auto or deny says who decides about calls that no rule decides",
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
        "`agentx approvals add` allows or denies calls by a rule; tools.disabled in the configuration takes tools away",
    ),
    (
        &["-s", "--sandbox"],
        "there is no sandbox; to let nothing be changed or run in a folder: agentx config trust --read-only",
    ),
    (
        &["login", "logout", "auth", "setup", "setup-token", "configure"],
        "there is no login: a model's key is read from its variable, such as ANTHROPIC_API_KEY; `agentx doctor` says what is missing",
    ),
    (
        &["init"],
        "instructions for a project stand in its AGENTS.md; the agent writes one: agentx run \"write an AGENTS.md for this project\"",
    ),
    (&["new"], "`agentx` alone begins a new session"),
    (
        &["ls", "list", "history"],
        "to list sessions: agentx sessions list",
    ),
    (
        &["export", "share"],
        "`agentx sessions export` writes a session down",
    ),
    (&["cost", "stats"], "to see what was spent: agentx usage"),
    (
        &["web"],
        "`agentx serve` makes sessions reachable, and has a page for a browser",
    ),
    (&["-v", "version"], "to print the version: agentx --version"),
    (&["--cd", "-C", "--dir"], "--cwd DIR works in another directory"),
    (
        &["--system-prompt", "--append-system-prompt"],
        "--system TEXT gives other standing instructions",
    ),
    (
        &["--max-turns"],
        "--max-iterations N bounds how often the model is answered",
    ),
    (&["--max-budget-usd"], "--max-cost USD bounds what a run may cost"),
    (
        &["--output-last-message"],
        "`agentx run` prints the answer alone to standard output: redirect it",
    ),
    (
        &["--verbose", "--debug"],
        "log_level in the configuration says how much is logged",
    ),
    (
        &["mcp", "plugin", "plugins"],
        "there are no MCP servers and plugins; a file describes a tool of your own: `agentx tools new`, `agentx help tools`",
    ),
    (
        &["--add-dir"],
        "a rule lets the agent read or write elsewhere: agentx approvals add allow read --path '/DIR/**'",
    ),
    (
        &["update", "upgrade"],
        "this program does not replace itself: install the new version the way you installed this one",
    ),
];

/// What to type instead of a word of a command line.
pub(crate) fn instead_of_word(word: &str) -> Option<&'static str> {
    find(COMMAND_LINE, word.split('=').next().unwrap_or(word))
}

/// What to type instead of a command of `agentx COMMAND` that other programs have.
pub(crate) fn instead_of_nested(command: &str, word: &str) -> Option<&'static str> {
    Some(match (command, word) {
        ("sessions", "rm" | "remove") => "to delete a session: agentx sessions delete ID",
        ("sessions", "ls") => "to list sessions: agentx sessions list",
        ("sessions", "resume" | "open") => "to go on with a session: agentx resume ID",
        ("config", "get" | "list") => "to see every setting and where it comes from: agentx config show",
        ("approvals", "rm" | "delete") => "to remove a rule: agentx approvals remove N",
        _ => return None,
    })
}

fn find(table: &Table, word: &str) -> Option<&'static str> {
    let row = table.iter().find(|(words, _)| words.contains(&word));
    row.map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use crate::chat::slash::{self, OTHERS};
    use clap::CommandFactory as _;

    #[test]
    fn no_own_word_is_taken_for_one_of_another_program() {
        let own = Cli::command();
        for (words, hint) in COMMAND_LINE {
            for word in *words {
                let is_flag = own.get_arguments().any(|arg| {
                    let long = arg.get_long().map(|long| format!("--{long}"));
                    let short = arg.get_short().map(|short| format!("-{short}"));
                    [long, short].into_iter().flatten().any(|own| own == *word)
                });
                assert!(!is_flag && own.find_subcommand(word).is_none(), "{word}: {hint}");
            }
        }
        for (words, _) in OTHERS {
            assert!(words.iter().all(|word| !slash::NAMES.contains(word)), "{words:?}");
        }
    }

    #[test]
    fn what_is_named_exists() {
        let own = Cli::command();
        for (_, hint) in COMMAND_LINE.iter().chain(OTHERS) {
            for named in hint.split("agentx ").skip(1) {
                let word = named
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                    .next()
                    .unwrap();
                let is_there = word.starts_with("--") || own.find_subcommand(word).is_some();
                assert!(is_there, "`agentx {word}` of {hint:?}");
            }
            for named in hint.split(' ').filter_map(|word| word.strip_prefix('/')) {
                let name = named.trim_end_matches([',', '.', ';', ':']);
                assert!(slash::NAMES.contains(&name), "/{name} of {hint:?}");
            }
        }
    }
}
