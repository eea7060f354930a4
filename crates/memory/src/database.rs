//! Opens the database file, and tells its errors in words.

use std::path::Path;
use std::time::Duration;

use agentx_sqlite_log::is_disk_full;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::memory::MemoryError;

/// The time that a call waits for another process.
const BUSY: Duration = Duration::from_secs(5);

/// The result of a call inside of the store.
pub(crate) type SqlResult<T> = Result<T, MemoryFault>;

/// An error inside of the store: of SQLite, or one that the caller can do something about.
pub(crate) enum MemoryFault {
    Sql(rusqlite::Error),
    Memory(MemoryError),
}

impl From<rusqlite::Error> for MemoryFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<MemoryError> for MemoryFault {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

/// Opens a connection, and creates the tables if there are none.
pub(crate) fn set_up(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;",
    )?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let format: u32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if format == 0 {
        transaction.execute_batch(include_str!("schema.sql"))?;
    }
    transaction.commit()?;
    Ok(connection)
}

/// Returns an error of the database at `path` as one of memories.
pub(crate) fn failure(path: &Path, error: &rusqlite::Error) -> MemoryError {
    let path = path.display().to_string();
    if is_disk_full(error) {
        return MemoryError::NoSpace { path };
    }
    MemoryError::Store {
        path,
        what: in_words(error),
    }
}

fn in_words(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "the file is not a database".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => format!("the file is damaged ({error})"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process has locked them for too long".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart() {
        let failed = |code| {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            failure(Path::new("/d/memory.db"), &error).to_string()
        };
        for full in [rusqlite::ffi::SQLITE_FULL, rusqlite::ffi::SQLITE_IOERR_SHMSIZE] {
            assert_eq!(failed(full), "no space left for /d/memory.db; nothing was saved");
        }
        let other = failed(rusqlite::ffi::SQLITE_IOERR_READ);
        assert!(!other.contains("no space left"), "{other}");
    }
}
