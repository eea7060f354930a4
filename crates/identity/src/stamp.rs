//! Detects changes of a keyring's files by their metadata, so that a frequent caller need not read them each
//! time.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A file that was changed so recently may be changed again without looking any different.
const SETTLED: Duration = Duration::from_secs(1);

/// A snapshot of the metadata of a keyring's files. Two equal and [settled](Self::is_settled) stamps are of
/// the same files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    files: [Option<FileStamp>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    changed: SystemTime,
    bytes: u64,
    /// The device, inode and mode of the file: a file that others may change is not trusted.
    id: (u64, u32),
}

impl Stamp {
    pub(crate) fn of(files: [&Path; 2]) -> Self {
        Self {
            files: files.map(|path| fs::metadata(path).ok().map(|metadata| of(&metadata))),
        }
    }

    /// Returns whether the files changed long enough ago that a later change would show in the stamp.
    pub fn is_settled(&self) -> bool {
        let now = SystemTime::now();
        self.files.iter().flatten().all(|file| {
            now.duration_since(file.changed)
                .is_ok_and(|since| since > SETTLED)
        })
    }
}

#[cfg(unix)]
fn of(metadata: &fs::Metadata) -> FileStamp {
    use std::os::unix::fs::MetadataExt as _;
    // The time of the last change of any kind (ctime), which nobody can set.
    let seconds = u64::try_from(metadata.ctime()).unwrap_or_default();
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
    FileStamp {
        changed: SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds),
        bytes: metadata.len(),
        id: (metadata.ino(), metadata.mode()),
    }
}

#[cfg(not(unix))]
fn of(metadata: &fs::Metadata) -> FileStamp {
    FileStamp {
        changed: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        bytes: metadata.len(),
        id: (0, 0),
    }
}
