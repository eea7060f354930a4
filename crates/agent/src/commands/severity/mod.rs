//! Dangerous words that a `*` in a rule does not match (*grave* words): they make a command more dangerous
//! than the rule shows.
//!
//! `git *` allows `git log`, but neither `git push --force` nor `git -c core.pager=…`, which need a question
//! unless the rule names them. So both a pattern (before its first star) and a command are reduced to grave
//! words, and each grave word of the command has to be one of the pattern's:
//!
//! | pattern | command | grave words of the command | covered |
//! | --- | --- | --- | --- |
//! | `git *` | `git log` | none | yes |
//! | `git *` | `git push -f` | `git push`, `git push -f` | no |
//! | `git push *` | `git push origin` | `git push` | yes |
//! | `git push *` | `git push -f` | `git push`, `git push -f` | no: `-f` is not named |
//!
//! Permissions follow from these lists, so a change of them needs a new version of the rules
//! ([`agentx_types::RULES_VERSION`]).

mod build_tools;
mod git_config;
mod harmless;
mod inner_commands;
mod options;
mod remotes;

use agentx_types::since;

use crate::commands::command_analysis::{OF_GIT, read_as};
use crate::commands::long_options::is_beginning_of;
use crate::commands::question_grade::{DESTROYS, NETWORK};

pub(crate) use build_tools::{is_of_build_tool, may_become_an_option};
pub(crate) use harmless::is_harmless_git;
pub use remotes::leads_elsewhere;
pub(crate) use remotes::unnamed_remote;

/// Beginnings of Git commands that run other programs, or change the programs that it runs later.
const RUNS: &[&str] = &[
    "git bisect run",
    "git config",
    "git difftool",
    "git filter-branch",
    "git hook",
    "git mergetool",
    "git submodule",
];

/// Beginnings that count from version 9 of the rules on: `git bisect view WORD` runs a program whose name
/// begins with `git`, or the subcommand of Git with this name. The others delete something.
const SINCE_NINE: &[&str] = &[
    "git bisect view",
    "git bisect visualize",
    "git reflog drop",
    "git repack",
    "git rerere clear",
    "git rerere forget",
    "git worktree remove",
];

/// Beginnings of Git commands that send something or destroy it permanently, besides those that a question
/// names.
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

/// Options that count from version 6 of the rules on: with these, `git status` shows the contents of files.
const OPTIONS_OF_SIX: &[(&str, &str, &[&str])] = &[("status", "v", &["--v"])];

/// Options that count from version 9 of the rules on: most run programs that an unfinished operation in the
/// repository names.
const OPTIONS_OF_NINE: &[(&str, &str, &[&str])] = &[
    ("rebase", "", &["--continue", "--skip"]),
    ("am", "r", &["--continue", "--resolved", "--skip", "--retry"]),
    ("cherry-pick", "", &["--continue", "--skip"]),
    ("revert", "", &["--continue", "--skip"]),
    ("merge", "", &["--continue"]),
    // It overwrites a file.
    ("mv", "f", &["--force"]),
];

/// Git's own subcommands that a star matches, unless an option makes one of them more dangerous. `git var`
/// shows addresses, which may hold passwords; `git unpack-file` and `git replace` show a file under another
/// name.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "add", "am", "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-attr",
    "check-ignore", "check-mailmap", "check-ref-format", "checkout", "checkout-index", "cherry", "cherry-pick", "clean",
    "clone", "column", "commit", "commit-graph", "commit-tree", "config", "count-objects", "describe", "diff",
    "diff-files", "diff-index", "diff-tree", "fast-export", "fetch", "fmt-merge-msg", "for-each-ref", "format-patch",
    "fsck", "gc", "grep", "hash-object", "index-pack", "init", "log", "ls-files", "ls-remote", "ls-tree", "mailinfo",
    "mailsplit", "merge", "merge-base", "merge-file", "merge-tree", "mktag", "mktree", "multi-pack-index", "mv",
    "name-rev", "notes", "pack-objects", "pack-redundant", "pack-refs", "patch-id", "prune", "prune-packed", "pull",
    "push", "range-diff", "read-tree", "rebase", "reflog", "remote", "repack", "rerere", "reset", "restore",
    "rev-list", "rev-parse", "revert", "rm", "shortlog", "show", "show-branch", "show-index", "show-ref",
    "sparse-checkout", "stage", "stash", "status", "stripspace", "switch", "symbolic-ref", "tag",
    "unpack-objects", "update-index", "update-ref", "verify-commit", "verify-pack", "verify-tag", "version",
    "whatchanged", "worktree", "write-tree",
];

