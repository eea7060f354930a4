//! Finds and deletes the files of chats that were killed while they wrote a draft: `drafts/N.PID-N.new`. They
//! have text that a person typed, and no chat offers it again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentx_files::{FileLock, leftovers_in, remove_leftovers};

/// The directory of drafts in the data directory.
pub(super) const DIRECTORY: &str = "drafts";

/// The new versions of drafts that chats have not finished: most are of chats that were killed.
pub(crate) fn list(data_dir: &Path) -> Vec<PathBuf> {
    let left = leftovers_in(&data_dir.join(DIRECTORY)).into_iter();
    left.filter(|left| is_name_of_draft(&left.stem))
        .map(|left| left.path)
        .collect()
}

/// Deletes what killed chats left of drafts. A chat that is open holds the lock of its draft, so what it
/// writes stays.
pub(crate) fn remove(data_dir: &Path) {
    remove_in(&data_dir.join(DIRECTORY));
}

/// Does what [`remove`] does, in the directory of drafts.
pub(super) fn remove_in(directory: &Path) {
    let left = leftovers_in(directory).into_iter();
    let names: BTreeSet<String> = left
        .map(|left| left.stem)
        .filter(|stem| is_name_of_draft(stem))
        .collect();
    for name in names {
        let path = directory.join(name);
        if let Ok(Some(lock)) = FileLock::take(&FileLock::path_for(&path)) {
            remove_leftovers(&path, &lock);
        }
    }
}

/// Returns whether a file of this name is a draft.
fn is_name_of_draft(name: &str) -> bool {
    name.parse::<u32>().is_ok()
}
