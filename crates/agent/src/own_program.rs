//! Commands by which this program changes its own settings, or starts without anybody being asked. No tool opens the settings as files; a
//! command is another way to them, so a person is asked each time, whatever rules say.

use crate::reading::{ANYTHING, Reading};

const NAME: &str = "agentx";

/// Subcommands that change what a person decided: what has to stand behind what.
const CHANGES: &[(&str, &[&str])] = &[
    ("config", &["set", "trust", "edit"]),
    ("approvals", &["add", "remove"]),
];

/// Why a command line is asked about each time; `None` where it does not run this program so.
pub(crate) fn why_asked(line: &str, reading: &Reading) -> Option<&'static str> {
    const SETTINGS: &str =
        "it changes the settings of AgentX, which no tool does without a person; no rule allows it";
    const UNASKED: &str =
        "it starts an AgentX that asks nobody, which no tool does without a person; no rule allows it";
    let commands = || reading.commands.iter().chain(&reading.open);
    let is_about = |command: &String, what: fn(&[&str]) -> bool| {
        let words: Vec<&str> = command.split([' ', '\t', '\n']).collect();
        let (program, arguments) = words.split_first().unwrap_or((&"", &[]));
        let is_open = program.ends_with(ANYTHING) && is_own(program);
        is_open || (is_own(program) && what(arguments))
    };
    let hidden =
        reading.hides && line.contains(NAME) && CHANGES.iter().any(|(group, _)| line.contains(group));
    let mentioned = || {
        CHANGES.iter().any(|(group, verbs)| {
            let mut patterns = verbs.iter().map(|verb| format!("{NAME} {group} {verb}"));
            patterns.any(|pattern| reading.mentions_in_text(&pattern))
        })
    };
    if hidden || commands().any(|command| is_about(command, changes)) || mentioned() {
        Some(SETTINGS)
    } else {
        let unasked = commands().any(|command| is_about(command, asks_nobody) || sets_unasked(command));
        unasked.then_some(UNASKED)
    }
}

/// By any path, and with what stands for an unknown word right behind it.
fn is_own(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.trim_end_matches(ANYTHING) == NAME
}

fn changes(words: &[&str]) -> bool {
    let unknown = |word: &str| word.contains(ANYTHING);
    CHANGES.iter().any(|(group, verbs)| {
        let at = words.iter().position(|word| word == group || unknown(word));
        at.is_some_and(|at| {
            words[at..]
                .iter()
                .any(|word| verbs.contains(word) || unknown(word))
        })
    })
}

fn asks_nobody(words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| word.starts_with("-y") || matches!(*word, "--yes" | "--approve=auto"))
        || words.windows(2).any(|pair| pair == ["--approve", "auto"])
}

/// Variables by which it asks nobody: `AGENTX_APPROVAL=auto agentx run x`.
fn sets_unasked(command: &str) -> bool {
    const VARIABLES: &[&str] = &["AGENTX_APPROVAL=", "AGENTX_TRUST_FOLDER="];
    let is_set = |word: &str| VARIABLES.iter().any(|variable| word.starts_with(variable));
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    is_set(program) || (matches!(program, "env" | "export" | "declare" | "sudo") && words.any(is_set))
}
