//! A lock that one process at a time holds, and that ends with its process.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::create_private;

/// The shortest pause between two attempts. It does not grow, so a process that has waited for long has the
/// same chance as a newcomer.
const SHORTEST_PAUSE: Duration = Duration::from_millis(3);

/// A held lock file. Others, in this process or another, wait until this value is dropped or the process has
/// ended.
///
/// The lock file is a separate file beside the one that it protects, because replacing the latter would lose
/// the lock. It is removed while it is still held: a process that has locked a removed file notices that the
/// name now belongs to another file, and tries again. Systems that cannot tell a removed file from a new one
/// keep the lock file.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    file: File,
}

impl FileLock {
    /// Takes the lock with this lock file, or returns `None` if it is already held. The directory must exist.
    ///
    /// # Errors
    /// Returns an error if the lock file cannot be created or locked, or is a symbolic link, which an
    /// attacker may have planted.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        loop {
            if path.is_symlink() {
                return Err(io::Error::other("it is a symbolic link; remove it"));
            }
            let file = create_private(path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, path) => {
                    let path = path.to_owned();
                    return Ok(Some(Self { path, file }));
                }
                // The previous holder removed the file in the meantime.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Waits for the lock, for at most `patience`. Returns `None` if it is still held then. Blocks the
    /// thread: a task should call [`FileLock::take`] between its own pauses.
    ///
    /// # Errors
    /// Returns the errors of [`FileLock::take`].
    pub fn wait(path: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let end = Instant::now() + patience;
        let pause = pause_of(std::process::id());
        loop {
            if let Some(lock) = Self::take(path)? {
                return Ok(Some(lock));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            std::thread::sleep(pause);
        }
    }

    /// Returns the path of a file's lock: `FILE.lock` beside it.
    pub fn path_for(file: &Path) -> PathBuf {
        let mut path = file.as_os_str().to_owned();
        path.push(".lock");
        PathBuf::from(path)
    }

    /// Returns the lock file, so that the holder can leave a note in it.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for FileLock {
    /// Removes the lock file; the lock itself ends with the file handle, after this.
    fn drop(&mut self) {
        if cfg!(unix) && is_at(&self.file, &self.path) {
            // The next holder locks and removes a file that stays behind.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns the pause of a process, 3 to 5 ms, so that processes that began together do not stay in step.
fn pause_of(process: u32) -> Duration {
    SHORTEST_PAUSE + Duration::from_micros(u64::from(process % 16) * 125)
}

/// Returns whether an open file is still the one at its path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Returns whether an open file is still the one at its path. It always is: this system keeps lock files.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn one_at_a_time_has_the_lock_and_its_file_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = FileLock::path_for(&folder.path().join("list"));
        let held = FileLock::take(&path).unwrap().unwrap();
        assert!(path.ends_with("list.lock") && path.exists());
        assert!(FileLock::take(&path).unwrap().is_none());
        assert!(FileLock::wait(&path, Duration::from_millis(5)).unwrap().is_none());
        drop(held);
        assert!(!path.exists());
        assert!(FileLock::take(&path).unwrap().is_some());
    }

    #[test]
    fn all_processes_wait_about_the_same_time_between_attempts() {
        let pauses = || (0..100).map(pause_of);
        assert_eq!(pauses().min(), Some(SHORTEST_PAUSE));
        assert!(pauses().all(|pause| pause < Duration::from_millis(5)));
        assert_ne!(pause_of(1_000), pause_of(1_001));
    }

    #[test]
    fn a_planted_link_is_refused_and_nothing_is_created_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let (elsewhere, path) = (folder.path().join("elsewhere"), folder.path().join("x.lock"));
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        let refused = FileLock::wait(&path, PATIENCE).unwrap_err();
        assert!(refused.to_string().contains("symbolic link"), "{refused}");
        assert!(!elsewhere.exists());
    }

    #[test]
    fn everybody_who_waits_has_a_turn_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (file, path) = (folder.path().join("count"), folder.path().join("count.lock"));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _turn = FileLock::wait(&path, PATIENCE).unwrap().unwrap();
                        let text = std::fs::read_to_string(&file).unwrap_or_default();
                        std::fs::write(&file, format!("{text}x")).unwrap();
                    }
                });
            }
        });
        assert_eq!(std::fs::read(&file).unwrap().len(), 160);
    }
}
