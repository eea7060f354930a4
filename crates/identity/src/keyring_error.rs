//! The reasons why the files of a keyring cannot be read or written, with advice for a person.

use std::io;
use std::path::{Path, PathBuf};

use crate::{KeyError, PublicKey, path_word};

/// The file of a server's own key.
pub(crate) const SERVER_KEY: &str = "server_key";

/// The words about a file for which the disk has no room.
const NO_SPACE: &str = "no space left; nothing was saved";

/// The error of reading or writing a keyring.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// A file or a directory.
    #[error("{}: {what}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The system's error message.
        what: String,
    },
    /// A secret that others may have seen.
    #[error("{} is secret, but others can read it (mode {mode:04o})", path.display())]
    Readable {
        /// The path of the file.
        path: PathBuf,
        /// The Unix permissions.
        mode: u32,
    },
    /// A list that others may have changed.
    #[error("{} lists who is trusted, but others can change it (mode {mode:04o})", path.display())]
    Writable {
        /// The path of the file.
        path: PathBuf,
        /// The Unix permissions.
        mode: u32,
    },
    /// A directory in which others may put other files.
    #[error("others can change files in {}, which lists who is trusted (mode {mode:04o})", path.display())]
    OpenDirectory {
        /// The path of the file.
        path: PathBuf,
        /// The Unix permissions.
        mode: u32,
    },
    /// A file of another user, who may know it and can change it.
    #[error("{} belongs to another user (user id {owner})", path.display())]
    ForeignFile {
        /// The path of the file.
        path: PathBuf,
        /// The id of the user.
        owner: u32,
    },
    /// A directory of another user, who can replace everything in it.
    #[error(
        "{} belongs to another user (user id {owner}), who can replace everything in it",
        path.display()
    )]
    ForeignDirectory {
        /// The path of the directory.
        path: PathBuf,
        /// The id of the user.
        owner: u32,
    },
    /// A file that makes no sense.
    #[error("{}:{line}: {what}", path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The cause, as text.
        what: String,
    },
    /// An identity exists and must not be replaced.
    #[error("an identity already exists: {key} in {}", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// The public key of the identity.
        key: PublicKey,
    },
    /// Another process is writing, and does not finish.
    #[error("{}: another process holds it", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// No key.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl KeyringError {
    pub(crate) fn file(path: &Path, error: io::Error) -> Self {
        let what = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => NO_SPACE.to_owned(),
            _ => error.to_string(),
        };
        Self::File {
            path: path.to_owned(),
            what,
        }
    }

    /// Returns whether a file could not be written because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::File { what, .. } if what == NO_SPACE)
    }

    /// The advice.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Readable { path, .. } if path.ends_with(SERVER_KEY) => Some(format!(
                "`chmod 600 {}` if nobody has read it; otherwise delete it: `agentx serve` creates a new one, and \
                 each client has to run `agentx identity forget HOST:PORT`",
                path_word(path)
            )),
            Self::Readable { path, .. } => Some(format!(
                "`chmod 600 {}` if nobody has read it; otherwise create a new one with `agentx identity new --force`",
                path_word(path)
            )),
            Self::Writable { path, .. } => Some(format!("check it, then `chmod 600 {}`", path_word(path))),
            Self::OpenDirectory { path, .. } => Some(format!(
                "check it, then `chmod 700 {}`, or set AGENTX_DATA to your own directory",
                path_word(path)
            )),
            Self::ForeignFile { path, .. } => {
                Some(format!("check it, then `chown $(id -u) {}`", path_word(path)))
            }
            Self::ForeignDirectory { owner, .. } => Some(format!(
                "start the server as that user, or set AGENTX_DATA to a directory of your own; if that user may \
                 decide what this server does, as with the volume of a container, set AGENTX_DATA_OWNER={owner}"
            )),
            Self::Damaged { .. } => Some("nothing was changed; repair the file or move it away".into()),
            Self::Exists { .. } => Some(
                "--force replaces it permanently; print it first with `agentx identity export --secret`"
                    .into(),
            ),
            Self::File { .. } if self.is_disk_full() => Some("free some disk space".into()),
            Self::File { .. } | Self::Busy { .. } | Self::Key(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart() {
        let full = KeyringError::file(Path::new("identity"), io::ErrorKind::StorageFull.into());
        assert!(full.is_disk_full(), "{full}");
        assert_eq!(full.to_string(), "identity: no space left; nothing was saved");
        assert_eq!(full.hint().as_deref(), Some("free some disk space"));
        let denied = KeyringError::file(Path::new("identity"), io::ErrorKind::PermissionDenied.into());
        assert!(!denied.is_disk_full(), "{denied}");
    }
}
