//! The signs by which a file is known to be unchanged without being read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A file system may give two changes within this time the same time.
const TICK: Duration = Duration::from_millis(50);

/// The signs of a file: while all of them are the same, so is its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryStamp {
    size: u64,
    modified: i64,
    changed: i64,
    pub(super) inode: u64,
    pub(super) mode: u32,
}

impl EntryStamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self {
            size: metadata.size(),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            mode: metadata.mode() & 0o7777,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Returns whether the last change is so long ago that the next one would have another time.
    pub(super) fn is_settled(&self, now: SystemTime) -> bool {
        let since = now.duration_since(UNIX_EPOCH + TICK).unwrap_or_default();
        i64::try_from(since.as_nanos()).is_ok_and(|border| self.changed < border)
    }
}
