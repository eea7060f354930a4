//! Ignore files that are no files: the walk opens what has their name, and a named pipe that came with a folder would hold it for good, a
//! device would never end. Each directory is looked at before it is entered.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::ToolFailure;

/// The names of ignore files in a directory, as the walk looks for them.
const NAMES: &[&str] = &[".ignore", ".gitignore", ".git/info/exclude"];
/// The most directories that are named, and the longest line that is read of a `.git` file.
const MOST: usize = 20;
const LONGEST: u64 = 1 << 16;

/// Directories that a walk left out.
#[derive(Debug, Default)]
pub(super) struct SkippedDirectories(Mutex<BTreeSet<PathBuf>>);

impl SkippedDirectories {
    /// Whether a directory may be entered; notes it where it may not.
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

    /// Says what was left out, relative to where the search began; empty if nothing was.
    pub(super) fn note(&self, root: &Path) -> String {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut note = String::new();
        for file in files.iter().take(MOST) {
            let shown = file.strip_prefix(root).unwrap_or(file).display();
            note.push_str(&format!(
                "[the directory of {shown:?} was left out, because that is no regular file; set ignored to search it]\n"
            ));
        }
        if files.len() > MOST {
            note.push_str("[more directories were left out for the same reason]\n");
        }
        note
    }
}

/// Refuses to begin a walk that would open such a file where it begins or above.
pub(super) fn check(root: &Path) -> Result<(), ToolFailure> {
    let found = root.ancestors().find_map(unreadable_in);
    found.map_or(Ok(()), |file| {
        Err(ToolFailure::failed(format!(
            "{file:?} is no regular file, so it cannot be read as an ignore file. Remove it, or set ignored to search without ignore files."
        )))
    })
}

/// What the walk would open in a directory, and could be held by.
fn unreadable_in(directory: &Path) -> Option<PathBuf> {
    let mut files = NAMES.iter().map(|name| directory.join(name));
    files
        .find(|file| holds(file))
        .or_else(|| unreadable_behind(&directory.join(".git")))
}

/// The same for a `.git` file, which names a directory that names another one.
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

/// Whether what lies there is neither a file nor a directory, which cannot be read and holds nobody.
fn holds(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir())
}
