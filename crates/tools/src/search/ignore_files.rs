//! Finds ignore files that are not regular files. The walk would open them by name; a named pipe in a folder
//! would block it forever, and a device would never end. Each directory is checked before it is entered.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::failure::ToolFailure;

/// The names of ignore files in a directory, as the walk looks for them.
const NAMES: &[&str] = &[".ignore", ".gitignore", ".git/info/exclude"];
/// The maximum number of directories that the note names, and the maximum length of a `.git` file that is
/// read.
const MOST: usize = 20;
const LONGEST: u64 = 1 << 16;

/// Directories that a walk skipped.
#[derive(Debug, Default)]
pub(super) struct SkippedDirectories(Mutex<BTreeSet<PathBuf>>);

impl SkippedDirectories {
    /// Returns whether a directory may be entered; notes it if not.
    pub(super) fn may_enter(&self, directory: &Path) -> bool {
        let Some(file) = unreadable_in(directory) else {
            return true;
        };
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() <= MOST {
            files.insert(file);
        }
        false
    }

    /// Describes the skipped directories, relative to the start of the search; empty if there are none.
    pub(super) fn note(&self, root: &Path) -> String {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut note = String::new();
        for file in files.iter().take(MOST) {
            let shown = file.strip_prefix(root).unwrap_or(file).display();
            note.push_str(&format!(
                "[the directory of {shown:?} was left out, because that is not a regular file; set ignored to search it]\n"
            ));
        }
        if files.len() > MOST {
            note.push_str("[more directories were left out for the same reason]\n");
        }
        note
    }
}

/// Refuses to start a walk that would open such a file at its start or above.
pub(super) fn check(root: &Path) -> Result<(), ToolFailure> {
    let found = root.ancestors().find_map(unreadable_in);
    found.map_or(Ok(()), |file| {
        Err(ToolFailure::failed(format!(
            "{file:?} is not a regular file, so it cannot be read as an ignore file. Remove it, or set ignored to search without ignore files."
        )))
    })
}

/// Returns a path in a directory that the walk would open and that could block it.
fn unreadable_in(directory: &Path) -> Option<PathBuf> {
    let mut files = NAMES.iter().map(|name| directory.join(name));
    files
        .find(|file| holds(file))
        .or_else(|| unreadable_behind(&directory.join(".git")))
}

/// Checks a `.git` file in the same way; it names a directory that names another one.
fn unreadable_behind(link: &Path) -> Option<PathBuf> {
    let git = PathBuf::from(first_line(link)?.strip_prefix("gitdir: ")?);
    let file = git.join("commondir");
    if holds(&file) {
        return Some(file);
    }
    let exclude = git.join(first_line(&file)?).join("info/exclude");
    holds(&exclude).then_some(exclude)
}

fn first_line(file: &Path) -> Option<String> {
    let is_file = std::fs::metadata(file).is_ok_and(|found| found.is_file());
    let reader = is_file.then(|| File::open(file).ok()).flatten()?;
    BufReader::new(reader.take(LONGEST)).lines().next()?.ok()
}

/// Returns whether the path is neither a file nor a directory, so that reading it could block.
fn holds(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