/// Options of `man` that name a program to run: short ones by their letter, long ones by their beginning.
const OF_MAN: (&str, &[&str]) = ("PHXC", &["--pager", "--html", "--gxditview", "--config-file"]);

/// Options of Git itself, before a subcommand, that name programs to run or the place of its settings.
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

/// Returns whether a program has options that write, send or run something, as far as these lists know it.
pub(crate) fn has_dangerous_options(program: &str) -> bool {
    matches!(program, "git" | "curl" | "http" | "https" | "man")
        || options::lists(program)
        || is_of_build_tool(program)
}

/// The first grave word of the command that the pattern does not name before its first star. Paths in
/// `workspace` are none.
pub(crate) fn unnamed(pattern: &str, command: &str, workspace: &str, version: u32) -> Option<String> {
    let said = pattern.replace("\\*", "\u{1}");
    let (head, _) = said.split_once('*')?;
    let named = dangerous_words(head, workspace, version, false);
    dangerous_words(command, workspace, version, true)
        .into_iter()
        .find(|word| !named.contains(word))
}

/// The dangerous words of a parsed command: beginnings, and options with their subcommand. They are the same
/// for a pattern and for a command, so that the two can be compared. But a command of which the line has
/// every word (`is_whole`), and that is known to be harmless, has none.
fn dangerous_words(line: &str, workspace: &str, version: u32, is_whole: bool) -> Vec<String> {
    let mut found = Vec::new();
    let reading = read_as(line, version);
    if version >= since::OPTIONS_OF_BUILD_TOOLS {
        found.extend(build_tools::unlisted_of_all(
            line,
            &reading.in_words,
            workspace,
            is_whole,
        ));
    }
    if version >= since::OPTIONS_OF_READERS {
        found.extend(
            reading
                .in_words
                .iter()
                .flat_map(|words| options::of_programs(words)),
        );
        found.extend(
            reading
                .in_words
                .iter()
                .flat_map(|words| harmless::unlisted(words, workspace)),
        );
    }
    if version >= since::SETTINGS_OF_GIT_ARE_NAMED {
        let commands = reading.in_words.iter();
        found.extend(commands.filter_map(|words| git_config::unnamed_setting(words, is_whole)));
    }
    for command in reading.commands {
        if is_whole && version >= since::OPTIONS_OF_READERS && is_harmless_git(&command) {
            continue;
        }
        let lists = [DESTROYS, NETWORK, RUNS, MORE].into_iter().flatten();
        let since_nine = SINCE_NINE.iter().filter(|_| version >= since::KNOWN_TO_GIT);
        let starts = lists.chain(since_nine).filter(|start| {
            command
                .strip_prefix(**start)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        found.extend(starts.map(|start| (*start).to_owned()));
        found.extend(of_git(&command, version));
        found.extend(unknown_to_git(&command).filter(|_| version >= since::KNOWN_TO_GIT));
        if version >= since::MANUALS_ARE_NAMED {
            found.extend(of_manuals(&command));
        }
    }
    found
}

/// The grave options of a command of Git: those in front of the subcommand, those behind it, and a refspec of
/// `push` that forces or deletes.
fn of_git(command: &str, version: u32) -> Vec<String> {
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    if words.next() != Some("git") {
        return Vec::new();
    }
    let words: Vec<&str> = words.collect();
    let at = words.iter().position(|word| !word.starts_with('-'));
    let in_front = words[..at.unwrap_or(words.len())].iter().filter(|word| {
        let name = word.split('=').next().unwrap_or_default();
        let is_shortened = || {
            version >= since::SHORTENED_OPTIONS && IN_FRONT.iter().any(|option| is_beginning_of(word, option))
        };
        IN_FRONT.contains(&name) || is_shortened() || (word.starts_with("-c") && !word.starts_with("--"))
    });
    let mut found: Vec<String> = in_front
        .map(|word| format!("git {}", word.split('=').next().unwrap_or_default()))
        .collect();
    let Some((subcommand, rest)) = at.and_then(|at| words[at..].split_first()) else {
        return found;
    };
    let refspec = |word: &&&str| *subcommand == "push" && (word.starts_with('+') || word.starts_with(':'));
    found.extend(rest.iter().filter(refspec).map(|_| "git push refspec".to_owned()));
    let more = OPTIONS_OF_SIX
        .iter()
        .filter(|_| version >= since::STATUS_SHOWS_FILES);
    let since_nine = OPTIONS_OF_NINE
        .iter()
        .filter(|_| version >= since::CONTINUED_OPERATIONS);
    let options = OPTIONS.iter().chain(more).chain(since_nine);
    for (_, letters, long) in options.filter(|(name, ..)| name == subcommand) {
        for word in rest {
            let short = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
            let letter = short.and_then(|short| short.chars().find(|c| letters.contains(*c)));
            found.extend(letter.map(|letter| format!("git {subcommand} -{letter}")));
            let shortens =
                |option: &str| version >= since::SHORTENED_OPTIONS && is_beginning_of(word, option);
            let option = long
                .iter()
                .find(|option| word.starts_with(**option) || shortens(option));
            found.extend(option.map(|option| format!("git {subcommand} {option}")));
        }
    }
    found
}

/// Returns the words with which a command shows a page of a manual in a viewer that was configured or named.
fn of_manuals(command: &str) -> Option<String> {
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    let program = words.next()?;
    let mut options = words.take_while(|word| *word != "--");
    match program {
        "git" => {
            let words: Vec<&str> = options.collect();
            let at = words.iter().position(|word| !word.starts_with('-'));
            let (in_front, rest) = words.split_at(at.unwrap_or(words.len()));
            let asks = in_front.iter().any(|word| matches!(*word, "--help" | "-h"));
            let subcommand = rest.first().filter(|_| rest.contains(&"--help"));
            subcommand
                .map(|subcommand| format!("git {subcommand} --help"))
                .or_else(|| asks.then(|| "git --help".to_owned()))
        }
        "man" => options.find_map(|word| {
            let (letters, long) = OF_MAN;
            let short = word.strip_prefix('-').filter(|word| !word.starts_with('-'));
            let letter = short.and_then(|short| short.chars().find(|c| letters.contains(*c)));
            let is_one = |option: &&&str| word.starts_with(**option) || is_beginning_of(word, option);
            letter
                .map(|letter| format!("man -{letter}"))
                .or_else(|| long.iter().find(is_one).map(|option| format!("man {option}")))
        }),
        _ => None,
    }
}

/// The subcommand of a Git command that no star matches, as it would be written in a pattern.
///
/// Quoted words are compared with the list without their quotes, as another form of the command.
fn unknown_to_git(command: &str) -> Option<String> {
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    let program = words.next()?;
    if let Some(subcommand) = program.strip_prefix("git-") {
        return Some(format!("git {subcommand}"));
    }
    if program != "git" {
        return None;
    }
    let subcommand = loop {
        let word = words.next()?;
        if OF_GIT.contains(&word) {
            words.next();
        } else if !word.starts_with('-') {
            break word;
        }
    };
    let is_known = KNOWN.contains(&subcommand) || subcommand.contains(['\'', '"', '\\']);
    (!is_known).then(|| format!("git {subcommand}"))
}

/// Returns whether any part of a command line is Git, also behind `env`, `sudo` and the like.
pub(crate) fn runs_git(command: &str, version: u32) -> bool {
    let commands = read_as(command, version).commands;
    commands
        .iter()
        .any(|command| command == "git" || command.starts_with("git "))
}
