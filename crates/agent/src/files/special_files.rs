//! Files of a command line about which no judge decides: those outside of the workspace, those that programs
//! run or agents read by themselves, and those that cannot be known from the line.
//!
//! Analyzers and judges look at lines here ([`crate::security`]). A tool with a path is judged by that path;
//! a line is judged by every name that it has, so a wrong name costs a question, and a missed one may change
//! what runs. A program that computes a name is not seen; only a sandbox holds it.

use std::collections::BTreeSet;

use agentx_types::shortened;

use super::auto_run_files::{
    hides_a_dot, is_around_ci, is_guarded_as, is_guarded_word_as, is_instructions_as, may_be_guarded,
};
use crate::commands::command_analysis::{ANYTHING, CommandAnalysis, STAR, basename};
use crate::pattern::{is_within, normalize};

/// Maximum number of characters of a name in a reason.
const NAME_CHARS: usize = 160;

/// Maximum number of addresses in one word that are known as such.
const MOST_SCHEMES: usize = 4;

/// Devices that hold no file of anybody.
const STREAMS: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
];

/// Ways to write the home directory in a word.
const HOMES: &[&str] = &["$HOME", "${HOME}"];

/// The reason why a person has to see the files of a line; `None` if all of them are known to be ordinary
/// files of the workspace. `version` is that of the rules.
pub(crate) fn special_reason(reading: &CommandAnalysis, workspace: &str, version: u32) -> Option<String> {
    let is_unknown = reading.hides || reading.unnamed || reading.beyond_stars;
    if is_unknown || reading.globs.iter().any(|name| name.contains(ANYTHING)) {
        return Some("which files it opens cannot be known from the line".to_owned());
    }
    let named = reading.paths.iter().chain(&reading.globs);
    let addresses = addresses(reading);
    if let Some(reason) = named
        .filter(|path| !is_part_of_address(path, &addresses))
        .find_map(|path| reason_of(path, workspace, version))
    {
        return Some(reason);
    }
    let names_home = |command: &String| HOMES.iter().any(|home| command.contains(*home));
    if reading.commands.iter().any(names_home) {
        return Some("it names the home directory, outside of the workspace".to_owned());
    }
    if reading.may_leave_directory(workspace, workspace) {
        return Some("it may go to a folder outside of the workspace".to_owned());
    }
    if reading.commands.iter().any(|command| unpacks(command)) {
        return Some("it writes files whose names the line does not show".to_owned());
    }
    let command = reading
        .commands
        .iter()
        .find(|command| changes_git_settings(command))?;
    Some(format!(
        "`{}` changes settings by which Git may run programs",
        shown(command)
    ))
}

/// The reason why a person has to see this path or glob of a line.
pub(crate) fn reason_of(path: &str, workspace: &str, version: u32) -> Option<String> {
    if is_outside(path, workspace) {
        return Some(format!("{} is outside of the workspace", shown(path)));
    }
    let place = normalize(workspace, path);
    // `config` alone may be a subcommand, and `HEAD` a revision.
    let is_word = is_guarded_word_as(path, version);
    let is_run = (is_word && is_guarded_as(&place, version))
        || is_instructions_as(&place, version)
        || is_around_ci(&place)
        || hides_a_dot(&place)
        || (place.contains(STAR) && may_be_guarded(&place));
    is_run.then(|| format!("programs or agents read {} by themselves", shown(path)))
}

/// Returns whether a path or a glob leads out of the workspace. Devices without content do not count.
pub(crate) fn is_outside(path: &str, workspace: &str) -> bool {
    if path.starts_with('~') || HOMES.iter().any(|home| path.starts_with(*home)) {
        return true;
    }
    let place = normalize(workspace, path);
    !is_within(workspace, &place) && !STREAMS.contains(&place.as_str())
}

/// The parts of the addresses of a line behind their schemes, without those of files: `//docs.rs/x`.
pub(crate) fn addresses(reading: &CommandAnalysis) -> BTreeSet<&str> {
    let behind_schemes = reading.paths.iter().flat_map(|path| {
        let schemes = path.match_indices("://").take(MOST_SCHEMES);
        let of_hosts = schemes.filter(move |(at, _)| !path[..*at].to_ascii_lowercase().ends_with("file"));
        of_hosts.map(move |(at, _)| &path[at + 1..])
    });
    behind_schemes.collect()
}

/// Returns whether a name is one of these parts of addresses. A path that begins with two slashes is a file
/// too, so the part has to look like a host.
pub(crate) fn is_part_of_address(name: &str, addresses: &BTreeSet<&str>) -> bool {
    let Some(rest) = name.strip_prefix("//") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_host =
        host == "localhost" || (host.contains(['.', ':']) && host.starts_with(char::is_alphanumeric));
    let goes_up = rest.split('/').any(|part| part == "..");
    is_host && !goes_up && addresses.contains(name)
}

