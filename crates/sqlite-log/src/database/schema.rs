//! Opens a database: checks the file and its format, and sets up a connection. Called when a log is opened
//! and for each connection after that.
//!
//! It is fast if the schema exists: one read of the header shows that.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agentx_files::{create_private, make_private_directory};
use agentx_runtime::LogError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::database::options::{Durability, LogOptions};
use crate::error::{DatabaseFile, Fault};

/// The format that this version writes, kept in `PRAGMA user_version`.
pub const FORMAT: u32 = 1;
/// "AgtX", kept in `PRAGMA application_id`.
pub(crate) const APPLICATION_ID: u32 = 0x4167_7458;
/// A write-ahead log of this length has no commits.
const WAL_HEADER_BYTES: u64 = 32;
/// The time between two attempts to turn the write-ahead log on.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(2);
const SCHEMA: &str = include_str!("schema.sql");

/// The location of the database.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    File(PathBuf),
    Memory,
}

/// The first connection of a process to a database.
pub(crate) struct FirstConnection {
    pub(crate) connection: Connection,
    /// The format of the database if it is newer than this version's.
    pub(crate) newer: Option<u32>,
    /// Whether opening it made tables.
    pub(crate) made_tables: bool,
}

/// Opens the database for the first time in this process; creates it if there is none.
pub(crate) fn open_first(
    location: &Location,
    options: &LogOptions,
    place: &DatabaseFile,
) -> Result<FirstConnection, LogError> {
    if let Location::File(path) = location {
        refuse_to_begin_anew(path, place)?;
        make_file(path).map_err(|e| place.log_error(format!("the database cannot be made: {e}")))?;
    }
    let mut connection = connect(location, options).map_err(|e| place.error(e))?;
    let before = tables_version(&connection).map_err(|e| place.error(e))?;
    let format = set_up(&mut connection, options, place).map_err(|e| place.error(e))?;
    let made_tables = tables_version(&connection).map_err(|e| place.error(e))? != before;
    let newer = (format > FORMAT).then_some(format);
    if newer.is_some() {
        connection
            .pragma_update(None, "query_only", true)
            .map_err(|e| place.error(e.into()))?;
    }
    tracing::debug!(path = place.path(), format, "session log opened");
    Ok(FirstConnection {
        connection,
        newer,
        made_tables,
    })
}

/// Returns a number that SQLite raises with each change of the tables.
fn tables_version(connection: &Connection) -> Result<i64, Fault> {
    Ok(connection.pragma_query_value(None, "schema_version", |row| row.get(0))?)
}

/// Opens another connection to an open database.
pub(crate) fn open_reader(location: &Location, options: &LogOptions) -> Result<Connection, Fault> {
    let connection = connect(location, options)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -1024)?;
    Ok(connection)
}

