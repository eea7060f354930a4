//! The options that a star matches, for programs that have too many others: those of Git in front of and
//! behind a subcommand, and those of `curl`. Any option that is not listed is dangerous, whatever the
//! subcommand: it may name a file to write or to show, a program to run, or a directory with settings.
//!
//! From version 9 of the rules on. The long options are those that `git COMMAND --git-completion-helper-all`
//! lists for Git 2.47, without those with such a name, and those of the manual of `git rev-parse` and of
//! `git log`. A shortened option is not listed.

use super::build_tools::leaves;
use crate::commands::command_analysis::BLANK;

/// Options of Git itself.
#[rustfmt::skip]
const IN_FRONT_OF_GIT: &[&str] = &[
    "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--glob-pathspecs",
    "--noglob-pathspecs", "--icase-pathspecs", "--no-replace-objects", "--no-lazy-fetch", "--no-advice",
    "--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path",
];

/// Long options of subcommands of Git, without their dashes, a line each, sorted.
const LONG_OF_GIT: &str = include_str!("git_options.txt");

/// Letters of subcommands of Git that name a file, a program or a directory with settings.
const LETTERS_OF_GIT: &[(&str, &str)] = &[
    ("annotate", "S"),
    ("blame", "S"),
    ("clone", "uc"),
    ("commit", "Ft"),
    ("commit-tree", "F"),
    ("fmt-merge-msg", "F"),
    ("format-patch", "o"),
    ("grep", "fO"),
    ("index-pack", "o"),
    ("ls-files", "X"),
    ("mailsplit", "o"),
    ("merge", "sF"),
    ("notes", "F"),
    ("pull", "s"),
    ("rebase", "s"),
    ("tag", "F"),
];

/// Short options of Git that take a value in the same word.
const WITH_VALUE_OF_GIT: &str = "CGLSUXbejmno";

/// Prefixes of Git commands that write a file named by an argument, not by an option.
const WRITES_OF_GIT: &[&str] = &[
    "bundle create",
    "index-pack",
    "mailinfo",
    "mailsplit",
    "merge-file",
    "pack-objects",
];

/// Long options of `curl`, without their dashes.
#[rustfmt::skip]
const LONG_OF_CURL: &[&str] = &[
    "basic", "compressed", "connect-timeout", "digest", "disable", "fail", "fail-early", "fail-with-body", "get", "globoff",
    "head", "header", "help", "http0.9", "http1.0", "http1.1", "http2", "http2-prior-knowledge", "http3", "include",
    "insecure", "ipv4", "ipv6", "limit-rate", "location", "max-filesize", "max-redirs", "max-time", "no-buffer",
    "no-keepalive", "no-progress-meter", "noproxy", "parallel", "path-as-is", "progress-bar", "proto", "proto-redir",
    "range", "referer", "resolve", "retry", "retry-all-errors", "retry-connrefused", "retry-delay", "retry-max-time",
    "show-error", "show-headers", "silent", "speed-limit", "speed-time", "ssl-reqd", "styled-output", "tcp-nodelay",
    "tls-max", "tlsv1", "tlsv1.2", "tlsv1.3", "url", "user-agent", "verbose", "version",
];

/// Letters of `curl` without a value. With `-n` it sends passwords of `~/.netrc`.
const LETTERS_OF_CURL: &str = "#0123456789GILNSVZafghijklqsv";

/// Letters of `curl` with a value, which for a header may be the name of a file.
const WITH_VALUE_OF_CURL: &str = "AHemry";

/// Returns the dangerous words of one command, as they would be written in a pattern. `in_words` has marks
/// for blanks within a word.
pub(super) fn unlisted(in_words: &str, workspace: &str) -> Vec<String> {
    let mut words = in_words.split(' ').filter(|word| !word.is_empty());
    let program = words.next();
    let words: Vec<&str> = words.collect();
    match program {
        Some("git") => of_git(&words)
            .into_iter()
            .chain(outside_git(&words, workspace))
            .collect(),
        Some("curl") => of_curl(&words),
        Some("http" | "https") => of_httpie(&words),
        _ => Vec::new(),
    }
}

