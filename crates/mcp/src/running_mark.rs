//! Shows other processes that a server runs: a file beside its cached description, locked while the
//! connection lasts. The system releases the lock when the process ends, even if it is killed.

use std::fs::{File, TryLockError};
use std::path::Path;

/// Held while a server runs.
#[derive(Debug)]
pub(crate) struct RunningMark {
    /// Its lock is shared: several processes may each run a server of the same command line.
    _file: File,
}

impl RunningMark {
    /// Marks the server of this file as running. `None` if that is not possible: then others do not see it.
    pub(crate) fn set(path: &Path) -> Option<Self> {
        if let Some(folder) = path.parent() {
            agentx_files::make_private_directory(folder).ok()?;
        }
        let file = agentx_files::create_private(path).ok()?;
        file.try_lock_shared().ok()?;
        Some(Self { _file: file })
    }

    /// Returns whether a process has marked the server of this file as running.
    pub(crate) fn is_set(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_seen_while_anybody_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mcp/server.running");
        assert!(!RunningMark::is_set(&path), "there is no file");
        let first = RunningMark::set(&path).unwrap();
        let second = RunningMark::set(&path).unwrap();
        assert!(RunningMark::is_set(&path));
        drop(first);
        assert!(RunningMark::is_set(&path));
        drop(second);
        assert!(!RunningMark::is_set(&path));
        assert!(RunningMark::set(&path.join("below a file")).is_none());
    }
}
