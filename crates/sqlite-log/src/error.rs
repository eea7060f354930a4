//! Converts errors of SQLite to errors on which a person can act. Every other module returns a [`Fault`]; the
//! front of the crate turns it into a [`LogError`] with the file's name.

use std::path::Path;
use std::sync::Arc;

use agentx_runtime::LogError;
use rusqlite::ErrorCode;

/// An error inside this crate.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    Log(LogError),
    /// A text.
    Other(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<LogError> for Fault {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl Fault {
    /// The session does not exist.
    pub(crate) fn not_found(session: impl AsRef<str>) -> Self {
        Self::Log(LogError::NotFound(session.as_ref().to_owned()))
    }

    /// Returns whether SQLite (not this crate's own checks) refused: then a transaction has to be rolled
    /// back.
    pub(crate) fn is_sql(&self) -> bool {
        matches!(self, Self::Sql(_))
    }

    /// Returns whether another process is writing.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Sql(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy))
    }
}

/// The database file, by name.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseFile(Arc<str>);

impl DatabaseFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self(Arc::from(path.display().to_string()))
    }

    pub(crate) fn path(&self) -> String {
        self.0.to_string()
    }

    /// An error about this file.
    pub(crate) fn log_error(&self, what: impl Into<String>) -> LogError {
        LogError::Store {
            path: self.path(),
            what: what.into(),
        }
    }

    /// The error that a caller sees.
    pub(crate) fn error(&self, fault: Fault) -> LogError {
        match fault {
            Fault::Log(error) => error,
            Fault::Other(what) => self.log_error(what),
            Fault::Sql(error) => match error.sqlite_error_code() {
                _ if is_disk_full(&error) => LogError::Full { path: self.path() },
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    LogError::Locked { path: self.path() }
                }
                code => self.log_error(in_words(code, &error)),
            },
        }
    }
}

/// Returns whether the disk is full. If there is no room for the index of the write-ahead log, SQLite reports
/// an input/output error instead.
pub fn is_disk_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

fn in_words(code: Option<ErrorCode>, error: &rusqlite::Error) -> String {
    match code {
        Some(ErrorCode::NotADatabase) => "not a database of AgentX: the file is not SQLite".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => format!("the database file is damaged ({error})"),
        Some(ErrorCode::ReadOnly) => "the database can only be read: check who owns the file".to_owned(),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            format!("the database cannot be opened: check its permissions ({error})")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_also_if_the_index_of_the_write_ahead_log_has_no_room() {
        let place = DatabaseFile::new(Path::new("sessions.db"));
        let failed =
            |code| place.error(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None).into());
        for full in [rusqlite::ffi::SQLITE_FULL, rusqlite::ffi::SQLITE_IOERR_SHMSIZE] {
            let failed = failed(full);
            assert!(matches!(failed, LogError::Full { .. }), "{failed}");
        }
        let other = failed(rusqlite::ffi::SQLITE_IOERR_READ);
        assert!(matches!(other, LogError::Store { .. }), "{other}");
    }
}