fn of_git(words: &[&str]) -> Vec<String> {
    let at = words.iter().position(|word| !word.starts_with('-'));
    let (in_front, rest) = words.split_at(at.unwrap_or(words.len()));
    let unlisted = in_front.iter().map(|word| name(word));
    let mut found: Vec<String> = unlisted
        .filter(|name| !IN_FRONT_OF_GIT.contains(name))
        .map(|name| format!("git {name}"))
        .collect();
    let Some((subcommand, rest)) = rest.split_first() else {
        return found;
    };
    let line = rest
        .first()
        .map_or_else(|| (*subcommand).to_owned(), |next| format!("{subcommand} {next}"));
    let writes = WRITES_OF_GIT
        .iter()
        .find(|start| *start == subcommand || **start == line);
    found.extend(writes.map(|start| format!("git {start}")));
    found.extend(discards(subcommand, rest).map(|what| format!("git {what}")));
    let letters = LETTERS_OF_GIT.iter().find(|(name, _)| name == subcommand);
    let letters = letters.map_or("", |(_, letters)| letters);
    for word in rest.iter().take_while(|word| **word != "--") {
        let option = match word.strip_prefix("--") {
            Some(_) => Some(name(word).to_owned()).filter(|name| !is_listed(name, LONG_OF_GIT)),
            None => {
                let mut group = word.strip_prefix('-').unwrap_or_default().chars();
                let is_last =
                    |letter: &char| letters.contains(*letter) || WITH_VALUE_OF_GIT.contains(*letter);
                let letter = group.find(is_last).filter(|letter| letters.contains(*letter));
                letter.map(|letter| format!("-{letter}"))
            }
        };
        found.extend(option.map(|option| format!("git {subcommand} {option}")));
    }
    found
}

/// Subcommands of Git that read, make or remove a place outside of the workspace, if a word leads there.
/// `git diff` then compares any two files, as with `--no-index`.
const PLACES_OF_GIT: &[(&str, &str)] = &[
    ("clone", "clone"),
    ("diff", "diff --no-index"),
    ("init", "init"),
    ("mv", "mv"),
    ("worktree", "worktree"),
];

/// Returns what a rule has to name of a Git command with a word that leads out of the workspace.
fn outside_git(words: &[&str], workspace: &str) -> Option<String> {
    let at = words.iter().position(|word| !word.starts_with('-'))?;
    let (_, named) = PLACES_OF_GIT.iter().find(|(name, _)| *name == words[at])?;
    let is_place = |word: &&&str| !word.starts_with('-') && !word.contains("://");
    let outside = words[at + 1..]
        .iter()
        .filter(is_place)
        .find(|word| leaves(word, workspace))?;
    Some(if *named == "diff --no-index" {
        format!("git {named}")
    } else {
        format!("git {named} {}", outside.replace(BLANK, " "))
    })
}

/// Returns what a subcommand of Git with these words destroys as `git checkout -- .` does: it overwrites
/// files that nobody committed.
fn discards(subcommand: &str, rest: &[&str]) -> Option<&'static str> {
    let has = |letters: &[char], option: &str| {
        rest.iter().any(|word| match word.strip_prefix("--") {
            Some(_) => name(word).len() > 3 && option.starts_with(name(word)),
            None => word
                .strip_prefix('-')
                .is_some_and(|group| group.contains(letters)),
        })
    };
    match subcommand {
        "checkout" => {
            // Two words without an option for a new branch are a revision and a file.
            let count = rest.iter().filter(|word| !word.starts_with('-')).count();
            let names_files = count > 1 && !has(&['b', 'B'], "--orphan");
            let makes_branch = has(&['b', 'B'], "--orphan");
            let may_be_file = |word: &&str| !makes_branch && !word.starts_with('-') && !is_revision(word);
            let is_file = |word: &&str| *word == "--" || is_path(word) || may_be_file(word);
            (names_files || rest.iter().any(is_file)).then_some("checkout --")
        }
        "checkout-index" => has(&['f'], "--force").then_some("checkout-index -f"),
        "read-tree" => has(&[], "--reset").then_some("read-tree --reset"),
        _ => None,
    }
}

/// Returns whether a word of `git checkout` is written as no branch can be: `.`, `./`, `:/`, `src/`, `*.rs`.
fn is_path(word: &str) -> bool {
    word.starts_with(['.', ':']) || word.ends_with('/') || word.contains(['*', '?', '['])
}

