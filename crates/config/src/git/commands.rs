//! Git commands that run only the files that they name.
//!
//! Git gives a command to a shell, which finds programs in ways that its words do not show: `sh t*/clean.sh`,
//! `make`, `python3 -m tools.clean`. So only the forms here are known; any other command counts with the
//! whole folder, and any change of the folder asks again.

use super::settings::Setting;

/// Programs that treat their words as data, or as names of what they read.
const PROGRAMS: &[&str] = &[
    "cat",
    "code",
    "colordiff",
    "delta",
    "difft",
    "false",
    "gh",
    "git-crypt",
    "git-lfs",
    "glab",
    "gpg",
    "gpg2",
    "hexdump",
    "icdiff",
    "kdiff3",
    "less",
    "meld",
    "micro",
    "more",
    "nano",
    "od",
    "pdftotext",
    "sort",
    "ssh",
    "ssh-keygen",
    "subl",
    "true",
    "vi",
    "vim",
    "xxd",
    "zed",
];

/// Subcommands of Git that run only programs that the repository's settings name.
const OF_GIT: &[&str] = &[
    "add",
    "blame",
    "branch",
    "checkout",
    "cherry-pick",
    "clean",
    "commit",
    "describe",
    "diff",
    "fetch",
    "lfs",
    "log",
    "ls-files",
    "merge",
    "mv",
    "pull",
    "push",
    "reflog",
    "reset",
    "restore",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "stash",
    "status",
    "switch",
    "tag",
    "worktree",
];

/// Options with which these programs run nothing either.
const OPTIONS: &[&str] = &[
    "-", "--", "--diff", "--nofork", "--wait", "-d", "-f", "-i", "-n", "-w",
];
/// Beginnings of Git's options that name a program, and of addresses that do.
const RUN_BY_GIT: &[&str] = &["--ex", "--rec", "--up"];

/// Last names of settings that count as running something and hold no command: folders and layouts.
const NO_COMMAND: &[&str] = &["hookspath", "layout", "templatedir"];

/// Returns whether the command of a setting may run files of the folder that it does not name.
pub(super) fn may_run_any_file(setting: &Setting) -> bool {
    let (last, value) = (setting.last(), setting.value.trim());
    match value.strip_prefix('!') {
        Some(line) => may_line(line),
        None if setting.section() == "alias" => may_of_git(value),
        None if NO_COMMAND.contains(&last) => false,
        // Words for the line of another command.
        None if last.ends_with("options") => !value.split_whitespace().all(is_switch),
        // Git starts the program `git-credential-store`.
        None if last == "helper" && !value.starts_with('/') => {
            value.contains('/') || may_line(&format!("true {value}"))
        }
        None => may_line(value),
    }
}

/// Returns whether a shell that runs this line may run files of the folder that it does not name.
pub(super) fn may_line(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some((program, words)) = words.split_first() else {
        return false;
    };
    let is_unclear = |c: char| c.is_control() || "`;|&()<>\\".contains(c);
    match program.rsplit('/').next().unwrap_or_default() {
        _ if line.contains(is_unclear) => true,
        "git" => may_of_git(&words.join(" ")),
        "ssh" => may_by_options(&words.join(" ").replace("-o IdentitiesOnly=yes", "")),
        program => !PROGRAMS.contains(&program) || may_by_options(&words.join(" ")),
    }
}

/// Returns whether a word is an option without a value: `--no-ff`.
fn is_switch(word: &str) -> bool {
    let name = word.strip_prefix("--");
    name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
}

fn may_by_options(words: &str) -> bool {
    let mut words = words.split_whitespace();
    words.any(|word| word.trim_matches(['"', '\'']).starts_with(['-', '+']) && !OPTIONS.contains(&word))
}

/// Returns whether Git with these words may do so.
fn may_of_git(words: &str) -> bool {
    let command = words.split_whitespace().next().unwrap_or_default();
    let names_program = |word: &str| {
        let word = word.trim_matches(['"', '\'']);
        word.contains("::") || RUN_BY_GIT.iter().any(|option| word.starts_with(option))
    };
    !OF_GIT.contains(&command) || words.split_whitespace().any(names_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(name: &str, value: &str) -> bool {
        let (name, value) = (name.to_owned(), value.to_owned());
        may_run_any_file(&Setting { name, value })
    }

    #[test]
    fn few_commands_are_known_to_run_only_what_they_name() {
        for (name, value) in [
            ("filter.lfs.clean", "git-lfs clean -- %f"),
            ("filter.lfs.process", "git lfs filter-process"),
            ("credential.helper", "store"),
            ("credential.helper", "cache"),
            ("credential.https://h.helper", "!/usr/bin/gh auth git-credential"),
            ("core.sshcommand", "ssh -i ~/.ssh/id -o IdentitiesOnly=yes"),
            ("core.editor", "code --wait"),
            ("mergetool.x.cmd", "meld \"$LOCAL\" \"$BASE\" \"$REMOTE\""),
            ("alias.lg", "log --graph --format='%h (%s)'"),
            ("core.hookspath", ".husky"),
            ("diff.external", ""),
            ("branch.m.mergeoptions", "--no-ff"),
        ] {
            assert!(!may(name, value), "{name} = {value}");
        }
    }

    #[test]
    fn every_other_command_may_run_any_file() {
        for (name, value) in [
            ("filter.x.clean", "sh t*/c.sh"),
            ("filter.x.clean", "sh -c \"cd x; ./y\""),
            ("filter.x.clean", "make"),
            ("filter.x.clean", "cat; make"),
            ("filter.x.clean", "cat $(make)"),
            ("filter.x.clean", "python3 -m nbstripout"),
            ("filter.x.clean", "./tools/clean.sh"),
            ("filter.x.clean", "\"$X\""),
            ("credential.helper", "!make"),
            ("credential.helper", "../x"),
            ("core.sshcommand", "ssh -o ProxyCommand=make"),
            ("core.editor", "vim -S x"),
            ("core.editor", "vim '+!make'"),
            ("alias.x", "!make"),
            ("alias.x", "-c core.pager=make log"),
            ("alias.x", "bisect run make"),
            ("alias.x", "push --exec=make"),
            ("remote.o.url", "ext::make"),
            ("branch.m.mergeoptions", "-s x"),
        ] {
            assert!(may(name, value), "{name} = {value}");
        }
    }
}
