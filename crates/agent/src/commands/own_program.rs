//! Commands that change this program's settings, or start it in a mode without questions.
//!
//! No tool opens the settings as files; a command is another way to change them, so a person is asked each
//! time, regardless of the rules. `CallSubject::always_asked` calls [`ask_reason`] for every tool that runs
//! command lines, from version 5 of the rules on.
//!
//! | version | commands that need a question |
//! | --- | --- |
//! | 5 | commands that change settings, and starts in a mode that asks nobody |
//! | 6 and later | every command of this program except those that only show something |
//! | 9 and later | such commands under another name too: `/proc/PID/exe`, a link that the line makes, `find -exec {}` |

use std::collections::BTreeSet;

use agentx_types::since;

use crate::commands::command_analysis::{ANYTHING, CommandAnalysis};
use crate::pattern::fits;

/// The name of the program; a path before it does not matter.
const NAME: &str = "agentx";

/// Subcommands that change decisions of a person: the group, and its verbs.
const CHANGES: &[(&str, &[&str])] = &[
    ("config", &["set", "unset", "trust", "edit"]),
    ("approvals", &["add", "remove"]),
];

/// Commands that only show help, settings or definitions: the group, and its verbs; none means all.
///
/// All others change something, run something, or show the contents of sessions or keys, and need a question
/// from version 6 of the rules on.
const SHOWS: &[(&str, &[&str])] = &[
    ("help", &[]),
    ("completions", &[]),
    ("models", &[]),
    ("config", &["show", "path", "check"]),
    ("approvals", &["list", "test"]),
    ("agents", &["list", "show", "check"]),
    ("tools", &["list", "show", "check"]),
    ("identity", &["show", "list"]),
];

/// Options that a showing command may have.
const PLAIN_OPTIONS: &[&str] = &["--help", "-h", "--json", "--quiet", "-q", "--no-color"];

/// Commands that lead to a question if they occur in a text that another program may run.
const RUNS: &[&str] = &["chat", "run", "serve", "sessions", "tools run", "identity export"];

/// The reason for a command that runs something or shows sessions or keys.
const OTHERS: &str =
    "it runs AgentX, or opens its sessions or keys, which no tool does without a person; no rule allows it";

/// The reason why a person is asked about a command line each time; `None` if it does not run this
/// program in such a way.
pub(crate) fn ask_reason(line: &str, reading: &CommandAnalysis, version: u32) -> Option<&'static str> {
    version_5_reason(line, reading).or_else(|| {
        (version >= since::OWN_PROGRAM_IN_DISGUISE)
            .then(|| of_any_other(line, reading))
            .flatten()
            .or_else(|| (version >= since::UNKNOWN_BEGINNINGS && is_renamed(reading)).then_some(OTHERS))
    })
}

/// Returns whether the line runs this program under another name: as the program of a process, by a glob, as
/// a copy or a link that the line makes, or as a program that another one finds.
fn is_renamed(reading: &CommandAnalysis) -> bool {
    let commands = || reading.commands.iter().map(|command| words_of(command));
    let name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let copies: BTreeSet<String> = commands()
        .filter(|words| matches!(words.first(), Some(&("ln" | "cp" | "mv" | "install" | "link"))))
        .filter(|words| words.iter().skip(1).any(|word| may_be_own(word)))
        .filter_map(|words| words.last().map(|target| name(target)))
        .collect();
    commands().any(|words| {
        let Some((program, arguments)) = words.split_first() else {
            return false;
        };
        let is_glob = program.contains(['*', '?', '[']) && may_be_own(program);
        let is_found = program.contains("{}") || program.starts_with('$');
        let is_copy = || copies.contains(&name(program));
        is_program_of_process(program) || is_glob || (is_found && is_grave(arguments)) || is_copy()
    })
}

/// Returns the words of a command behind its assignments.
fn words_of(command: &str) -> Vec<&str> {
    let words = command.split([' ', '\t', '\n']).filter(|word| !word.is_empty());
    words.skip_while(|word| is_assignment(word)).collect()
}

/// Returns whether a word is the program of a running process, which may be this one.
fn is_program_of_process(word: &str) -> bool {
    word.starts_with("/proc/") && word.ends_with("/exe")
}

