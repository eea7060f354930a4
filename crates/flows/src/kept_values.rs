//! The values that tools of a folder keep. They belong to the folder, not to its path: values of another
//! folder that was at that path are kept for it, out of reach.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use agentx_types::{CurrentFolder, FolderId, OwnerId};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, params};

/// The file of the keys that tools keep.
pub(crate) const DATABASE: &str = "flows.db";
/// The time to wait while another process holds the database.
const BUSY: Duration = Duration::from_secs(5);
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(2);

/// `places` has the name under which a folder's values are stored, and `answered` the calls with a key of
/// their own.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS kv (
    owner TEXT NOT NULL, space TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (owner, space, key)) WITHOUT ROWID, STRICT;
    CREATE TABLE IF NOT EXISTS places (
    path TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (path, id)) WITHOUT ROWID, STRICT;
    CREATE TABLE IF NOT EXISTS answered (
    owner TEXT NOT NULL, space TEXT NOT NULL, key TEXT NOT NULL, arguments TEXT NOT NULL,
    holder TEXT NOT NULL, outcome TEXT, at INTEGER NOT NULL,
    PRIMARY KEY (owner, space, key)) WITHOUT ROWID, STRICT";

const OF_FOLDER: &str = "FROM kv WHERE substr(space, 1, length(?1)) = ?1";

/// Returns the prefix of a folder's key spaces in the store. The length separates names that contain line
/// breaks.
pub(crate) fn prefix(name: &str) -> String {
    format!("{}:{name}\n", name.len())
}

/// Opens the database, and creates it if there is none, readable only by its owner.
pub(crate) fn open(path: &Path) -> rusqlite::Result<Connection> {
    close_to_others(path);
    prepared(Connection::open(path)?)
}

/// Opens a database that lives as long as the process.
pub(crate) fn open_in_memory() -> rusqlite::Result<Connection> {
    prepared(Connection::open_in_memory()?)
}

fn prepared(database: Connection) -> rusqlite::Result<Connection> {
    database.busy_timeout(BUSY)?;
    write_ahead(&database)?;
    database.execute_batch(SCHEMA)?;
    Ok(database)
}

/// Turns the write-ahead log on. If several processes do this at the same time, SQLite answers "locked" at
/// once, regardless of its timeout.
fn write_ahead(database: &Connection) -> rusqlite::Result<()> {
    let end = Instant::now() + BUSY;
    loop {
        match database.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < end =>
            {
                std::thread::sleep(BETWEEN_ATTEMPTS);
            }
            done => return done,
        }
    }
}

/// Creates the database if it is missing, and removes the rights of other users from it and from SQLite's
/// files next to it. If that fails, opening it reports SQLite's error.
fn close_to_others(path: &Path) {
    let _ = agentx_files::create_private(path);
    let _ = agentx_files::close_database_to_others(path);
}

/// Returns the name under which the current folder at a path stores its values; records a new one if it has
/// none.
pub(crate) fn settle(
    database: &mut Connection,
    folder: &str,
    now: &CurrentFolder,
) -> rusqlite::Result<String> {
    if let Some((Some(id), name)) = known(database, folder, Some(now))?
        && id == now.id
    {
        return Ok(name);
    }
    let change = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (id, name) = match known(&change, folder, Some(now))? {
        Some(found) => found,
        None => (None, format!("{folder}\n{}", now.id.as_str())),
    };
    if let Some(id) = id {
        let before = params![folder, id.as_str()];
        change.execute("DELETE FROM places WHERE path = ?1 AND id = ?2", before)?;
    }
    change.execute(
        "INSERT OR REPLACE INTO places (path, id, name) VALUES (?1, ?2, ?3)",
        params![folder, now.id.as_str(), name],
    )?;
    change.commit()?;
    Ok(name)
}

