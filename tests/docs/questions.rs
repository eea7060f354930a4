//! Questions about commands in the documents are about commands that are asked about: one that only reads
//! runs without a question in a folder that its person trusts.

use agentx_agent::reading_commands::reading_line;
use agentx_types::RULES_VERSION;

use crate::markdown::{blocks, read};
use crate::none;

/// The documents with sessions and runs.
const DOCUMENTS: [&str; 5] = [
    "README.md",
    "docs/CHAT.md",
    "docs/CLI.md",
    "docs/REMOTE.md",
    "docs/SESSIONS.md",
];

/// The command line that a line of an example asks about: `  command: LINE` of a question, and the demo's
/// `run LINE` in a run without a person.
fn asked_line(line: &str) -> Option<&str> {
    if let Some(command) = line.strip_prefix("  command: ") {
        return Some(command);
    }
    let run = line
        .strip_prefix("$ agentx run ")
        .filter(|run| !run.contains("--yes"))?;
    let (_, rest) = run.split_once("\"run ")?;
    rest.split('"').next()
}

#[test]
fn no_example_asks_about_a_command_that_only_reads() {
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for document in DOCUMENTS {
        for block in blocks(&read(document)) {
            for command in block.text.lines().filter_map(asked_line) {
                asked += 1;
                if reading_line(command, "/home/ada/hello", RULES_VERSION).is_some() {
                    wrong.push(format!("{document}:{}: `{command}`", block.line));
                }
            }
        }
    }
    assert!(asked >= 5, "{asked} questions");
    none(&wrong, "commands that run without a question in a trusted folder");
}
