//! The hooks of a repository. In its folder of hooks, Git runs only files that have the name of a hook.
//! AgentX does not ask about files that an editor or a merge left beside them, unless a hook may run them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::repository_files::{MAX_BYTES, is_absent, plain, readable};
use super::scripts;
use crate::digest::digest;

/// The maximum number of hooks to check.
pub(super) const MAX_HOOKS: usize = 200;

/// Ends of names that no hook has: samples of Git, and what editors, merges and patches leave behind.
const LEFT_BEHIND: &[&str] = &[
    ".bak", ".old", ".orig", ".rej", ".sample", ".save", ".swn", ".swo", ".swp", ".tmp", "~", BUFFER,
];

/// Marks the files that Emacs leaves behind: `#pre-commit#`, `.#pre-commit`.
const BUFFER: &str = "#";

/// The hooks of a folder.
#[derive(Default)]
pub(super) struct Hooks {
    /// Their names, each with a hash of its content.
    pub(super) found: Vec<(String, String)>,
    /// Whether there are more than the checked ones.
    pub(super) has_more: bool,
}

/// Reads the hooks in a folder, and the files below `top` that they name. A folder that does not exist has
/// none.
///
/// # Errors
/// Returns an error if it cannot be read.
pub(super) fn of(folder: &Path, top: &Path) -> Result<Hooks, ()> {
    let files = match std::fs::read_dir(folder) {
        Ok(files) => files,
        Err(error) if is_absent(&error) => return Ok(Hooks::default()),
        Err(_) => return Err(()),
    };
    let files = files.flatten().map(|file| file.path());
    let (left, mut hooks): (Vec<PathBuf>, Vec<PathBuf>) = files
        .filter(|file| !file.is_dir())
        .partition(|file| kind_of(&name_of(file)).is_some());
    let mut has_more = hooks.len() > MAX_HOOKS;
    hooks.truncate(MAX_HOOKS);
    let (mut found, mut named) = (Vec::new(), BTreeSet::<&str>::new());
    for hook in &hooks {
        let bytes = bytes_of(hook);
        let text = bytes.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        named.extend(LEFT_BEHIND.iter().copied().filter(|kind| names_kind(&text, kind)));
        found.push((name_of(hook), hash_of(bytes.as_deref())));
        let scripts = scripts::named_in(top, &text).into_iter();
        found.extend(scripts.map(|(file, hash)| (format!("{} runs {}", name_of(hook), plain(&file)), hash)));
    }
    let mut run = left
        .iter()
        .filter(|file| kind_of(&name_of(file)).is_some_and(|kind| named.contains(kind)));
    for file in run.by_ref().take(MAX_HOOKS) {
        found.push((name_of(file), hash_of(bytes_of(file).as_deref())));
    }
    has_more |= run.next().is_some();
    Ok(Hooks { found, has_more })
}

fn bytes_of(file: &Path) -> Option<Vec<u8>> {
    readable(file, MAX_BYTES).ok().flatten()
}

fn hash_of(bytes: Option<&[u8]>) -> String {
    bytes.map_or_else(|| "unread".to_owned(), digest)
}

fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the kind of file that has this name but is not a hook.
fn kind_of(name: &str) -> Option<&'static str> {
    let is_of = |kind: &str| match kind {
        BUFFER => (name.starts_with('#') && name.ends_with('#')) || name.starts_with(".#"),
        end => name.ends_with(end),
    };
    LEFT_BEHIND.iter().find(|kind| is_of(kind)).copied()
}

/// Returns whether a hook may run files of a kind beside it, because it names their extension (`"$0.orig"`).
/// `~/` is a home directory.
fn names_kind(hook: &str, kind: &str) -> bool {
    match kind {
        BUFFER => hook.contains("/#") || hook.contains("/.#"),
        "~" => hook.split('~').skip(1).any(|rest| !rest.starts_with('/')),
        end => hook.contains(end),
    }
}