/// Returns the record of the folder at a path: its identity, and its name. Values that an older program kept
/// by the path alone belong to the current folder if nothing is recorded yet.
fn known(
    database: &Connection,
    folder: &str,
    now: Option<&CurrentFolder>,
) -> rusqlite::Result<Option<(Option<FolderId>, String)>> {
    let by_path = || (None, folder.to_owned());
    let Some(now) = now else {
        return Ok(Some(by_path()));
    };
    let mut query = database.prepare("SELECT id, name FROM places WHERE path = ?1")?;
    let rows = query.query_map([folder], |row| {
        Ok((FolderId::from_recorded(row.get::<_, String>(0)?), row.get(1)?))
    })?;
    let noted: Vec<(FolderId, String)> = rows.collect::<Result<_, _>>()?;
    if noted.is_empty() {
        let older: Option<i64> = database
            .query_row(
                &format!("SELECT 1 {OF_FOLDER} LIMIT 1"),
                [prefix(folder)],
                |row| row.get(0),
            )
            .optional()?;
        return Ok(older.map(|_| by_path()));
    }
    let exact = noted.iter().find(|(id, _)| *id == now.id);
    let found = exact.or_else(|| noted.iter().find(|(id, _)| now.matches(id)));
    Ok(found.map(|(id, name)| (Some(id.clone()), name.clone())))
}

/// Returns the number of values that the tools of the folder at a path keep in each of their key spaces.
/// Without `now`, folders are identified by their path alone.
///
/// # Errors
/// Returns an error if the database cannot be read.
pub fn kept_values(
    data_dir: &Path,
    folder: &Path,
    now: Option<&CurrentFolder>,
) -> rusqlite::Result<BTreeMap<String, u32>> {
    let Some((database, start)) = existing(data_dir, folder, now)? else {
        return Ok(BTreeMap::new());
    };
    let mut spaces = BTreeMap::new();
    let mut query = database.prepare(&format!("SELECT space, count(*) {OF_FOLDER} GROUP BY space"))?;
    let rows = query.query_map([&start], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    for row in rows {
        let (space, count): (String, u32) = row?;
        spaces.insert(space.strip_prefix(&start).unwrap_or(&space).to_owned(), count);
    }
    Ok(spaces)
}

/// Returns the bytes of all keys and values that an owner's tools keep, wherever the tools are from.
///
/// # Errors
/// Returns an error if the database cannot be read.
pub fn kept_bytes(data_dir: &Path, owner: &OwnerId) -> rusqlite::Result<u64> {
    let path = data_dir.join(DATABASE);
    if !path.exists() {
        return Ok(0);
    }
    bytes_of(&open(&path)?, owner.as_str())
}

/// The bytes of the keys and values of an owner; SQLite reads only the sizes.
pub(crate) fn bytes_of(database: &Connection, owner: &str) -> rusqlite::Result<u64> {
    let mut query = database.prepare_cached(
        "SELECT coalesce(sum(octet_length(key) + octet_length(value)), 0) FROM kv WHERE owner = ?1",
    )?;
    query.query_row([owner], |row| row.get::<_, i64>(0).map(i64::unsigned_abs))
}

/// Removes the values of the tools of the folder that is at a path `now`, and the keys of their calls; those
/// of an earlier folder at this path stay.
///
/// # Errors
/// Returns an error if the database cannot be written.
pub fn forget_values(data_dir: &Path, folder: &Path, now: Option<&CurrentFolder>) -> rusqlite::Result<()> {
    let Some((database, start)) = existing(data_dir, folder, now)? else {
        return Ok(());
    };
    database.execute(&format!("DELETE {OF_FOLDER}"), [&start])?;
    let of_folder = "DELETE FROM answered WHERE substr(space, 1, length(?1)) = ?1";
    database.execute(of_folder, [&start]).map(drop)
}

/// Returns the database, if there is one, with the prefix of the folder's key spaces, if it has one.
fn existing(
    data_dir: &Path,
    folder: &Path,
    now: Option<&CurrentFolder>,
) -> rusqlite::Result<Option<(Connection, String)>> {
    let path = data_dir.join(DATABASE);
    if !path.exists() {
        return Ok(None);
    }
    let database = open(&path)?;
    let found = known(&database, &folder.to_string_lossy(), now)?;
    Ok(found.map(|(_, name)| (database, prefix(&name))))
}
