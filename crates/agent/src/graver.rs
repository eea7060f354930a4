//! What the stars of a rule about command lines do not stand for: words that make a command graver than the rule says. `git *` allows
//! `git log`, and neither `git push --force` nor `git -c core.pager=…`, which are asked about unless the rule names them.
//!
//! What is allowed follows from these lists, so a change of them needs a new version of the rules
//! ([`agentx_types::RULES_VERSION`]).

use crate::grade::{DESTROYS, NETWORK};
use crate::reading::read_as;

/// Beginnings of commands of Git that run other programs, or change what it runs later.
const RUNS: &[&str] = &[
    "git bisect run",
    "git config",
    "git difftool",
    "git filter-branch",
    "git hook",
    "git mergetool",
    "git submodule",
];

/// Beginnings of commands of Git that send, or destroy what cannot be had back, beside those that a question names.
const MORE: &[&str] = &[
    "git gc",
    "git prune",
    "git reflog expire",
    "git reflog delete",
    "git remote",
    "git rm",
    "git send-email",
    "git stash clear",
    "git stash drop",
    "git update-ref",
];

/// Options that make a subcommand of Git graver: short ones by their letter, long ones by their beginning.
const OPTIONS: &[(&str, &str, &[&str])] = &[
    (
        "push",
        "fd",
        &[
            "--force",
            "--delete",
            "--mirror",
            "--prune",
            "--receive-pack",
            "--exec",
        ],
    ),
    ("branch", "dDfMC", &["--delete", "--force"]),
    ("tag", "df", &["--delete", "--force"]),
    ("checkout", "fB", &["--force"]),
    ("switch", "fC", &["--force", "--discard-changes"]),
    ("reset", "", &["--hard", "--merge", "--keep"]),
    ("worktree", "f", &["--force"]),
    ("rebase", "x", &["--exec"]),
    ("commit", "", &["--amend"]),
    ("fetch", "f", &["--force", "--upload-pack"]),
    ("archive", "o", &["--remote", "--output", "--exec"]),
    ("grep", "O", &["--open-files-in-pager"]),
    ("log", "", &["--output", "--ext-diff"]),
    ("show", "", &["--output", "--ext-diff"]),
    ("diff", "", &["--output", "--ext-diff"]),
];

/// The same from version 6 of the rules on: with these, `git status` shows what is in the files.
const OPTIONS_OF_SIX: &[(&str, &str, &[&str])] = &[("status", "v", &["--v"])];

/// Options of Git itself, in front of a subcommand, that say what it runs or where its settings are.
const IN_FRONT: &[&str] = &[
    "-C",
    "--work-tree",
    "-c",
    "--config-env",
    "--exec-path",
    "--git-dir",
    "-p",
    "--paginate",
];

/// Whether each grave word of the command is in what the pattern says before its first star.
pub(crate) fn names_what_is_grave(pattern: &str, command: &str, version: u32) -> bool {
    unnamed(pattern, command, version).is_none()
}

/// The first grave word of the command that the pattern does not say before its first star.
pub(crate) fn unnamed(pattern: &str, command: &str, version: u32) -> Option<String> {
    let said = pattern.replace("\\*", "\u{1}");
    let (head, _) = said.split_once('*')?;
    let named = grave(head, version);
    grave(command, version)
        .into_iter()
        .find(|word| !named.contains(word))
}

/// What is grave about a command, as it is read: beginnings, and options with their subcommand.
fn grave(line: &str, version: u32) -> Vec<String> {
    let mut found = Vec::new();
    for command in read_as(line, version).commands {
        let lists = [DESTROYS, NETWORK, RUNS, MORE].into_iter().flatten();
        let starts = lists.filter(|start| {
            command
                .strip_prefix(**start)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        found.extend(starts.map(|start| (*start).to_owned()));
        found.extend(of_git(&command, version));
    }
    found
}

/// The grave options of a command of Git.
fn of_git(command: &str, version: u32) -> Vec<String> {
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    if words.next() != Some("git") {
        return Vec::new();
    }
    let words: Vec<&str> = words.collect();
    let at = words.iter().position(|word| !word.starts_with('-'));
    let in_front = words[..at.unwrap_or(words.len())].iter().filter(|word| {
        let name = word.split('=').next().unwrap_or_default();
        IN_FRONT.contains(&name) || (word.starts_with("-c") && !word.starts_with("--"))
    });
    let mut found: Vec<String> = in_front
        .map(|word| format!("git {}", word.split('=').next().unwrap_or_default()))
        .collect();
    let Some((subcommand, rest)) = at.and_then(|at| words[at..].split_first()) else {
        return found;
    };
    let refspec = |word: &&&str| *subcommand == "push" && (word.starts_with('+') || word.starts_with(':'));
    found.extend(rest.iter().filter(refspec).map(|_| "git push refspec".to_owned()));
    let more = OPTIONS_OF_SIX.iter().filter(|_| version >= 6);
    let options = OPTIONS.iter().chain(more);
    for (_, letters, long) in options.filter(|(name, ..)| name == subcommand) {
        for word in rest {
            let short = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
            let letter = short.and_then(|short| short.chars().find(|c| letters.contains(*c)));
            found.extend(letter.map(|letter| format!("git {subcommand} -{letter}")));
            let option = long.iter().find(|option| word.starts_with(**option));
            found.extend(option.map(|option| format!("git {subcommand} {option}")));
        }
    }
    found
}

/// Whether any part of a command line is Git.
pub(crate) fn runs_git(command: &str, version: u32) -> bool {
    let commands = read_as(command, version).commands;
    commands
        .iter()
        .any(|command| command == "git" || command.starts_with("git "))
}
