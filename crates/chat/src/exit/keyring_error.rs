//! The kind and exit code of errors of the keyring, for programs. Their messages and hints come from the
//! keyring.

use agentx::identity::{KeyError, KeyringError};

use crate::exit::Exit;

/// Returns the stable name of the error for programs.
pub(crate) fn kind(error: &KeyringError) -> &'static str {
    match error {
        KeyringError::File { .. } if error.is_disk_full() => "disk_full",
        KeyringError::File { .. } | KeyringError::Busy { .. } => "storage",
        KeyringError::Readable { .. } => "identity_not_private",
        KeyringError::Writable { .. } => "people_not_private",
        KeyringError::OpenDirectory { .. } => "directory_not_private",
        KeyringError::ForeignFile { .. } => "file_of_another_user",
        KeyringError::ForeignDirectory { .. } => "directory_of_another_user",
        KeyringError::Damaged { .. } => "keyring_damaged",
        KeyringError::Exists { .. } => "identity_exists",
        KeyringError::Key(_) => "key",
    }
}

/// Returns the exit code for the error.
pub(crate) fn exit(error: &KeyringError) -> Exit {
    match error {
        KeyringError::File { .. } | KeyringError::Busy { .. } => Exit::Storage,
        KeyringError::Readable { .. }
        | KeyringError::Writable { .. }
        | KeyringError::OpenDirectory { .. }
        | KeyringError::ForeignFile { .. }
        | KeyringError::ForeignDirectory { .. }
        | KeyringError::Damaged { .. } => Exit::Config,
        KeyringError::Key(KeyError::NoRandomness(_) | KeyError::Rejected) => Exit::Failed,
        KeyringError::Exists { .. } | KeyringError::Key(_) => Exit::Usage,
    }
}
