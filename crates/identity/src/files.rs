//! The files of a keyring: written atomically, by one writer at a time, and not trusted if others may have
//! changed them.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use agentx_files::{
    FileLock, ReplaceOptions, SecretFileError, foreign_owner, make_private_directory, open_secret,
    other_owner, replace_locked,
};

use crate::KeyringError;

/// Larger than any file of a keyring.
const MAX_BYTES: u64 = 16 << 20;
/// The time to wait for another process that writes them.
const PATIENCE: Duration = Duration::from_secs(5);

/// The access that other users may have to a file.
#[derive(Clone, Copy)]
pub(crate) enum Privacy {
    /// No access: a secret.
    Secret,
    /// Reading only.
    Public,
}

/// The bytes of a file; `None` if there is none.
pub(crate) fn read(path: &Path, privacy: Privacy) -> Result<Option<Vec<u8>>, KeyringError> {
    let failed = |error: io::Error| KeyringError::file(path, error);
    let opened = match privacy {
        Privacy::Secret => open_secret(path),
        Privacy::Public => File::open(path).map_err(SecretFileError::System),
    };
    let file = match opened {
        Ok(file) => file,
        Err(SecretFileError::System(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(SecretFileError::System(error)) => return Err(failed(error)),
        Err(SecretFileError::OpenToOthers(mode)) => {
            let path = path.to_owned();
            return Err(KeyringError::Readable { path, mode });
        }
        Err(SecretFileError::OtherOwner(owner)) => {
            let path = path.to_owned();
            return Err(KeyringError::ForeignFile { path, owner });
        }
    };
    if matches!(privacy, Privacy::Public) {
        let found = file.metadata().map_err(failed)?;
        check_unchanged(path, &found)?;
        if let Some(owner) = foreign_owner(path, &found) {
            let path = path.to_owned();
            return Err(KeyringError::ForeignFile { path, owner });
        }
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(io::Error::other("it is too large for a keyring file")));
    }
    Ok(Some(bytes))
}

/// Checks that nobody else may change this file.
#[cfg(unix)]
fn check_unchanged(path: &Path, metadata: &fs::Metadata) -> Result<(), KeyringError> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    let path = path.to_owned();
    match mode & 0o022 {
        0 => Ok(()),
        _ => Err(KeyringError::Writable { path, mode }),
    }
}

#[cfg(not(unix))]
fn check_unchanged(_: &Path, _: &fs::Metadata) -> Result<(), KeyringError> {
    Ok(())
}

/// Checks that nobody else may rename or replace files in this directory.
#[cfg(unix)]
pub(crate) fn check_directory(path: &Path) -> Result<(), KeyringError> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(KeyringError::file(path, error)),
    };
    match metadata.permissions().mode() & 0o7777 {
        mode if mode & 0o022 != 0 => Err(KeyringError::OpenDirectory {
            path: path.to_owned(),
            mode,
        }),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
pub(crate) fn check_directory(_: &Path) -> Result<(), KeyringError> {
    Ok(())
}

/// Checks that a directory belongs to the user of this process, to root, or to the user whom `allowed` names.
pub(crate) fn check_owner(path: &Path, allowed: Option<u32>) -> Result<(), KeyringError> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(KeyringError::file(path, error)),
    };
    match other_owner(&found).filter(|owner| Some(*owner) != allowed) {
        Some(owner) => Err(KeyringError::ForeignDirectory {
            path: path.to_owned(),
            owner,
        }),
        None => Ok(()),
    }
}

/// Writes a file atomically, readable only by its owner, and waits until the disk has it. Only the holder of
/// the lock may call it.
pub(crate) fn replace(path: &Path, bytes: &[u8], lock: &FileLock) -> Result<(), KeyringError> {
    let options = ReplaceOptions {
        durable: true,
        ..ReplaceOptions::default()
    };
    replace_locked(path, bytes, options, lock).map_err(|error| KeyringError::file(path, error))
}

/// Waits for its turn to read and write the files of the keyring, and makes the directory at first need.
pub(crate) fn lock(directory: &Path) -> Result<FileLock, KeyringError> {
    let path = directory.join("keyring.lock");
    make_private_directory(directory).map_err(|error| KeyringError::file(directory, error))?;
    match FileLock::wait(&path, PATIENCE) {
        Ok(lock) => lock.ok_or(KeyringError::Busy { path }),
        Err(error) => Err(KeyringError::file(&path, error)),
    }
}
