//! Finds a restore that was cut off: one whose end is not recorded, and the files that it had not written
//! yet.

use std::collections::BTreeSet;
use std::path::Path;

use agentx_history::SessionHistory;
use agentx_runtime::{FactRecorder, RuntimeError};
use agentx_types::{FileFailed, FilesRestored};

use super::directory_entry::DirectoryEntry;
use super::{blocking, on_disk};

/// Records the end of a restore that was cut off, if a restore to the same event has nothing left to do;
/// returns its event.
pub(super) async fn end(
    history: &SessionHistory,
    to_seq: u64,
    record: &dyn FactRecorder,
) -> Result<Option<u64>, RuntimeError> {
    let Some(cut_off) = history.unfinished().filter(|cut_off| cut_off.to_seq == to_seq) else {
        return Ok(None);
    };
    let mut failed = Vec::new();
    for path in &cut_off.files {
        let standing = on_disk(path).await;
        let trail = history.files().get(path);
        let is_done = standing.blocked.is_none()
            && trail.is_some_and(|trail| trail.end().matches(standing.seen.as_ref()));
        if !is_done {
            failed.push(FileFailed {
                path: path.clone(),
                what: standing.blocked.unwrap_or_else(|| "it was left as it is".into()),
            });
        }
    }
    let ended = FilesRestored {
        restoring: cut_off.seq,
        failed,
    };
    record.record(ended.into()).await?;
    Ok(Some(cut_off.seq))
}

/// Removes temporary files of killed processes from the directories of the files that the session changed.
pub(super) async fn remove_left(history: &SessionHistory) {
    let directories: BTreeSet<_> = history
        .files()
        .keys()
        .filter_map(|path| Path::new(path).parent())
        .map(Path::to_owned)
        .collect();
    let removed = blocking(move || {
        for directory in directories {
            if let Ok(Some(spot)) = DirectoryEntry::reach(&directory.join("-"), false) {
                spot.remove_left();
            }
        }
        Ok(())
    });
    // The file may stay; it is harmless.
    let _ = removed.await;
}