/// Returns whether a command writes the files that an archive or a patch names.
fn unpacks(command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    let Some((program, words)) = words.split_first() else {
        return false;
    };
    // The letters of the first word of `tar` are options without a dash, too.
    let extracts = |(at, word): (usize, &&str)| match word.strip_prefix("--") {
        Some(name) => name == "extract" || name == "get",
        None => (at == 0 || word.starts_with('-')) && word.contains('x'),
    };
    match basename(program) {
        "7z" | "7za" | "7zr" | "cpio" | "patch" | "pax" | "unrar" | "unzip" => true,
        "bsdtar" | "gtar" | "tar" => words.iter().enumerate().any(extracts),
        "git" => matches!(words.first(), Some(&("am" | "apply"))),
        _ => false,
    }
}

/// Returns whether a command of Git sets something in a file of settings, with whichever options.
fn changes_git_settings(command: &str) -> bool {
    const SHOWS: &[&str] = &[
        "-l",
        "--list",
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
    ];
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    if words.next() != Some("git") || words.next() != Some("config") {
        return false;
    }
    let rest: Vec<&str> = words.collect();
    let mut options = rest.iter().take_while(|word| **word != "--");
    let only_shows =
        matches!(rest.first(), Some(&("get" | "list"))) || options.any(|word| SHOWS.contains(word));
    rest.len() > 1 && !only_shows
}

/// A name as a person reads it: a glob's star as `*`, an unknown part as `…`.
fn shown(name: &str) -> String {
    shortened(&name.replace(STAR, "*").replace(ANYTHING, "…"), NAME_CHARS)
}

#[cfg(test)]
mod tests {
    use agentx_types::RULES_VERSION;

    use super::*;
    use crate::commands::command_analysis::read;

    fn reason(line: &str) -> Option<String> {
        special_reason(&read(line), "/ws", RULES_VERSION)
    }

    #[test]
    #[rustfmt::skip]
    fn a_line_with_a_special_or_unknown_file_has_a_reason() {
        for line in [
            "echo x > .git/hooks/pre-commit", "echo x >> ~/.bashrc", "echo x > ~/.gitconfig", "echo x > AGENTS.md",
            "cp a.rs .github/workflows/x.yml", "cat ../other/notes.txt", "curl -d @../other/notes.txt http://a.example",
            "cd .git/hooks && cp ../../a pre-commit", "cd .. && ls", "cat $HOME/a", "tar -cC$HOME .", "cat \"$F\"",
            "echo x > $F", "cp x AGENT*", "cp a .github/w*/x.yml", "cp a .g*/config", "cat *", "cat .*/a",
            "find src | xargs cat", "git config core.hooksPath hooks", "git config --global a.b c", "sh -c 'cat ../x'",
            "$TOOL run", "python3 -c \"open('../x')\"", "curl file:///etc/hosts", "cat //etc/hosts", "cp a CLAUDE.md",
            "cat //../etc/hosts https://../etc/hosts", "sed -i s/a/b/ Jenkinsfile", "cat /srv/a", "cat a/../../b",
            "cat <../x", "tee .envrc <a", "cat {a,../b}", "curl -o .git/config https://a.example/x",
            "tar xf a.tar", "tar -C sub --extract -f a.tar", "unzip a.zip", "patch -p1 <a.patch", "git apply a.patch",
            "mv d .github", "echo x >& ../a", "cat /proc/self/cwd/../a", "cd", "ls ~",
        ] {
            assert!(reason(line).is_some(), "{line}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn a_line_with_ordinary_files_of_the_workspace_has_none() {
        for line in [
            "cargo test", "cargo test 2>&1 | tail -20", "mkdir -p out/a", "cp src/a.rs src/b.rs", "echo x > notes.txt",
            "rm src/*.rs", "curl https://a.example/x", "curl -s https://a.example:8080/x > out.json", "cargo test > /dev/null",
            "cd sub && cargo test", "cd /ws/sub && cargo test", "git config --get user.name", "git config user.name", "echo \"$x\"",
            "python3 tests/run.py", "sed -i s/a/b/ src/a.rs", "git status && git diff",
            "tar -czf a.tgz src", "git add src/a.rs",
        ] {
            assert_eq!(reason(line), None, "{line}");
        }
    }

    #[test]
    fn only_the_addresses_of_a_line_are_told_from_its_files() {
        for (line, is_told) in [
            ("curl https://a.example/x", true),
            (
                "curl -d u=https://a.example/?v=http://b.example/ https://c.example",
                true,
            ),
            ("curl https://a.example/x //a.example/y", false),
            ("curl FILE://a.example/x", false),
            ("curl https://../x", false),
        ] {
            assert_eq!(reason(line).is_none(), is_told, "{line}: {:?}", reason(line));
        }
    }

    #[test]
    fn a_reason_names_the_file() {
        let says = |line, part| assert!(reason(line).is_some_and(|said| said.contains(part)), "{line}");
        says("cat ../a", "../a is outside of the workspace");
        says("cp a AGENT*", "agents read AGENT* by themselves");
        says("cat $F", "cannot be known");
    }
}
