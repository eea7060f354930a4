//! Checks that the database is still the file that was opened. Data that is written to a removed file is lost
//! when the process ends, and SQLite does not notice.

use agentx_runtime::LogError;

use crate::error::{DatabaseFile, Fault};

/// The identity of the opened file.
pub(crate) struct SameFile {
    /// Device and inode of the file; `None` if the system has none, or the database is not a file.
    opened: Option<(u64, u64)>,
}

impl SameFile {
    /// The file that has this name now.
    pub(crate) fn of(place: &DatabaseFile) -> Self {
        Self {
            opened: identity(place),
        }
    }

    /// Returns an error if the path no longer names the opened file.
    pub(crate) fn check(&self, place: &DatabaseFile) -> Result<(), LogError> {
        if self.opened.is_some() && identity(place) != self.opened {
            Err(place.error(Fault::Other(LogError::LOST.into())))
        } else {
            Ok(())
        }
    }
}

#[cfg(unix)]
fn identity(place: &DatabaseFile) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let about = std::fs::metadata(place.path()).ok()?;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn identity(_place: &DatabaseFile) -> Option<(u64, u64)> {
    None
}
