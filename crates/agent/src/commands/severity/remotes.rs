//! The repositories that a Git command talks to. If such a repository is on this machine, `git push` runs its
//! hooks, which nobody has seen. So no star matches a path, or a name that is not known to lead to another
//! machine.
//!
//! | word | counts as |
//! | --- | --- |
//! | `https://host/x`, `git@host:x`, other addresses of `SCHEMES` | another machine |
//! | a name of `GitRemotes::names` | another machine |
//! | `/x`, `./x`, `file:///x`, a name that is not known, a variable | perhaps this machine |
//! | no word | what `GitRemotes::may_be_paths` says |
//!
//! From version 9 of the rules on.

use agentx_types::{GitRemotes, since};

use crate::commands::command_analysis::{OF_GIT, read_as};

/// Subcommands that talk with another repository, each with the letters of the options that take the next
/// word.
const COMMANDS: &[(&str, &str)] = &[
    ("clone", "obucj"),
    ("fetch", "oj"),
    ("ls-remote", "o"),
    ("pull", "ojsX"),
    ("push", "o"),
];

/// Long options of these that take the next word.
#[rustfmt::skip]
const WITH_VALUE: &[&str] = &[
    "--branch", "--bundle-uri", "--config", "--deepen", "--depth", "--exec", "--filter", "--jobs", "--negotiation-tip",
    "--origin", "--push-option", "--receive-pack", "--recurse-submodules-default", "--ref-format", "--reference",
    "--reference-if-able", "--refmap", "--repo", "--revision", "--separate-git-dir", "--server-option", "--shallow-exclude",
    "--shallow-since", "--sort", "--strategy", "--strategy-option", "--submodule-prefix", "--template",
    "--upload-pack",
];

/// Schemes of addresses on other machines.
const SCHEMES: &[&str] = &[
    "ftp",
    "ftps",
    "git",
    "git+https",
    "git+ssh",
    "http",
    "https",
    "ssh",
    "ssh+git",
];

/// Returns the remote of a command, with its subcommand, that the pattern does not name before its first
/// star. `remotes` has the remotes of the workspace's repository, if they are known.
pub(crate) fn unnamed_remote(
    pattern: &str,
    command: &str,
    remotes: Option<&GitRemotes>,
    version: u32,
) -> Option<String> {
    let said = pattern.replace("\\*", "\u{1}");
    let (head, _) = said.split_once('*')?;
    if version < since::REMOTES_ARE_NAMED {
        return None;
    }
    let named = used(head, version);
    let mut open = used(command, version)
        .into_iter()
        .filter(|remote| remote.is_unclear(remotes) && !(remote.word.is_some() && named.contains(remote)));
    open.next().map(|remote| remote.shown())
}

/// Returns whether an address that a setting holds leads to another machine.
///
/// ```
/// use agentx_agent::leads_elsewhere;
/// assert!(leads_elsewhere("https://example.com/x") && leads_elsewhere("git@example.com:x/y"));
/// assert!(!leads_elsewhere("../x") && !leads_elsewhere("file:///x") && !leads_elsewhere("ext::sh"));
/// ```
pub fn leads_elsewhere(address: &str) -> bool {
    if address.contains("::") || address.to_ascii_lowercase().starts_with("file:") {
        return false;
    }
    match address.split_once("://") {
        Some((scheme, _)) => SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()),
        // `host:path`; a single letter is a drive.
        None => address
            .split_once(':')
            .is_some_and(|(host, _)| host.chars().count() > 1 && !host.contains('/')),
    }
}

/// A repository that a command talks with.
#[derive(PartialEq, Eq)]
struct Remote {
    subcommand: &'static str,
    /// Its name, address or path; `None` for the one that the settings choose.
    word: Option<String>,
}

impl Remote {
    /// Returns whether the repository may be on this machine. If the settings were not read, a name or a
    /// missing word decides nothing.
    fn is_unclear(&self, remotes: Option<&GitRemotes>) -> bool {
        let Some(word) = &self.word else {
            return remotes.is_some_and(|remotes| remotes.may_be_paths);
        };
        let is_name =
            self.subcommand != "clone" && !word.contains(['/', '\\', ':']) && !word.starts_with(['.', '~']);
        if is_name {
            return remotes.is_some_and(|remotes| !remotes.names.contains(word));
        }
        !leads_elsewhere(word)
    }

    /// The part of the command that a rule has to name.
    fn shown(&self) -> String {
        match &self.word {
            Some(word) => format!("git {} {word}", self.subcommand),
            None => format!("git {}", self.subcommand),
        }
    }
}

/// The remotes of all commands of a line.
fn used(line: &str, version: u32) -> Vec<Remote> {
    let commands = read_as(line, version).in_words;
    commands.iter().flat_map(|command| of_command(command)).collect()
}

/// The remotes of one command; none if it is not Git or talks with no other repository.
fn of_command(in_words: &str) -> Vec<Remote> {
    let mut words = in_words.split(' ').filter(|word| !word.is_empty());
    if words.next() != Some("git") {
        return Vec::new();
    }
    let subcommand = loop {
        match words.next() {
            Some(word) if OF_GIT.contains(&word) => _ = words.next(),
            Some(word) if word.starts_with('-') => {}
            Some(word) => break word,
            None => return Vec::new(),
        }
    };
    let Some((subcommand, letters)) = COMMANDS.iter().find(|(name, _)| *name == subcommand) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut takes_all = false;
    while let Some(word) = words.next() {
        if word == "--" {
            found.extend(words.by_ref().take(1).map(str::to_owned));
            break;
        } else if !word.starts_with('-') {
            found.push(word.to_owned());
            if !takes_all {
                break;
            }
        } else if takes_next(word, letters) {
            words.next();
        }
        // With these, each word is the name of a remote.
        takes_all |= *subcommand != "push" && matches!(word, "--all" | "--multiple");
    }
    let is_default = (found.is_empty() || takes_all) && *subcommand != "clone";
    let words = found.into_iter().map(Some).chain(is_default.then_some(None));
    words.map(|word| Remote { subcommand, word }).collect()
}

/// Returns whether the next word is the value of this option.
fn takes_next(option: &str, letters: &str) -> bool {
    match option.strip_prefix("--") {
        Some(_) => WITH_VALUE.contains(&option),
        None => {
            let value = option.find(|c| letters.contains(c));
            value.is_some_and(|at| at + 1 == option.len())
        }
    }
}
