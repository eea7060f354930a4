//! What tools of a folder keep: it belongs to the folder, not to its path.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agentx_types::FolderId;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::tools::DATABASE;

/// How long another process may hold the database.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

pub(crate) const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS kv (
    owner TEXT NOT NULL, space TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (owner, space, key)) WITHOUT ROWID, STRICT;
    CREATE TABLE IF NOT EXISTS folders (path TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID, STRICT";

const OF_FOLDER: &str = "FROM kv WHERE substr(space, 1, length(?1)) = ?1";

/// How the key spaces of a folder begin in the store. The length keeps names apart that hold line breaks.
pub(crate) fn prefix(folder: &str) -> String {
    format!("{}:{folder}\n", folder.len())
}

/// Notes which folder lies at a path now. What another one kept there is removed.
pub(crate) fn settle(database: &mut Connection, folder: &str, now: &FolderId) -> rusqlite::Result<()> {
    let recorded: Option<String> = database
        .query_row("SELECT id FROM folders WHERE path = ?1", [folder], |row| {
            row.get(0)
        })
        .optional()?;
    let recorded = recorded.map(FolderId::written);
    if recorded.as_ref() == Some(now) {
        return Ok(());
    }
    let change = database.transaction()?;
    if recorded.is_some_and(|recorded| !recorded.is(Some(now))) {
        change.execute(&format!("DELETE {OF_FOLDER}"), [prefix(folder)])?;
    }
    change.execute(
        "INSERT OR REPLACE INTO folders (path, id) VALUES (?1, ?2)",
        params![folder, now.as_str()],
    )?;
    change.commit()
}

/// How many values the tools of a folder keep in each of their key spaces.
///
/// # Errors
/// Where the database cannot be read.
pub fn kept_values(data_dir: &Path, folder: &Path) -> rusqlite::Result<BTreeMap<String, u32>> {
    let Some(database) = existing(data_dir)? else {
        return Ok(BTreeMap::new());
    };
    let start = prefix(&folder.to_string_lossy());
    let mut spaces = BTreeMap::new();
    let mut query = database.prepare(&format!("SELECT space, count(*) {OF_FOLDER} GROUP BY space"))?;
    let rows = query.query_map([&start], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
    for row in rows {
        let (space, count): (String, u32) = row?;
        spaces.insert(space.strip_prefix(&start).unwrap_or(&space).to_owned(), count);
    }
    Ok(spaces)
}

/// Removes what the tools of a folder keep.
///
/// # Errors
/// Where the database cannot be written.
pub fn forget_values(data_dir: &Path, folder: &Path) -> rusqlite::Result<()> {
    let Some(database) = existing(data_dir)? else {
        return Ok(());
    };
    let start = prefix(&folder.to_string_lossy());
    database
        .execute(&format!("DELETE {OF_FOLDER}"), [start])
        .map(drop)
}

/// The database, where there is one.
fn existing(data_dir: &Path) -> rusqlite::Result<Option<Connection>> {
    let path = data_dir.join(DATABASE);
    if !path.exists() {
        return Ok(None);
    }
    let database = Connection::open(path)?;
    database.busy_timeout(BUSY)?;
    database.execute_batch(SCHEMA)?;
    Ok(Some(database))
}
