//! The error of a file or a stream that cannot be written. A full disk is a separate case, as for a session:
//! a script may write again once there is space.

use std::io::{self, ErrorKind};

use crate::error::ChatError;
use crate::exit::Exit;

/// Returns the error of writing to a path, or to a stream that the path names.
pub fn unwritten(path: &str, error: &io::Error) -> ChatError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ChatError::Run {
            exit: Exit::Storage,
            code: "disk_full".into(),
            message: format!("{path}: no space left"),
        },
        _ => ChatError::File {
            path: path.to_owned(),
            what: error.to_string(),
        },
    }
}

/// Errors of writing to standard output and error.
impl From<io::Error> for ChatError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::ClosedOutput,
            _ => unwritten("output", &error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_what_else_cannot_be_written() {
        let full = unwritten("session.json", &ErrorKind::StorageFull.into());
        assert_eq!((full.kind(), full.exit()), ("disk_full", Exit::Storage));
        assert_eq!(full.to_string(), "session.json: no space left");
        assert_eq!(full.hint().as_deref(), Some("free some disk space"));
        let output = ChatError::from(io::Error::from(ErrorKind::StorageFull));
        assert_eq!((output.kind(), output.exit()), ("disk_full", Exit::Storage));
        let denied = unwritten("session.json", &ErrorKind::PermissionDenied.into());
        assert_eq!((denied.kind(), denied.exit()), ("file", Exit::Failed));
    }
}
