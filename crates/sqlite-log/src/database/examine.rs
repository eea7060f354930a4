//! Examines a database without changing it: whether it opens, its format, and whether SQLite finds damage.
//! For programs that search for problems.

use std::path::Path;

use agentx_runtime::LogError;
use agentx_types::Timestamp;
use rusqlite::{Connection, OpenFlags};

use crate::database::schema::{header, refuse_to_begin_anew};
use crate::error::{DatabaseFile, Fault};
use crate::keys::unsigned;

/// A database that has more bytes is not read in full.
const MOST_BYTES: u64 = 1 << 30;
/// Maximum number of problems to report.
const MOST_PROBLEMS: usize = 3;

/// The findings about a database file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The format of the database.
    pub format: u32,
    /// The size, in bytes.
    pub bytes: u64,
    /// The number of sessions that are not deleted.
    pub sessions: u64,
    /// The time of its latest commit, if there is one.
    pub latest: Option<Timestamp>,
    /// Whether all of its pages were examined; a very large one is not read in full.
    pub checked: bool,
    /// The problems that SQLite reports; empty if there are none.
    pub problems: Vec<String>,
}

/// Examines the database at `path`; `None` if there is none.
///
/// # Errors
/// Returns an error if it cannot be opened, is not a database of AgentX, or is missing while its write-ahead
/// log exists.
pub fn examine(path: &Path) -> Result<Option<Examined>, LogError> {
    let place = DatabaseFile::new(path);
    refuse_to_begin_anew(path, &place)?;
    if !path.exists() {
        return Ok(None);
    }
    look(path, &place).map(Some).map_err(|fault| place.error(fault))
}

fn look(path: &Path, place: &DatabaseFile) -> Result<Examined, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(std::time::Duration::from_secs(1))?;
    let format = match header(&connection)? {
        (_, application) if application != crate::database::schema::APPLICATION_ID => {
            let what = "not a database of AgentX: it belongs to another program";
            return Err(place.log_error(what).into());
        }
        (format, _) => format,
    };
    let pages: u64 = connection.pragma_query_value(None, "page_count", |row| unsigned(row, 0))?;
    let page: u64 = connection.pragma_query_value(None, "page_size", |row| unsigned(row, 0))?;
    let bytes = pages * page;
    let checked = bytes <= MOST_BYTES;
    let problems = if checked {
        problems(&connection)?
    } else {
        Vec::new()
    };
    // Rows of a damaged database may not be countable.
    let counted = connection.query_row(
        "SELECT count(*), max(updated_at) FROM sessions WHERE deleted_at IS NULL",
        [],
        |row| Ok((unsigned(row, 0)?, row.get::<_, Option<i64>>(1)?)),
    );
    let (sessions, latest) = match counted {
        Ok(counted) => counted,
        Err(error) if problems.is_empty() => return Err(error.into()),
        Err(_) => (0, None),
    };
    Ok(Examined {
        format,
        bytes,
        sessions,
        latest: latest.map(Timestamp),
        checked,
        problems,
    })
}

fn problems(connection: &Connection) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({MOST_PROBLEMS})"))?;
    let found = statement.query_map([], |row| row.get::<_, String>(0))?;
    let found = found.collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().filter(|line| line != "ok").collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;
    use crate::{FORMAT, LogOptions, SqliteLog};

    #[test]
    fn a_database_is_looked_at_and_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sessions.db");
        assert_eq!(examine(&path).unwrap(), None);
        drop(SqliteLog::open(&path, LogOptions::default()).unwrap());
        let found = examine(&path).unwrap().unwrap();
        assert_eq!((found.format, found.sessions, found.latest), (FORMAT, 0, None));
        assert!(found.checked && found.problems.is_empty(), "{found:?}");
        let other = directory.path().join("other.db");
        let connection = Connection::open(&other).unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(
            examine(&other)
                .unwrap_err()
                .to_string()
                .contains("another program")
        );
        std::fs::write(&other, "not a database at all, but long enough to be looked at").unwrap();
        assert!(examine(&other).is_err());
    }
}