/// Returns whether a word names this program, also by a glob that has some of its letters.
fn may_be_own(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let (mut pattern, mut rest) = (String::new(), name);
    while let Some((before, inside)) = rest.split_once('[') {
        pattern.push_str(before);
        pattern.push('*');
        rest = inside.split_once(']').map_or("", |(_, behind)| behind);
    }
    pattern.push_str(rest);
    let pattern = pattern.replace('?', "*");
    let letters = pattern.chars().filter(|c| *c != '*').count();
    is_own(word) || is_program_of_process(word) || (letters > 3 && fits(&pattern, NAME))
}

/// Returns whether these are arguments of a command of this program that no other program has.
fn is_grave(arguments: &[&str]) -> bool {
    const GRAVE: &[[&str; 2]] = &[
        ["approvals", "add"],
        ["approvals", "remove"],
        ["config", "trust"],
        ["identity", "export"],
        ["identity", "trust"],
        ["sessions", "export"],
    ];
    GRAVE.iter().any(|words| arguments.starts_with(words))
}

/// The reason under version 6 and later: every command except those that only show something. Setting one of
/// the program's variables counts as a change.
fn of_any_other(line: &str, reading: &CommandAnalysis) -> Option<&'static str> {
    let is_other = |command: &String| {
        let words: Vec<&str> = command
            .split([' ', '\t', '\n'])
            .filter(|word| !word.is_empty())
            .collect();
        let at = words
            .iter()
            .position(|word| !is_assignment(word))
            .unwrap_or(words.len());
        let (set, rest) = words.split_at(at);
        let Some((program, arguments)) = rest.split_first() else {
            return false;
        };
        is_own(program) && (!only_shows(arguments) || set.iter().any(|word| word.starts_with("AGENTX_")))
    };
    let hidden = reading.hides && line.contains(NAME) && RUNS.iter().any(|name| line.contains(name));
    let mentioned = || {
        !reading.texts.is_empty()
            && RUNS
                .iter()
                .any(|name| reading.mentions_in_text_of_another(&format!("{NAME} {name}")))
    };
    (hidden || reading.commands.iter().chain(&reading.open).any(is_other) || mentioned()).then_some(OTHERS)
}

/// Returns whether a word sets a variable: `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Returns whether these arguments have the program show something and do nothing else.
fn only_shows(arguments: &[&str]) -> bool {
    if let [only] = arguments {
        return matches!(*only, "--version" | "-V" | "--help" | "-h") || shows(only, None);
    }
    let (options, words): (Vec<&str>, Vec<&str>) = arguments.iter().partition(|word| word.starts_with('-'));
    let asks_for_help = matches!(options[..], ["--help" | "-h"]) && words.len() <= 2;
    let is_plain = |word: &&str| !word.contains(ANYTHING);
    words.iter().all(is_plain)
        && options.iter().all(|option| PLAIN_OPTIONS.contains(option))
        && words.first().is_some_and(|group| {
            let is_run = *group == "run" && words.len() > 1;
            (asks_for_help && !is_run) || shows(group, words.get(1).copied())
        })
}

/// Returns whether this group of commands, with this verb, only shows something.
fn shows(group: &str, verb: Option<&str>) -> bool {
    SHOWS.iter().any(|(name, verbs)| {
        *name == group && (verbs.is_empty() || verb.is_some_and(|verb| verbs.contains(&verb)))
    })
}

/// The reason under version 5: commands that change settings, or that choose a mode that asks nobody.
fn version_5_reason(line: &str, reading: &CommandAnalysis) -> Option<&'static str> {
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
        !reading.texts.is_empty()
            && CHANGES.iter().any(|(group, verbs)| {
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

/// Returns whether a word is this program, with any path, also directly followed by the mark of an unknown
/// word.
fn is_own(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    name.trim_end_matches(ANYTHING) == NAME
}

/// Returns whether these arguments may change settings: a group and one of its verbs, if an unknown word may
/// be either.
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

/// Returns whether these arguments choose a mode that asks nobody.
fn asks_nobody(words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| word.starts_with("-y") || matches!(*word, "--yes" | "--approval=auto" | "--approve=auto"))
        || words
            .windows(2)
            .any(|pair| matches!(pair, ["--approval" | "--approve", "auto"]))
}

/// Returns whether the command sets a variable for a mode that asks nobody: `AGENTX_APPROVAL=auto agentx run
/// x`.
fn sets_unasked(command: &str) -> bool {
    const VARIABLES: &[&str] = &["AGENTX_APPROVAL=", "AGENTX_TRUST_FOLDER="];
    let is_set = |word: &str| VARIABLES.iter().any(|variable| word.starts_with(variable));
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    is_set(program) || (matches!(program, "env" | "export" | "declare" | "sudo") && words.any(is_set))
}
