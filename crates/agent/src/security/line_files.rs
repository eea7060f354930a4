//! Command lines that write files of others, or send files: reasons for the highest risk.
//!
//! A file outside of the workspace belongs to others, and so does one that programs run or agents read by
//! themselves. The lists name common programs; a program that is not listed may write and send anything.

use agentx_types::RULES_VERSION;

use crate::commands::command_analysis::{CommandAnalysis, basename};
use crate::commands::command_split::take_apart;
use crate::files::special_files::{addresses, is_outside, is_part_of_address, reason_of};
use crate::pattern::{is_within, normalize};

/// Folders outside of the workspace in which anything may be written.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp"];
/// Programs that edit the files that they name, with an option.
const EDITORS: &[&str] = &["sed", "gsed", "perl", "ruby"];
/// Programs that copy files to another machine, which a target with a colon names.
const COPIERS: &[&str] = &["scp", "rsync", "rclone", "rcp"];
/// Programs that send what they read.
const PIPES: &[&str] = &["nc", "ncat", "netcat", "socat", "telnet", "ssh"];
/// Programs that send a file which a word such as `name@file` names.
const MARKERS: &[&str] = &["http", "https", "xh"];
/// Programs that send a file to a store, which an address names.
const STORES: &[&str] = &["aws", "gsutil", "s3cmd"];

/// Long options of `curl` and `wget` whose value is a file to send.
const UPLOADS: &[&str] = &["--upload-file", "--post-file", "--body-file"];
/// Long options whose value may name a file to send, behind `@` or `<`.
const DATA: &[&str] = &[
    "--data",
    "--data-ascii",
    "--data-binary",
    "--data-urlencode",
    "--form",
    "--json",
];
/// Letters of options of `curl` without a value, which may stand in front of one with a value.
const PLAIN_LETTERS: &str = "sSfLkvgiIjlnNOqR#0123456";

/// The reason if a line writes a file of others. If it fetches something, each file that it names counts,
/// because an option names the file to write.
pub(super) fn written_file(reading: &CommandAnalysis, fetches: bool, workspace: &str) -> Option<String> {
    let edits = reading.commands.iter().any(|command| edits_in_place(command));
    let mut named: Vec<&String> = reading.files_written.iter().collect();
    if edits || fetches {
        named.extend(reading.paths.iter().chain(&reading.globs));
    }
    let is_scratch = |path: &str| {
        let place = normalize(workspace, path);
        is_outside(path, workspace) && SCRATCH.iter().any(|scratch| is_within(scratch, &place))
    };
    let addresses = addresses(reading);
    let reason = named
        .into_iter()
        .filter(|path| !is_part_of_address(path, &addresses) && !is_scratch(path))
        .find_map(|path| reason_of(path, workspace, RULES_VERSION))?;
    Some(format!("it writes files, or sends them, and {reason}"))
}

/// The reason if a line sends a file to another machine.
pub(super) fn sent_file(line: &str, reading: &CommandAnalysis) -> Option<String> {
    let command = reading.commands.iter().find(|command| sends(command));
    let piped = || fed_sender(line, reading);
    let program = command
        .and_then(|command| command.split(' ').next())
        .map(|program| basename(program).to_owned())
        .or_else(piped)?;
    Some(format!("`{program}` sends a file to another machine"))
}

/// Returns whether a command edits the files that it names.
fn edits_in_place(command: &str) -> bool {
    let mut words = command.split(' ');
    let is_editor = words
        .next()
        .is_some_and(|program| EDITORS.contains(&basename(program)));
    is_editor
        && words.any(|word| {
            let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            word.starts_with("--in-place") || letters.is_some_and(|letters| letters.contains('i'))
        })
}

/// Returns whether a command names a file that it sends.
fn sends(command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    let Some((program, words)) = words.split_first() else {
        return false;
    };
    let last = words.iter().rfind(|word| !word.starts_with('-'));
    let names_machine = |word: &&str| {
        let host = word.split('/').next().unwrap_or_default();
        host.contains(':')
    };
    match basename(program) {
        "curl" | "wget" => uploads(words, basename(program) == "curl"),
        name if MARKERS.contains(&name) => {
            let is_file = |word: &&str| word.contains('@') && !word.contains("://") && !word.starts_with('-');
            words.iter().any(is_file)
        }
        name if COPIERS.contains(&name) => last.is_some_and(names_machine),
        name if STORES.contains(&name) => last.is_some_and(|word| word.contains("://")),
        _ => false,
    }
}

/// Returns whether options of `curl` or `wget` name a file to send.
fn uploads(words: &[&str], is_curl: bool) -> bool {
    let is_file = |value: &str| {
        let value = value.trim_matches(['"', '\'']);
        value.starts_with('@') || value.contains("=@") || value.contains("=<")
    };
    let is_option = |(at, word): (usize, &&str)| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        if word.starts_with("--") {
            let (name, value) = word.split_once('=').unwrap_or((*word, next));
            let is_encoded = name == "--data-urlencode" && value.contains('@');
            return UPLOADS.contains(&name) || (DATA.contains(&name) && (is_file(value) || is_encoded));
        }
        let letters = word.strip_prefix('-').filter(|_| is_curl).unwrap_or_default();
        let rest = letters.trim_start_matches(|c: char| PLAIN_LETTERS.contains(c));
        let value = |rest: &str| match rest {
            "" => is_file(next),
            attached => is_file(attached),
        };
        match rest.split_at_checked(1) {
            Some(("T", _)) => true,
            Some(("d" | "F", attached)) => value(attached),
            _ => false,
        }
    };
    words.iter().enumerate().any(is_option)
}

/// The program that sends what it reads from a file or from another program.
fn fed_sender(line: &str, reading: &CommandAnalysis) -> Option<String> {
    let sender_of = |command: &str| {
        let program = basename(command.split(' ').next().unwrap_or_default());
        PIPES.contains(&program).then(|| program.to_owned())
    };
    let split = take_apart(line);
    let fed = split.fed.iter().filter_map(|at| split.commands.get(*at));
    let piped = fed.map(String::as_str).find_map(sender_of);
    // A here document is part of the line, and no file.
    let reads_file = || {
        line.split("<<")
            .any(|part| part.trim_start_matches('<').contains('<'))
    };
    let redirected = || {
        let mut commands = reading.commands.iter().map(String::as_str);
        commands.find_map(sender_of).filter(|_| reads_file())
    };
    piped.or_else(redirected)
}
