//! The lock of a data directory: one server at a time serves it. Quotas, tokens, the keys of repeated
//! requests, who is present and who drives are in the memory of a server, so a second one would give each
//! person all of that again. Programs that only use the directory (`agentx`, `agentx run`) take no such lock:
//! sessions have one writer each.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use agentx_files::FileLock;

use crate::server_error::ServerError;

/// The name of the lock file, in the data directory. The address of the server is in it.
const FILE: &str = "server.lock";
/// The number of bytes of an address that are read.
const ADDRESS_BYTES: u64 = 200;

/// The right to serve a data directory, which ends with this value or the process.
pub(crate) struct DataDirLock {
    _lock: FileLock,
}

impl DataDirLock {
    /// Takes the lock, and notes the address for a second server that is started.
    ///
    /// # Errors
    /// Returns an error if a server has it, or the lock file cannot be used.
    pub(crate) fn take(data_dir: &Path, url: &str) -> Result<Self, ServerError> {
        let path = data_dir.join(FILE);
        let lock = FileLock::take(&path).map_err(|error| ServerError::Lock {
            path: path.clone(),
            what: error.to_string(),
        })?;
        let Some(lock) = lock else {
            return Err(ServerError::AlreadyServed {
                data_dir: data_dir.to_owned(),
                url: noted(&path),
            });
        };
        // The address is a help for a person; a full disk keeps nobody from serving.
        let _ = note(lock.file(), url);
        Ok(Self { _lock: lock })
    }
}

fn note(mut file: &File, url: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.write_all(url.as_bytes())
}

/// The address in a lock file, if there is one.
fn noted(path: &Path) -> Option<String> {
    let mut url = String::new();
    let file = File::open(path).ok()?;
    file.take(ADDRESS_BYTES).read_to_string(&mut url).ok()?;
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
    (is_plain && !url.is_empty()).then_some(url)
}
