//! The store of one person's memories: a SQLite database in their data directory.
//!
//! Several processes may use it at once. Every call is one short transaction, and blocks: callers on a tokio
//! thread use `spawn_blocking`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentx_types::{OwnerId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::database::{MemoryFault, SqlResult, failure, set_up};
use crate::memory::{
    MAX_MEMORIES, MAX_WAITING, Memory, MemoryEdit, MemoryError, MemoryFilter, MemoryState, NewMemory,
    checked_text,
};
use crate::query::queries;
use crate::rows::{COLUMNS, index, memory, take};
use crate::telling_words::{WantedWords, telling_words};

/// The name of the database in the data directory.
pub const MEMORY_DATABASE: &str = "memory.db";
/// The format that this version writes.
const FORMAT: u32 = 1;

/// The memories of one person. Clone the `Arc` around it to share it.
pub struct MemoryStore {
    path: PathBuf,
    owner: OwnerId,
    connection: Mutex<Connection>,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// Opens the database of a person in a data directory, and creates it if there is none. Other users of
    /// the machine cannot read it.
    ///
    /// # Errors
    /// Returns an error if it cannot be created or opened, or a newer version wrote it.
    pub fn open(data_dir: &Path, owner: OwnerId) -> Result<Self, MemoryError> {
        let path = data_dir.join(MEMORY_DATABASE);
        let unusable = |what: String| MemoryError::Store {
            path: path.display().to_string(),
            what,
        };
        agentx_files::make_private_directory(data_dir).map_err(|error| unusable(error.to_string()))?;
        agentx_files::create_private(&path).map_err(|error| unusable(error.to_string()))?;
        // An existing file may have been readable. Who cannot change that can still use it.
        let _ = agentx_files::close_database_to_others(&path);
        let connection = set_up(&path).map_err(|error| failure(&path, &error))?;
        let format: u32 = connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(|error| failure(&path, &error))?;
        if format > FORMAT {
            return Err(unusable(format!(
                "a newer version of AgentX wrote them (format {format})"
            )));
        }
        Ok(Self {
            path,
            owner,
            connection: Mutex::new(connection),
        })
    }

    /// Stores a memory at the time `now`. Also returns whether it is new: the same words in the same folder
    /// are stored once, and a call that is repeated after a crash gets what it stored.
    ///
    /// # Errors
    /// Returns an error if the text is invalid, a bound is reached, or the database cannot be used.
    pub fn add(&self, new: &NewMemory, now: Timestamp) -> Result<(Memory, bool), MemoryError> {
        let text = checked_text(&new.text)?;
        self.write(|transaction| {
            if let Some(known) = self.same(transaction, &text, new)? {
                return Ok((known, false));
            }
            self.check_room(transaction, new.state)?;
            let (session, seq) = new.origin.as_ref().map_or(("", 0), |origin| {
                (
                    origin.session.as_str(),
                    i64::try_from(origin.seq).unwrap_or(i64::MAX),
                )
            });
            transaction
                .prepare_cached(
                    "INSERT INTO memories (owner, text, state, pinned, folder, session, seq, call, revision, \
                     created_at, changed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, ?9, ?9)",
                )?
                .execute(params![
                    self.owner.as_str(),
                    text,
                    new.state.word(),
                    new.pinned,
                    new.folder.as_deref().unwrap_or_default(),
                    session,
                    seq,
                    new.call.as_deref().unwrap_or_default(),
                    now.0,
                ])?;
            let id = transaction.last_insert_rowid();
            index(transaction, id, &text)?;
            Ok((self.of_id(transaction, id)?, true))
        })
    }

    /// The memory of this number.
    ///
    /// # Errors
    /// Returns [`MemoryError::NotFound`] if there is none, or an error if the database cannot be used.
    pub fn get(&self, id: i64) -> Result<Memory, MemoryError> {
        self.read(|connection| self.of_id(connection, id))
    }