/// Returns whether a word of `git checkout` is written as branches and commits are, and files are not:
/// `main`, `feature/a`, `origin/main`, `v1.2`, `HEAD~1`, a hash.
fn is_revision(word: &str) -> bool {
    const BRANCHES: &[&str] = &[
        "@",
        "HEAD",
        "dev",
        "develop",
        "development",
        "main",
        "master",
        "next",
        "staging",
        "trunk",
    ];
    const PREFIXES: &[&str] = &[
        "bugfix",
        "chore",
        "dependabot",
        "feat",
        "feature",
        "fix",
        "hotfix",
        "origin",
        "refactor",
        "renovate",
        "upstream",
    ];
    let name = word.split(['~', '^', '@']).next().unwrap_or_default();
    let has_ending = name.rsplit('/').next().is_some_and(|last| last.contains('.'));
    let is_hash = (7..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_version = name.strip_prefix('v').is_some_and(|rest| {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        rest.starts_with(|c: char| c.is_ascii_digit()) && rest.chars().all(is_part)
    });
    let is_below = name
        .split_once('/')
        .is_some_and(|(first, _)| PREFIXES.contains(&first));
    word.starts_with("@{") || BRANCHES.contains(&name) || is_hash || is_version || (is_below && !has_ending)
}

/// Keys of settings of Git that hold no password, by their beginnings.
const PLAIN_KEYS: &[&str] = &["branch.", "core.", "init.", "pull.", "push.", "user."];

/// Returns whether a whole command of Git is harmless, although its beginning is not: it names the remotes,
/// shows one setting, or takes files out of what the next commit has.
pub(crate) fn is_harmless_git(command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    let is_key = |key: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
        PLAIN_KEYS.iter().any(|plain| key.starts_with(plain)) && key.chars().all(is_plain)
    };
    match words.as_slice() {
        ["git", "remote"] => true,
        ["git", "config", key] | ["git", "config", "--get" | "get", key] => is_key(key),
        ["git", "restore", rest @ ..] => {
            let is_staged = |word: &&str| matches!(*word, "--staged" | "-S");
            let mut options = rest.iter().take_while(|word| **word != "--");
            options.any(is_staged)
                && rest
                    .iter()
                    .all(|word| is_staged(word) || *word == "--" || !word.starts_with('-'))
        }
        _ => false,
    }
}

