//! Programs that act on a folder with everything in it, so that a line can copy, replace, link or print a
//! file without its name.
//!
//! `cp -r ~/.local/share here` copies keys that no word names, and `cp -r new/agentx ~/.config` replaces
//! settings; `prettier .` prints each file. The folders that such a command names are therefore noted
//! separately (`CommandAnalysis::folders_taken`), for guarded files and for rules by path. Programs that run
//! other code can open any file; only a sandbox prevents that.

use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::programs::subcommands::options_before_subcommand;
use crate::commands::command_analysis::programs::wrapper_commands::basename;

/// Programs that copy, move, link, pack, mount, remove, send, search, or change the owner of whole folders.
#[rustfmt::skip]
const ALWAYS: &[&str] = &[
    "7z", "7za", "7zr", "ack", "ag", "aws", "bindfs", "borg", "bsdtar", "chgrp", "chmod", "chown", "cp", "cpio", "ditto", "docker",
    "gcp", "gsutil", "install", "link", "ln", "mount", "mv", "nerdctl", "pax", "podman", "rar", "rclone", "restic", "rg", "ripgrep",
    "rm", "rsync", "s3cmd", "scp", "setfacl", "sftp", "tar", "trash", "ugrep", "unrar", "unzip", "zip",
];

/// Formatters and checkers, which print parts of the files below the folders that they name.
const PRINTS: &[&str] = &[
    "autopep8", "biome", "black", "gofmt", "isort", "mypy", "prettier", "ruff", "yapf",
];

/// Programs that run one of them by its name in a project.
#[rustfmt::skip]
const RUNS_OF_PROJECT: &[&str] = &[
    "bun", "bunx", "hatch", "npm", "npx", "pdm", "pipenv", "pn", "pnpm", "pnpx", "poetry", "uv", "uvx", "yarn", "yarnpkg",
];

/// Programs that do so only with an option.
const IF_RECURSIVE: &[&str] = &["grep", "egrep", "fgrep", "ggrep", "zgrep", "diff"];

/// Programs that mount folders of this machine: `-v FOLDER:PLACE`,
/// `--mount type=bind,source=FOLDER,target=PLACE`.
const MOUNTS: &[&str] = &["docker", "nerdctl", "podman"];

/// Options with which `find` and `fd` open, change or remove the files that they find.
const FINDS_AND: &[&str] = &[
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-delete",
    "-x",
    "-X",
    "--exec",
    "--exec-batch",
];

/// Programs that write or replace the files that their words name, or make them executable.
#[rustfmt::skip]
const WRITES: &[&str] = &[
    "bsdtar", "chmod", "cp", "cpio", "dd", "ditto", "gcp", "install", "link", "ln", "mv", "patch", "pax", "rsync", "scp", "sftp", "tar",
    "tee", "truncate", "unrar", "unzip", "7z", "7za", "7zr",
];

/// Subcommands of Git that write the files that their words name.
const WRITES_OF_GIT: &[&str] = &["checkout", "checkout-index", "mv", "restore"];

/// Returns whether a command, without the commands before it, acts on everything in the folders that it
/// names.
pub(crate) fn takes_whole_folders(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let has = |is_it: &dyn Fn(&str) -> bool| arguments.iter().any(|word| is_it(&word.text));
    match basename(&program.text) {
        name if ALWAYS.contains(&name) => true,
        name if IF_RECURSIVE.contains(&name) => has(&is_recursive),
        "find" | "fd" | "fdfind" => has(&|word| FINDS_AND.contains(&word)),
        "git" => has(&|word| word.starts_with("--no-in")) || compares_places(words),
        _ => behind_printer(words).is_some(),
    }
}

/// Returns whether `git diff` compares a place that may be outside of the repository, which it does as with
/// `--no-index`.
fn compares_places(words: &[Word]) -> bool {
    let behind = words
        .get(1 + options_before_subcommand(words)..)
        .unwrap_or_default();
    let leads_out = |word: &Word| {
        let text = word.text.as_str();
        text.starts_with(['/', '~', '$']) || text.split('/').any(|part| part == "..")
    };
    match behind.split_first() {
        Some((subcommand, rest)) => subcommand.text == "diff" && rest.iter().any(leads_out),
        None => false,
    }
}

/// Returns the words behind a formatter or checker that a command runs, also by `npx` or `python -m`.
pub(crate) fn behind_printer(words: &[Word]) -> Option<&[Word]> {
    let program = basename(&words.first()?.text);
    let may_run = RUNS_OF_PROJECT.contains(&program) || program.starts_with("python");
    let followed = if may_run { words.len() } else { 1 };
    let is_printer = |word: &Word| PRINTS.contains(&basename(&word.text));
    let at = words[..followed].iter().position(is_printer)?;
    words.get(at + 1..)
}

/// Returns the folders in which a formatter looks for the globs that it expands itself:
/// `prettier 'src/**/*.ts'`.
pub(crate) fn folders_of_globs(words: &[Word]) -> Vec<String> {
    let words = behind_printer(words).unwrap_or_default();
    let before_glob = |word: &Word| {
        let at = word.text.find(['*', '?', '[', '{'])?;
        let (folder, _) = word.text[..at].rsplit_once('/').unwrap_or((".", ""));
        Some(if folder.is_empty() { "/" } else { folder }.to_owned())
    };
    let plain = words.iter().filter(|word| !word.text.starts_with('-'));
    plain.filter_map(before_glob).collect()
}

/// Returns the parts of the words of a command that may be folders that it mounts.
pub(crate) fn mounted_folders(words: &[Word]) -> Vec<String> {
    let mounts = words
        .first()
        .is_some_and(|program| MOUNTS.contains(&basename(&program.text)));
    let mut parts = Vec::new();
    for word in words.iter().filter(|_| mounts) {
        let names = std::iter::once(word.text.clone()).chain(word.names());
        for name in names.filter(|name| name.contains([':', '='])) {
            parts.extend(
                name.split([':', '=', ','])
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned),
            );
        }
    }
    parts
}

/// Returns whether a command, without the commands before it, may write the files that it names.
pub(crate) fn writes_what_it_names(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    match basename(&program.text) {
        "git" => arguments
            .get(options_before_subcommand(words))
            .is_some_and(|word| WRITES_OF_GIT.contains(&word.text.as_str())),
        name => WRITES.contains(&name),
    }
}

/// Returns whether an option makes `grep` or `diff` look into folders.
fn is_recursive(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    letters.is_some_and(|letters| letters.contains(['r', 'R']))
        || word.starts_with("--rec")
        || word.starts_with("--deref")
        || word.starts_with("--dir")
}