    /// The latest memories that the filter wants, up to `limit`, the latest first.
    ///
    /// # Errors
    /// Returns an error if the database cannot be used.
    pub fn list(&self, filter: &MemoryFilter, limit: usize) -> Result<Vec<Memory>, MemoryError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM memories m WHERE m.owner = ?1 AND (?2 = '' OR m.state = ?2) ORDER BY m.id DESC"
            ))?;
            let state = filter.state.map_or("", MemoryState::word);
            let rows = statement.query_map(params![self.owner.as_str(), state], memory)?;
            take(rows, filter, limit)
        })
    }

    /// Returns the number of memories in this state.
    ///
    /// # Errors
    /// Returns an error if the database cannot be used.
    pub fn count(&self, state: MemoryState) -> Result<u64, MemoryError> {
        self.read(|connection| self.counted(connection, state))
    }

    /// The memories that have words of `text`, up to `limit`, the best first. Words that very many memories
    /// have count only if there are no others; then the latest of them are returned.
    ///
    /// # Errors
    /// Returns an error if the database cannot be used.
    pub fn search(
        &self,
        text: &str,
        filter: &MemoryFilter,
        limit: usize,
    ) -> Result<Vec<Memory>, MemoryError> {
        self.read(|connection| {
            let wanted = telling_words(connection, queries(text))?;
            self.matching(connection, wanted, filter, limit)
        })
    }

    /// The accepted memories for an input in `workspace`, the best first: the pinned ones, then those that
    /// have its words. Words that very many memories have find nothing.
    ///
    /// # Errors
    /// Returns an error if the database cannot be used.
    pub fn recall(&self, text: &str, workspace: &str, limit: usize) -> Result<Vec<Memory>, MemoryError> {
        let filter = MemoryFilter {
            state: Some(MemoryState::Accepted),
            workspace: Some(workspace.to_owned()),
        };
        let mut recalled = self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM memories m INDEXED BY memories_pinned
                 WHERE m.owner = ?1 AND m.pinned = 1 AND m.state = 'accepted' ORDER BY m.id"
            ))?;
            let rows = statement.query_map([self.owner.as_str()], memory)?;
            take(rows, &filter, limit)
        })?;
        let found = self.read(|connection| {
            let wanted = telling_words(connection, queries(text))?;
            let wanted = wanted.filter(|wanted| !wanted.is_common);
            self.matching(connection, wanted, &filter, limit)
        })?;
        recalled.extend(found.into_iter().filter(|memory| !memory.pinned));
        recalled.truncate(limit);
        Ok(recalled)
    }

    /// Changes a memory at the time `now`.
    ///
    /// # Errors
    /// Returns [`MemoryError::NotFound`] if there is none of this number, or an error if the text is invalid
    /// or the database cannot be used.
    pub fn edit(&self, id: i64, edit: &MemoryEdit, now: Timestamp) -> Result<Memory, MemoryError> {
        let text = edit.text.as_deref().map(checked_text).transpose()?;
        let has_text = text.is_some();
        let edited = self.write(|transaction| {
            let before = self.of_id(transaction, id)?;
            let text = text.unwrap_or_else(|| before.text.clone());
            let revision = before.revision + u32::from(text != before.text);
            let folder = edit.folder.clone().unwrap_or(before.folder).unwrap_or_default();
            transaction
                .prepare_cached(
                    "UPDATE memories SET text = ?2, state = ?3, pinned = ?4, folder = ?5, revision = ?6, \
                     changed_at = ?7 WHERE id = ?1",
                )?
                .execute(params![
                    id,
                    text,
                    edit.state.unwrap_or(before.state).word(),
                    edit.pinned.unwrap_or(before.pinned),
                    folder,
                    revision,
                    now.0,
                ])?;
            index(transaction, id, &text)?;
            self.of_id(transaction, id)
        })?;
        if has_text {
            self.forget_words()?;
        }
        Ok(edited)
    }

    /// Deletes a memory.
    ///
    /// # Errors
    /// Returns [`MemoryError::NotFound`] if there is none of this number, or an error if the database cannot
    /// be used.
    pub fn delete(&self, id: i64) -> Result<Memory, MemoryError> {
        let deleted = self.write(|transaction| {
            let memory = self.of_id(transaction, id)?;
            transaction.execute("DELETE FROM memory_words WHERE rowid = ?1", [id])?;
            transaction.execute("DELETE FROM memories WHERE id = ?1", [id])?;
            Ok(memory)
        })?;
        self.forget_words()?;
        Ok(deleted)
    }

    /// Deletes every memory of the person, and returns their number. Their text is overwritten in the file.
    ///
    /// # Errors
    /// Returns an error if the database cannot be used.
    pub fn erase(&self) -> Result<u64, MemoryError> {
        let erased = self.write(|transaction| {
            let owner = self.owner.as_str();
            transaction.execute(
                "DELETE FROM memory_words WHERE rowid IN (SELECT id FROM memories WHERE owner = ?1)",
                [owner],
            )?;
            Ok(transaction.execute("DELETE FROM memories WHERE owner = ?1", [owner])?)
        })?;
        self.forget_words()?;
        Ok(u64::try_from(erased).unwrap_or(u64::MAX))
    }

    /// Removes words of deleted texts from the file: the index keeps them until its parts are merged, and the
    /// write-ahead log until it is copied.
    fn forget_words(&self) -> Result<(), MemoryError> {
        self.read(|connection| {
            Ok(connection.execute_batch(
                "INSERT INTO memory_words (memory_words) VALUES ('optimize'); PRAGMA wal_checkpoint(TRUNCATE);",
            )?)
        })
    }

    /// Writes the database anew, so that its file has nothing of earlier texts.
    ///
    /// # Errors
    /// Returns an error if the database cannot be used.
    pub fn overwrite_remains(&self) -> Result<(), MemoryError> {
        self.read(|connection| Ok(connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?))
    }

    /// The memories that a query matches: ranked, or the latest of very many.
    fn matching(
        &self,
        connection: &Connection,
        wanted: Option<WantedWords>,
        filter: &MemoryFilter,
        limit: usize,
    ) -> SqlResult<Vec<Memory>> {
        let Some(wanted) = wanted else {
            return Ok(Vec::new());
        };
        let order = if wanted.is_common {
            "w.rowid DESC"
        } else {
            "bm25(memory_words), m.id DESC"
        };
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM memory_words w CROSS JOIN memories m ON m.id = w.rowid
             WHERE memory_words MATCH ?1 AND m.owner = ?2 AND (?3 = '' OR m.state = ?3) ORDER BY {order}"
        ))?;
        let state = filter.state.map_or("", MemoryState::word);
        let rows = statement.query_map(params![wanted.query, self.owner.as_str(), state], memory)?;
        take(rows, filter, limit)
    }

    /// The memory that a new one would repeat.
    fn same(&self, connection: &Connection, text: &str, new: &NewMemory) -> SqlResult<Option<Memory>> {
        let by_call = match (&new.call, &new.origin) {
            (Some(call), Some(origin)) => connection
                .prepare_cached(&format!(
                    "SELECT {COLUMNS} FROM memories m WHERE m.session = ?1 AND m.call = ?2 AND m.owner = ?3"
                ))?
                .query_row(
                    params![origin.session.as_str(), call, self.owner.as_str()],
                    memory,
                )
                .optional()?,
            _ => None,
        };
        if by_call.is_some() {
            return Ok(by_call);
        }
        let folder = new.folder.as_deref().unwrap_or_default();
        let by_text = connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM memories m WHERE m.owner = ?1 AND lower(m.text) = lower(?2) AND m.folder = ?3"
            ))?
            .query_row(params![self.owner.as_str(), text, folder], memory)
            .optional()?;
        Ok(by_text)
    }

    fn check_room(&self, connection: &Connection, state: MemoryState) -> SqlResult<()> {
        if state == MemoryState::Proposed && self.counted(connection, state)? >= MAX_WAITING {
            let what = format!(
                "the inbox is full ({MAX_WAITING} proposals): the person must review some of them first"
            );
            return Err(MemoryError::Full(what).into());
        }
        // There are at most as many rows as the highest number; counting them takes longer.
        let highest: i64 =
            connection.query_row("SELECT coalesce(max(id), 0) FROM memories", [], |row| row.get(0))?;
        if u64::try_from(highest).unwrap_or_default() < MAX_MEMORIES {
            return Ok(());
        }
        let all: i64 = connection.query_row(
            "SELECT count(*) FROM memories WHERE owner = ?1",
            [self.owner.as_str()],
            |row| row.get(0),
        )?;
        if u64::try_from(all).unwrap_or_default() >= MAX_MEMORIES {
            let what = format!("the limit of {MAX_MEMORIES} memories is reached");
            return Err(MemoryError::Full(what).into());
        }
        Ok(())
    }

    fn counted(&self, connection: &Connection, state: MemoryState) -> SqlResult<u64> {
        let count: i64 = connection
            .prepare_cached("SELECT count(*) FROM memories WHERE owner = ?1 AND state = ?2")?
            .query_row(params![self.owner.as_str(), state.word()], |row| row.get(0))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }

    fn of_id(&self, connection: &Connection, id: i64) -> SqlResult<Memory> {
        let found = connection
            .prepare_cached(&format!(
                "SELECT {COLUMNS} FROM memories m WHERE m.id = ?1 AND m.owner = ?2"
            ))?
            .query_row(params![id, self.owner.as_str()], memory)
            .optional()?;
        found.ok_or_else(|| MemoryError::NotFound(id).into())
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic leaves no transaction open: it is rolled back when it is dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> SqlResult<T>) -> Result<T, MemoryError> {
        work(&self.connection()).map_err(|fault| self.error(fault))
    }

    fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> SqlResult<T>) -> Result<T, MemoryError> {
        let mut connection = self.connection();
        let done = (|| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })();
        done.map_err(|fault| self.error(fault))
    }

    fn error(&self, fault: MemoryFault) -> MemoryError {
        match fault {
            MemoryFault::Memory(error) => error,
            MemoryFault::Sql(error) => failure(&self.path, &error),
        }
    }
}
