//! Files and directories that other users can neither read nor change. On systems without modes they get the
//! system's defaults.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Returns options that create a file with mode 0600. The caller adds the kind of access.
pub fn private_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Opens a file for writing, and creates it with mode 0600 if it does not exist. Its contents stay. It does
/// not wait for the reader of a named pipe, which an attacker may have planted.
///
/// # Errors
/// Returns the error of the system, or an error if the path is not a regular file.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = private_options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, nix::fcntl::OFlag::O_NONBLOCK.bits());
    let opened = options.write(true).create(true).truncate(false).open(path);
    // Opening a pipe without a reader fails this way.
    let found = match &opened {
        Ok(file) => file.metadata(),
        Err(_) => path.metadata(),
    };
    match found {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            Err(io::Error::other("it is not a regular file; remove it"))
        }
        _ => opened,
    }
}

/// Creates a directory and its missing parents with mode 0700.
///
/// # Errors
/// Returns the error of the system.
pub fn make_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Removes the access of other users to a file. Returns the mode before the change, or `None` if nothing was
/// changed, because others had no access or the file does not exist.
///
/// # Errors
/// Returns the error of the system, for example for a file of another owner.
#[cfg(unix)]
pub fn close_to_others(path: &Path) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(metadata) = path.metadata() else {
        return Ok(None);
    };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(None);
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700))?;
    Ok(Some(mode))
}

/// Removes the access of other users to a file. Does nothing on this system, which has no modes.
///
/// # Errors
/// Never returns an error.
#[cfg(not(unix))]
pub fn close_to_others(_: &Path) -> io::Result<Option<u32>> {
    Ok(None)
}

/// Removes the access of other users to an SQLite database and to SQLite's files next to it. Returns the mode
/// before the change, or `None` if nothing was changed.
///
/// # Errors
/// Returns the error of the system, for example for a file of another owner, after the other files were
/// closed.
pub fn close_database_to_others(path: &Path) -> io::Result<Option<u32>> {
    let (mut before, mut failed) = (None, None);
    for end in ["", "-wal", "-shm", "-journal"] {
        let mut file = path.as_os_str().to_owned();
        file.push(end);
        match close_to_others(Path::new(&file)) {
            Ok(mode) => before = before.or(mode),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(before), Err)
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_pipe_is_refused_whether_anybody_reads_it_or_not() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let refused = || create_private(&pipe).unwrap_err().to_string();
        assert_eq!(refused(), "it is not a regular file; remove it");
        // This end opens without waiting, because the pipe is opened for both directions.
        let _reader = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        assert_eq!(refused(), "it is not a regular file; remove it");
        assert!(crate::FileLock::take(&pipe).is_err());
    }

    #[test]
    fn other_users_have_no_access() {
        let place = tempfile::tempdir().unwrap();
        let (directory, file) = (place.path().join("a/b"), place.path().join("a/b/c"));
        make_private_directory(&directory).unwrap();
        drop(create_private(&file).unwrap());
        assert_eq!((mode(&directory), mode(&file)), (0o700, 0o600));
        assert_eq!(close_to_others(&file).unwrap(), None);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::write(&file, "kept").unwrap();
        assert_eq!(close_to_others(&file).unwrap(), Some(0o644));
        drop(create_private(&file).unwrap());
        assert_eq!(
            (mode(&file), std::fs::read(&file).unwrap()),
            (0o600, b"kept".to_vec())
        );
        assert_eq!(close_to_others(&place.path().join("none")).unwrap(), None);
    }

    #[test]
    fn a_database_is_closed_with_the_files_next_to_it() {
        let place = tempfile::tempdir().unwrap();
        let file = |end: &str| place.path().join(format!("sessions.db{end}"));
        for end in ["", "-wal", "-shm"] {
            std::fs::write(file(end), "rows").unwrap();
            std::fs::set_permissions(file(end), std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        assert_eq!(close_database_to_others(&file("")).unwrap(), Some(0o644));
        let modes = ["", "-wal", "-shm"].map(|end| mode(&file(end)));
        assert_eq!(modes, [0o600; 3]);
        assert_eq!(close_database_to_others(&file("")).unwrap(), None);
    }
}
