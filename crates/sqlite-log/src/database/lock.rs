//! The lock that allows one writer per session and ends with its process. Used when a session is attached,
//! listed or deleted.
//!
//! A lock is a file `locks/<session>.lock` next to the database, locked by the operating system, with the
//! process id in it.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentx_files::{FileLock, ServingNote, make_private_directory};
use agentx_runtime::LogError;
use agentx_types::SessionId;

use crate::error::Fault;

/// The time before a lock counts as held: a reader that checks for a writer holds it for an instant.
const PATIENCE: Duration = Duration::from_millis(5);

/// The locks of all sessions of one database.
#[derive(Clone, Debug)]
pub(crate) enum Locks {
    Directory(PathBuf),
    Memory(Arc<Mutex<HashSet<String>>>),
}

/// A held lock; released when dropped.
#[derive(Debug)]
pub(crate) enum SessionLock {
    File {
        #[expect(dead_code, reason = "it holds until it is dropped")]
        lock: FileLock,
    },
    Memory {
        all: Arc<Mutex<HashSet<String>>>,
        name: String,
    },
}

/// The result of trying to take a lock.
pub(crate) enum LockAttempt {
    Held(SessionLock),
    /// The process with this id has it; with its address, if it is the server of the directory.
    Busy(u32, Option<String>),
}

impl Locks {
    /// Takes the lock of a session if it is free.
    pub(crate) fn take(&self, session: &SessionId) -> Result<LockAttempt, Fault> {
        let name = file_name(session);
        match self {
            Self::Memory(all) => {
                let is_new = all
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(name.clone());
                let lock = || SessionLock::Memory {
                    all: all.clone(),
                    name,
                };
                Ok(if is_new {
                    LockAttempt::Held(lock())
                } else {
                    LockAttempt::Busy(std::process::id(), None)
                })
            }
            Self::Directory(directory) => {
                make_private_directory(directory).map_err(|e| cannot(directory, &e))?;
                let path = directory.join(name);
                take_file(&path).map_err(|e| cannot(&path, &e))
            }
        }
    }

    /// Removes abandoned lock files: those of killed processes whose sessions have not been opened since.
    pub(crate) fn sweep(&self) {
        let Self::Directory(directory) = self else {
            return;
        };
        // The directory is created with the first lock. Files that cannot be removed are left for the next
        // collection.
        let found = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let paths = found.map(|entry| entry.path());
        for path in paths.filter(|path| path.extension().is_some_and(|kind| kind == "lock")) {
            // The holder of a lock alone removes its file, which it does as it lets go.
            let _ = FileLock::take(&path);
        }
    }

    /// The process that holds the lock of a session.
    pub(crate) fn holder(&self, session: &SessionId) -> Option<u32> {
        let name = file_name(session);
        match self {
            Self::Memory(all) => {
                let all = all.lock().unwrap_or_else(PoisonError::into_inner);
                all.contains(&name).then(std::process::id)
            }
            Self::Directory(directory) => {
                let path = directory.join(name);
                let file = File::open(&path).ok()?;
                matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then(|| process_in(&path))
            }
        }
    }
}

fn take_file(path: &Path) -> std::io::Result<LockAttempt> {
    let Some(lock) = FileLock::wait(path, PATIENCE)? else {
        let process = process_in(path);
        return Ok(LockAttempt::Busy(process, server_address(path, process)));
    };
    let mut file = lock.file();
    file.set_len(0)?;
    file.write_all(std::process::id().to_string().as_bytes())?;
    Ok(LockAttempt::Held(SessionLock::File { lock }))
}

/// The address of the server of the directory of a lock, if the process that holds the lock is that server,
/// and another one than this.
fn server_address(lock: &Path, holder: u32) -> Option<String> {
    let data_dir = lock.parent()?.parent()?;
    let note = ServingNote::of(data_dir).filter(|_| holder != std::process::id())?;
    (note.process == holder).then_some(note.url)
}

fn process_in(path: &Path) -> u32 {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_string(&mut text));
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0)
}

/// A file name that is safe for any id.
fn file_name(session: &SessionId) -> String {
    let id = session.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= 100 && id.chars().all(is_plain) {
        format!("{id}.lock")
    } else {
        format!("{}.lock", blake3::hash(id.as_bytes()).to_hex())
    }
}

fn cannot(path: &Path, error: &std::io::Error) -> Fault {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    if matches!(error.kind(), StorageFull | QuotaExceeded) {
        let path = path.display().to_string();
        return Fault::Log(LogError::Full { path });
    }
    Fault::Other(format!("{} cannot be locked: {error}", path.display()))
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        if let Self::Memory { all, name } = self {
            all.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_has_no_room_says_that_the_disk_is_full() {
        let error = |kind: std::io::ErrorKind| cannot(Path::new("locks/ses_1.lock"), &kind.into());
        let full = error(std::io::ErrorKind::StorageFull);
        assert!(matches!(full, Fault::Log(LogError::Full { .. })), "{full:?}");
        let refused = error(std::io::ErrorKind::PermissionDenied);
        assert!(matches!(refused, Fault::Other(_)), "{refused:?}");
    }
}
