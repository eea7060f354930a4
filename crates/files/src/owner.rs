//! The owner of a file or a directory. Another user can change what belongs to them, and give access to it,
//! whatever its mode is now. Root has that power anyway, and owns what it mounts and installs for others.

use std::fs::Metadata;
use std::path::Path;

/// Returns the id of the user to whom a file or a directory belongs, if that is neither the user of this
/// process nor root. Returns `None` on a system without such ids.
#[cfg(unix)]
pub fn other_owner(found: &Metadata) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    other_than(nix::unistd::geteuid().as_raw(), found.uid())
}

/// Returns `None`, because files of this system have no such ids.
#[cfg(not(unix))]
pub fn other_owner(_: &Metadata) -> Option<u32> {
    None
}

/// Returns the owner of a file if it is another user, and its directory does not belong to that user too. The
/// files in a directory of another user are expected to be theirs.
pub fn foreign_owner(path: &Path, found: &Metadata) -> Option<u32> {
    let owner = other_owner(found)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let around = directory.unwrap_or(Path::new(".")).metadata();
    let is_theirs = around.is_ok_and(|around| other_owner(&around) == Some(owner));
    (!is_theirs).then_some(owner)
}

/// Returns the owner if it is neither this user nor root.
#[cfg(unix)]
pub(crate) fn other_than(own: u32, owner: u32) -> Option<u32> {
    (![own, 0].contains(&owner)).then_some(owner)
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(
        clippy::panic,
        clippy::unwrap_used,
        reason = "a test stops at the first surprise"
    )]

    use std::os::unix::fs::chown;

    use super::*;
    use crate::{ReplaceOptions, SecretFileError, open_secret, replace};

    #[test]
    fn what_belongs_to_this_user_or_to_root_is_not_anothers() {
        for (own, owner, other) in [
            (1000, 1000, None),
            (1000, 0, None),
            (1000, 1001, Some(1001)),
            (0, 0, None),
            (0, 1000, Some(1000)),
        ] {
            assert_eq!(other_than(own, owner), other, "{own} {owner}");
        }
        let place = tempfile::tempdir().unwrap();
        let found = place.path().metadata().unwrap();
        assert_eq!(other_owner(&found), None);
    }

    /// Root alone can give a file away; for others, this test tries the file that is theirs.
    #[test]
    fn a_secret_of_another_user_is_refused_unless_the_directory_is_theirs_too() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        replace(&path, b"made up", ReplaceOptions::default()).unwrap();
        let owners = |file: u32, directory: u32| {
            chown(place.path(), Some(directory), None).unwrap();
            chown(&path, Some(file), None).unwrap();
            match open_secret(&path) {
                Ok(_) => None,
                Err(SecretFileError::OtherOwner(owner)) => Some(owner),
                Err(error) => panic!("{error}"),
            }
        };
        let own = nix::unistd::geteuid().as_raw();
        assert_eq!(owners(own, own), None);
        if own != 0 {
            return;
        }
        for (file, directory, refused) in [
            (4711, 0, Some(4711)),
            (4711, 4711, None),
            (4711, 4712, Some(4711)),
            (0, 4711, None),
        ] {
            assert_eq!(owners(file, directory), refused, "{file} in {directory}");
        }
        chown(place.path(), Some(0), None).unwrap();
    }
}
