//! The lock of a data directory: one server at a time serves it. Quotas, tokens, the keys of repeated
//! requests, who is present and who drives are in the memory of a server, so a second one would give each
//! person all of that again. Programs that only use the directory (`agentx`, `agentx run`) take no such lock:
//! sessions have one writer each.

use std::path::Path;
use std::time::Duration;

use agentx_files::{FileLock, ServingNote};

use crate::server_error::ServerError;

/// The time before the lock counts as held: a program that looks for a server holds it for an instant.
const PATIENCE: Duration = Duration::from_millis(20);

/// The right to serve a data directory, which ends with this value or the process.
pub(crate) struct DataDirLock {
    _lock: FileLock,
}

impl DataDirLock {
    /// Takes the lock, and notes the address and the process: for a second server that is started, and for a
    /// program that finds a session open here.
    ///
    /// # Errors
    /// Returns an error if a server has it, or the lock file cannot be used.
    pub(crate) fn take(data_dir: &Path, url: &str) -> Result<Self, ServerError> {
        let path = ServingNote::lock_of(data_dir);
        let lock = FileLock::wait(&path, PATIENCE).map_err(|error| ServerError::Lock {
            path: path.clone(),
            what: error.to_string(),
        })?;
        let Some(lock) = lock else {
            return Err(ServerError::AlreadyServed {
                data_dir: data_dir.to_owned(),
                url: ServingNote::address_of(data_dir),
            });
        };
        // The note is a help for a person; a full disk keeps nobody from serving.
        let note = ServingNote {
            url: url.to_owned(),
            process: std::process::id(),
        };
        let _ = note.write(&lock);
        Ok(Self { _lock: lock })
    }
}