/// A connection with the settings that all have.
pub(crate) fn connect(location: &Location, options: &LogOptions) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match location {
        Location::File(path) => Connection::open_with_flags(path, flags)?,
        Location::Memory => Connection::open_in_memory()?,
    };
    connection.busy_timeout(options.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Checkpoints are made by checkpoint.rs, not when a connection is closed.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch(
        "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cache_size = -2048;
         PRAGMA journal_size_limit = 134217728; PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = FAST;",
    )?;
    set_durability(&connection, options)?;
    if let Some(bytes) = options.max_bytes {
        let page_size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page_size.max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(connection)
}

fn set_durability(connection: &Connection, options: &LogOptions) -> Result<(), Fault> {
    let synchronous = match options.durability {
        Durability::Process => "NORMAL",
        Durability::Machine => "FULL",
    };
    Ok(connection.pragma_update(None, "synchronous", synchronous)?)
}

pub(crate) fn header(connection: &Connection) -> Result<(u32, u32), Fault> {
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok((format, application))
}

/// Creates the schema if there is none yet, and adds missing parts to a database of this format. Returns its
/// format.
fn set_up(connection: &mut Connection, options: &LogOptions, place: &DatabaseFile) -> Result<u32, Fault> {
    let (format, application) = header(connection)?;
    if format == 0 && application == 0 {
        return create(connection, options, place);
    }
    if application != APPLICATION_ID {
        return Err(place
            .log_error("not a database of AgentX: it belongs to another program")
            .into());
    }
    if format == FORMAT {
        add_later_tables(connection, place);
    }
    Ok(format)
}

/// A database of this format from before sessions could be shared has no table for roles, and an early one no
/// table for estimates, unknown prices and reminders. If it can only be read, only owners have a role, and
/// these are unknown.
fn add_later_tables(connection: &Connection, place: &DatabaseFile) {
    let added = connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS roles (person TEXT NOT NULL, session INTEGER NOT NULL, role TEXT NOT NULL,
           PRIMARY KEY (person, session)) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS estimated (session INTEGER NOT NULL, seq INTEGER NOT NULL, tokens INTEGER NOT NULL,
           PRIMARY KEY (session, seq)) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS unpriced (session INTEGER NOT NULL, seq INTEGER NOT NULL, tokens INTEGER NOT NULL,
           PRIMARY KEY (session, seq)) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS reminders (session INTEGER PRIMARY KEY, due_at INTEGER NOT NULL)",
    );
    if let Err(error) = added {
        tracing::warn!(path = place.path(), %error, "there is no table for roles, estimates and reminders");
    }
}

/// Turns the write-ahead log on. If several processes do this at the same time, SQLite ignores `busy_timeout`
/// and answers "locked" immediately, so that they cannot wait for each other forever.
fn write_ahead(connection: &Connection, patience: Duration) -> Result<(), Fault> {
    let end = Instant::now() + patience;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < end =>
            {
                std::thread::sleep(BETWEEN_ATTEMPTS);
            }
            done => return Ok(done?),
        }
    }
}

/// Makes the schema. There is nothing yet that could be lost, so this does not wait for the disk.
fn create(connection: &mut Connection, options: &LogOptions, place: &DatabaseFile) -> Result<u32, Fault> {
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;")?;
    write_ahead(connection, options.busy_timeout)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have made the schema since the header was read.
    let (format, application) = header(&transaction)?;
    if format == 0 && application == 0 {
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 {
            return Err(place
                .log_error("not a database of AgentX: it has other tables")
                .into());
        }
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()?;
    set_durability(connection, options)?;
    Ok(format.max(FORMAT))
}

/// Refuses a missing or empty database with a write-ahead log that has commits: SQLite would discard that log
/// and begin an empty database.
pub(crate) fn refuse_to_begin_anew(path: &Path, place: &DatabaseFile) -> Result<(), LogError> {
    let bytes = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // The log first: another process that makes the database writes to the database before it writes to the
    // log.
    if bytes(Path::new(&log)) <= WAL_HEADER_BYTES || bytes(path) > 0 {
        return Ok(());
    }
    let log = log.display();
    Err(place.log_error(format!(
        "the database is missing or empty, but its write-ahead log {log} has commits"
    )))
}

/// Creates the file and its directory if they are missing, readable only by the owner, and removes the rights
/// of others on an existing file.
fn make_file(path: &Path) -> std::io::Result<()> {
    if path.exists() {
        close_to_others(path);
        return Ok(());
    }
    if let Some(directory) = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    {
        make_private_directory(directory)?;
    }
    create_private(path).map(drop)
}

/// Removes the rights of other users, also on SQLite's files next to it. A file with another owner stays
/// unchanged.
fn close_to_others(path: &Path) {
    match agentx_files::close_database_to_others(path) {
        Ok(None) => {}
        Ok(Some(mode)) => tracing::warn!(
            path = %path.display(),
            "others could read the sessions in this file (mode {mode:04o}); now only its owner can"
        ),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "others can read the sessions in this file")
        }
    }
}
