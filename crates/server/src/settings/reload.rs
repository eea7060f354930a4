//! Reads the files of settings again when they have changed.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use agentx_config::Settings;

/// The time for which files have to stand still before they are read: one of them may still be written.
const STANDING_STILL: Duration = Duration::from_millis(20);
/// The maximum number of checks until the files no longer change.
const LOOKS: usize = 50;

/// The modification time, the length and, where there is one, the inode of a file; `None` if it is not there.
type SettingsStamp = Option<(SystemTime, u64, u64)>;

/// Reads settings again when one of their files has changed.
pub struct Reload {
    files: Vec<PathBuf>,
    as_read: Mutex<Vec<SettingsStamp>>,
    read: Box<dyn Fn() -> Result<Settings, String> + Send + Sync>,
}

/// Reads the settings again with `read` if one of their files has changed since the last read; while a file
/// is being written, its reader waits for at most a second. For
/// [`Server::reloading`](crate::Server::reloading).
pub fn reload_when_changed(
    files: Vec<PathBuf>,
    read: impl Fn() -> Result<Settings, String> + Send + Sync + 'static,
) -> Reload {
    Reload {
        as_read: Mutex::new(stamps(&files)),
        files,
        read: Box::new(read),
    }
}

impl Reload {
    /// Returns whether a file has changed since the last read. This asks the system once for each file.
    pub fn has_changed(&self) -> bool {
        let now = stamps(&self.files);
        *self.as_read.lock().unwrap_or_else(PoisonError::into_inner) != now
    }

    /// Reads the settings if a file has changed since the last read; `None` if none has. The error lists the
    /// mistakes of the settings. It blocks.
    pub fn read_if_changed(&self) -> Option<Result<Settings, String>> {
        if !self.has_changed() {
            return None;
        }
        let look = || stamps(&self.files);
        let still = standing_still(look, || std::thread::sleep(STANDING_STILL));
        *self.as_read.lock().unwrap_or_else(PoisonError::into_inner) = still;
        Some((self.read)())
    }
}

/// Looks until two looks are the same, at most [`LOOKS`] times, with a pause before each but the first.
/// Returns the last look.
fn standing_still<T: PartialEq>(look: impl Fn() -> T, pause: impl Fn()) -> T {
    let mut last = look();
    for _ in 1..LOOKS {
        pause();
        let now = look();
        if now == last {
            break;
        }
        last = now;
    }
    last
}

fn stamps(files: &[PathBuf]) -> Vec<SettingsStamp> {
    let stamp = |file: &PathBuf| {
        let found = std::fs::metadata(file).ok()?;
        Some((found.modified().ok()?, found.len(), inode(&found)))
    };
    files.iter().map(stamp).collect()
}

#[cfg(unix)]
fn inode(found: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(found)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{LOOKS, standing_still};

    #[test]
    fn a_file_that_is_being_written_is_waited_for_but_not_forever() {
        let looks = Cell::new(0);
        let pauses = Cell::new(0);
        let look_until = |last: usize| {
            looks.set(0);
            pauses.set(0);
            let look = || {
                looks.set(looks.get() + 1);
                looks.get().min(last)
            };
            standing_still(look, || pauses.set(pauses.get() + 1))
        };
        assert_eq!((look_until(1), pauses.get()), (1, 1), "it stands still");
        assert_eq!(
            (look_until(4), pauses.get()),
            (4, 4),
            "it was written for three looks"
        );
        assert_eq!(
            (look_until(usize::MAX), looks.get()),
            (LOOKS, LOOKS),
            "it never stands still"
        );
    }
}
