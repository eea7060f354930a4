//! Opens an SQLite file for one call: checks its path, then limits the connection.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::authorizer::{DatabaseUse, LastRefusal, authorizer};
use super::explained_error::{ErrorPlace, explained};
use super::linear_functions;
use super::options::QueryOptions;
use crate::blocking_work::StopFlag;
use crate::failure::ToolFailure;
use crate::files::special;
use crate::workspace::Scope;

/// The number of SQLite's steps between two checks whether to stop. They take some microseconds, or a second
/// if each step copies the longest value.
const STEPS: i32 = 100;

/// The suffixes of the files that SQLite keeps beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A database that one call has opened.
pub(super) struct OpenedDatabase {
    pub(super) connection: Connection,
    pub(super) used_for: DatabaseUse,
    /// The path as the call names it.
    pub(super) name: String,
    pub(super) refusal: LastRefusal,
    pub(super) stop: StopFlag,
}

impl OpenedDatabase {
    /// Opens the file at `path` for this purpose.
    ///
    /// # Errors
    /// Returns `Denied` for a path that the call may not open, and a failure if there is no database.
    pub(super) fn open(
        scope: &Scope,
        path: &str,
        used_for: DatabaseUse,
        options: &QueryOptions,
        stop: &StopFlag,
    ) -> Result<Self, ToolFailure> {
        let (real, metadata) = scope.resolve_existing(path)?;
        check_place(path, &real, &metadata, scope, options)?;
        let access = match used_for {
            DatabaseUse::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            DatabaseUse::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let refusal = LastRefusal::default();
        let place = ErrorPlace {
            name: path,
            used_for,
            stop,
            options,
        };
        let connection = Connection::open_with_flags(&real, flags)
            .and_then(|connection| limited(connection, used_for, options, stop, &refusal))
            .map_err(|error| explained(&error, place, None, ""))?;
        check_names(&connection).map_err(|error| explained(&error, place, None, ""))?;
        Ok(Self {
            connection,
            used_for,
            name: path.to_owned(),
            refusal,
            stop: stop.clone(),
        })
    }
}

/// Checks that a database is a regular file that calls may open, and that the files beside it are not links.
fn check_place(
    path: &str,
    real: &Path,
    metadata: &Metadata,
    scope: &Scope,
    options: &QueryOptions,
) -> Result<(), ToolFailure> {
    if let Some(what) = special(metadata) {
        return Err(ToolFailure::failed(format!(
            "{path} is {what}, not a database file."
        )));
    }
    let workspace = scope.real_root();
    if options
        .refused
        .iter()
        .any(|refused| is_refused(refused, real, metadata, &workspace))
    {
        return Err(ToolFailure::denied(format!(
            "{path} belongs to AgentX itself; no query opens it."
        )));
    }
    let linked = BESIDE
        .iter()
        .find(|ending| is_link(&companion_path(real, ending)));
    match linked {
        Some(ending) => Err(ToolFailure::denied(format!(
            "{path}{ending} is a symbolic link, and SQLite would use the file that it leads to; the database is not opened."
        ))),
        None => Ok(()),
    }
}

/// Returns whether a file is `refused`, is below it, or is a hard link to it. A workspace below `refused`
/// (that of a member of a server) may be opened.
fn is_refused(refused: &Path, real: &Path, metadata: &Metadata, workspace: &Path) -> bool {
    let Ok(refused) = fs::canonicalize(refused) else {
        return false;
    };
    let in_workspace = workspace != refused && workspace.starts_with(&refused) && real.starts_with(workspace);
    let is_same = fs::metadata(&refused)
        .is_ok_and(|other| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino()));
    is_same || (real.starts_with(&refused) && !in_workspace)
}

fn companion_path(real: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(real);
    name.push(ending);
    name.into()
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// The maximum length of a pattern of LIKE and GLOB in bytes: the time of a comparison grows with it.
const LONGEST_PATTERN: i32 = 256;

/// Sets the limits of a connection. The authorizer is set last, so that it needs no exceptions for this.
fn limited(
    mut connection: Connection,
    used_for: DatabaseUse,
    options: &QueryOptions,
    stop: &StopFlag,
    refusal: &LastRefusal,
) -> rusqlite::Result<Connection> {
    connection.busy_timeout(options.lock_wait)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, options.sqlite_value_bytes)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, LONGEST_PATTERN)?;
    let longest = usize::try_from(options.sqlite_value_bytes).unwrap_or_default();
    linear_functions::register(&connection, longest)?;
    // The schema is untrusted: the functions that it names run only if they are harmless, and it cannot be
    // damaged.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    let stop = stop.clone();
    connection.progress_handler(STEPS, Some(move || stop.due()))?;
    connection.authorizer(Some(authorizer(used_for, refusal.clone())))?;
    Ok(connection)
}

/// Refuses a database whose schema is not UTF-8, because column names come from it.
fn check_names(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if let ValueRef::Text(sql) = row.get_ref(0)? {
            std::str::from_utf8(sql).map_err(|error| rusqlite::Error::Utf8Error(0, error))?;
        }
    }
    Ok(())
}