/// The name of an option, without its value.
fn name(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

/// Returns whether a long option is in the list. Turning an option off with `--no-` is harmless, except for
/// the index: Git compares any two files without it.
fn is_listed(option: &str, list: &str) -> bool {
    let name = option.trim_start_matches('-');
    match name.strip_prefix("no-") {
        Some(off) => off.len() > 1 && !"index".starts_with(off),
        None => list.lines().any(|listed| listed == name),
    }
}

fn of_curl(words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for word in words {
        if let Some(long) = word.strip_prefix("--") {
            let is_file = word.contains("=@");
            if is_file || LONG_OF_CURL.binary_search(&name(long)).is_err() {
                found.push(format!("curl {}", name(word)));
            }
        } else if let Some(short) = word.strip_prefix('-').filter(|short| !short.is_empty()) {
            found.extend(letter_of_curl(short).map(|letter| format!("curl -{letter}")));
        } else if word.trim_start_matches(BLANK).starts_with('@') {
            found.push("curl @".to_owned());
        }
    }
    found
}

/// The first letter of a group that is not listed, or has the name of a file as its value.
fn letter_of_curl(group: &str) -> Option<char> {
    for (at, letter) in group.char_indices() {
        if WITH_VALUE_OF_CURL.contains(letter) {
            let value = &group[at + letter.len_utf8()..];
            return value.starts_with('@').then_some(letter);
        }
        if !LETTERS_OF_CURL.contains(letter) {
            return Some(letter);
        }
    }
    None
}

/// `http` sends a file that follows an `@`: `name@file`, `name=@file`, `name:=@file`, `name:@file`, `@file`.
fn of_httpie(words: &[&str]) -> Vec<String> {
    let writes = [
        "--output",
        "--download",
        "--session",
        "--session-read-only",
        "--cert",
        "--cert-key",
    ];
    let is_option = |word: &str| {
        let name = name(word);
        let is_long = name.len() > 2 && name.starts_with("--");
        let short = word.strip_prefix('-').filter(|short| !short.starts_with('-'));
        is_long && writes.iter().any(|option| option.starts_with(name))
            || short.is_some_and(|short| short.contains(['o', 'd']))
    };
    let unlisted = words.iter().filter_map(|word| {
        let what = if word.contains('@') {
            Some("@")
        } else {
            Some(name(word)).filter(|_| is_option(word))
        };
        what.map(|what| format!("http {what}"))
    });
    unlisted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_so_that_each_entry_is_found() {
        assert!(LONG_OF_GIT.lines().is_sorted() && LONG_OF_CURL.is_sorted());
    }

    #[test]
    fn few_commands_of_git_are_harmless_although_their_beginning_is_not() {
        for command in [
            "git remote",
            "git config user.name",
            "git config --get user.email",
            "git config get init.defaultBranch",
            "git restore --staged a.rs",
            "git restore -S -- a.rs b.rs",
        ] {
            assert!(is_harmless_git(command), "{command}");
        }
        for command in [
            "git remote add x y",
            "git config user.name x",
            "git config user.name ",
            "git config user.$X",
            "git config http.extraHeader",
            "git config --get remote.origin.url",
            "git config --list",
            "git restore a.rs",
            "git restore -- --staged",
            "git restore --staged -W a.rs",
            "git restore --staged --worktree a.rs",
            "git restore --staged --no-staged a.rs",
        ] {
            assert!(!is_harmless_git(command), "{command}");
        }
    }

    #[test]
    fn an_option_that_is_not_listed_is_dangerous() {
        for (command, found) in [
            ("git log --oneline -5 --author=x --no-merges -- --output", None),
            ("git commit -am fix -mFt", None),
            ("git commit -m --output", Some("git commit --output")),
            ("git diff --no-index a b", Some("git diff --no-index")),
            ("git --no-pager log", None),
            ("git --exec-path=x log", Some("git --exec-path")),
            ("git rev-list --outp=x HEAD", Some("git rev-list --outp")),
            ("git format-patch -1 -ox", Some("git format-patch -o")),
            ("git init --template=t", Some("git init --template")),
            ("git bundle create x HEAD", Some("git bundle create")),
            ("git bundle verify x", None),
            ("git checkout .", Some("git checkout --")),
            ("git checkout ./", Some("git checkout --")),
            ("git checkout :/", Some("git checkout --")),
            ("git checkout src/", Some("git checkout --")),
            ("git checkout HEAD .", Some("git checkout --")),
            ("git checkout HEAD a.rs", Some("git checkout --")),
            ("git checkout HEAD -- a.rs", Some("git checkout --")),
            ("git checkout main", None),
            ("git checkout README.md", Some("git checkout --")),
            ("git checkout -q src", Some("git checkout --")),
            ("git checkout src/main.rs", Some("git checkout --")),
            ("git checkout v1.2", None),
            ("git checkout HEAD~1", None),
            ("git checkout 0123abc", None),
            ("git checkout -", None),
            ("git diff empty ~", Some("git diff --no-index")),
            ("git diff /dev/null ../x", Some("git diff --no-index")),
            ("git diff -- a /etc/hosts", Some("git diff --no-index")),
            ("git diff main..HEAD /ws/a", None),
            ("git worktree add ../x", Some("git worktree ../x")),
            ("git init ~/x", Some("git init ~/x")),
            ("git clone https://x.example/a", None),
            ("git log --author=a", None),
            ("git checkout -b new main", None),
            ("git checkout feature/a", None),
            ("git checkout-index -f -a", Some("git checkout-index -f")),
            ("git checkout-index --forc a", Some("git checkout-index -f")),
            ("git read-tree -u --reset HEAD", Some("git read-tree --reset")),
            ("git read-tree HEAD", None),
            ("curl -fsSL https://x.example", None),
            ("curl -sH Accept:x https://x.example", None),
            ("curl -sH@f https://x.example", Some("curl -H")),
            ("curl -H @f https://x.example", Some("curl @")),
            ("curl --url-query @f https://x.example", Some("curl --url-query")),
            ("curl --cert f https://x.example", Some("curl --cert")),
            ("http x.example a@f", Some("http @")),
            ("http x.example a=b", None),
        ] {
            assert_eq!(
                unlisted(command, "/ws").first().map(String::as_str),
                found,
                "{command}"
            );
        }
    }
}
