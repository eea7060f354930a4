//! The files of a keyring: written atomically, by one writer at a time, and not trusted if others may have
//! changed them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::KeyringError;

/// Larger than any file of a keyring.
const MAX_BYTES: u64 = 16 << 20;
/// The number of attempts to get the lock: five seconds in all.
const ATTEMPTS: u32 = 250;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);

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
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    check(path, &file.metadata().map_err(failed)?, privacy)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(io::Error::other("it is too large for a keyring file")));
    }
    Ok(Some(bytes))
}

#[cfg(unix)]
fn check(path: &Path, metadata: &fs::Metadata, privacy: Privacy) -> Result<(), KeyringError> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = metadata.permissions().mode() & 0o777;
    let path = path.to_owned();
    match privacy {
        Privacy::Secret if mode & 0o077 != 0 => Err(KeyringError::Readable { path, mode }),
        Privacy::Public if mode & 0o022 != 0 => Err(KeyringError::Writable { path, mode }),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check(_: &Path, _: &fs::Metadata, _: Privacy) -> Result<(), KeyringError> {
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

/// Writes a file atomically, readable only by its owner. Only the holder of the lock may call it.
pub(crate) fn replace(path: &Path, bytes: &[u8], _lock: &KeyringLock) -> Result<(), KeyringError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    // A process that died may have left this file; create it again, so that its mode is ours.
    let _ = fs::remove_file(&temporary);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    owner_only(&mut options);
    let written = options.open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        sync_directory(path)
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        KeyringError::file(path, error)
    })
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent()
        .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Held while a file of the keyring is read and written again; the operating system releases it when the
/// process dies.
pub(crate) struct KeyringLock(#[expect(dead_code, reason = "it holds by being open")] File);

/// Waits for its turn to write, and makes the directory at first need.
pub(crate) fn lock(directory: &Path) -> Result<KeyringLock, KeyringError> {
    let path = directory.join("keyring.lock");
    let failed = |error: io::Error| KeyringError::file(&path, error);
    make_directory(directory).map_err(|error| KeyringError::file(directory, error))?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    owner_only(&mut options);
    let file = options.open(&path).map_err(failed)?;
    for _ in 0..ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(KeyringLock(file)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_ATTEMPTS),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
    Err(KeyringError::Busy { path })
}

fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg_attr(not(unix), expect(unused_variables, reason = "there are no modes"))]
fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}
