//! Files with a key or a token. One that others can read may be known to them, and one that they can write or
//! own may be theirs; so such a file is refused, also in a directory that nobody else can open today.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use crate::owner::foreign_owner;

/// The reason why a secret file is not opened.
#[derive(Debug)]
pub enum SecretFileError {
    /// Other users have access to it, by this mode.
    OpenToOthers(u32),
    /// It belongs to another user, with this id, and its directory does not.
    OtherOwner(u32),
    /// The error of the system.
    System(io::Error),
}

impl fmt::Display for SecretFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenToOthers(mode) => write!(f, "it is secret, but others have access (mode {mode:04o})"),
            Self::OtherOwner(owner) => {
                write!(f, "it is secret, but belongs to another user (user id {owner})")
            }
            Self::System(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl std::error::Error for SecretFileError {}

/// Opens a file with a secret for reading. Mode and owner are those of the opened file, so nobody can
/// exchange the file in between.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let place = tempfile::tempdir()?;
/// # let path = place.path().join("key");
/// agentx_files::replace(&path, b"made up", agentx_files::ReplaceOptions::default())?;
/// assert!(agentx_files::open_secret(&path).is_ok());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns an error if other users can read or change the file, if it belongs to another user than this one,
/// root, or the owner of its directory, or if the system cannot open it.
pub fn open_secret(path: &Path) -> Result<File, SecretFileError> {
    let file = File::open(path).map_err(SecretFileError::System)?;
    let found = file.metadata().map_err(SecretFileError::System)?;
    if let Some(mode) = mode_for_others(&found) {
        return Err(SecretFileError::OpenToOthers(mode));
    }
    match foreign_owner(path, &found) {
        Some(owner) => Err(SecretFileError::OtherOwner(owner)),
        None => Ok(file),
    }
}

/// Returns the mode of a file if other users have access to it.
#[cfg(unix)]
fn mode_for_others(found: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = found.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Returns `None`, because this system has no modes.
#[cfg(not(unix))]
fn mode_for_others(_: &Metadata) -> Option<u32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_secret_that_others_have_access_to_is_refused_in_a_private_directory_too() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        assert!(matches!(
            open_secret(&path),
            Err(SecretFileError::System(error)) if error.kind() == io::ErrorKind::NotFound
        ));
        std::fs::write(&path, "made up").unwrap();
        let set_mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o666, 0o644, 0o640, 0o604, 0o602, 0o601] {
            set_mode(mode);
            let refused = open_secret(&path).unwrap_err();
            assert!(matches!(refused, SecretFileError::OpenToOthers(found) if found == mode));
            assert!(
                refused.to_string().ends_with(&format!("(mode {mode:04o})")),
                "{refused}"
            );
        }
        for mode in [0o600, 0o400, 0o700] {
            set_mode(mode);
            assert!(open_secret(&path).is_ok(), "{mode:o}");
        }
    }
}
