//! Files of the folder that a command in Git's settings runs: `sh tools/clean.sh`. The command stays the
//! same when such a file changes, so the file is a part of what is accepted.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::repository_files::{MAX_BYTES, readable};
use crate::digest::digest;
use crate::directory_listing::Listing;

/// The text before the hash of a folder, if a command counts with the whole folder.
const ANY_FILE: &str = " (may run any file of this folder,";
/// The text before the folder around hooks and its hash.
pub(super) const AROUND_HOOKS: &str = " with everything in ";
/// The digits of a hash, and those that a question shows.
const DIGITS: usize = 64;
const SHOWN_DIGITS: usize = 12;

/// Returns the note that a command may run any file of a folder, with the hash of all files.
pub(super) fn any_file_of(top: &Path) -> String {
    format!("{ANY_FILE} {})", hash_of_all(top, top))
}

/// Returns the text after a name, as a question shows it: with the first digits of the hash at its end. Other
/// digits may be the name of a file, so they are shown in full.
pub(super) fn with_short_hash(rest: &str) -> String {
    let text = rest.strip_suffix(')').unwrap_or(rest);
    let end = &rest[text.len()..];
    let Some((before, hash)) = text.rsplit_once(' ') else {
        return rest.to_owned();
    };
    let is_ours = before.is_empty() || before.starts_with(AROUND_HOOKS) || before.ends_with(ANY_FILE);
    let is_hash = hash.len() == DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match hash.get(..SHOWN_DIGITS) {
        Some(digits) if is_ours && is_hash => format!("{before} {digits}{end}"),
        _ => rest.to_owned(),
    }
}

/// For hooks in the working tree, returns the topmost folder around them with the hash of everything in it,
/// because hooks read files beside them. `None` for hooks in the `.git` of a repository.
pub(super) fn around_hooks(top: &Path, hooks: &Path) -> Option<(String, String)> {
    let (top, hooks) = (
        std::fs::canonicalize(top).ok()?,
        std::fs::canonicalize(hooks).ok()?,
    );
    let first = match hooks.strip_prefix(&top).ok()?.components().next() {
        Some(Component::Normal(first)) if first == ".git" => return None,
        Some(first) => PathBuf::from(first.as_os_str()),
        None => PathBuf::from("."),
    };
    let hash = hash_of_all(&top.join(&first), &top);
    Some((first.to_string_lossy().into_owned(), hash))
}

fn hash_of_all(directory: &Path, top: &Path) -> String {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    digest(Listing::of(&real(directory), &real(top)).text.as_bytes())
}

/// The maximum number of different words of a command, or of a hook, that are checked.
const MAX_WORDS: usize = 10_000;

/// The files below `top` that words of a command or of a hook name, each with a hash of its content. Git runs
/// commands of its settings in the top folder of the working tree.
pub(super) fn named_in(top: &Path, command: &str) -> Vec<(String, String)> {
    let is_between = |c: char| c.is_whitespace() || "\"'`;|&()<>{}=,!".contains(c);
    let words = command.split(is_between);
    let named: BTreeSet<&str> = words.filter(|word| !word.is_empty()).take(MAX_WORDS).collect();
    named
        .into_iter()
        .filter_map(|word| {
            let path = top.join(word);
            // An absolute path leads to the person's own programs, unless it is one of this folder.
            let is_file = path.starts_with(top) && path.is_file();
            let hash = || match readable(&path, MAX_BYTES) {
                Ok(bytes) => digest(&bytes.unwrap_or_default()),
                Err(why) => why,
            };
            is_file.then(|| (word.to_owned(), hash()))
        })
        .collect()
}
