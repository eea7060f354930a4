//! Overwrites the remains of removed data in the files of the database: words in the search index, free space
//! inside pages, and the write-ahead log. Called after a collection and a redaction.
//!
//! SQLite's `secure_delete` overwrites rows as they go, but not the copies that earlier writes left in pages
//! that are still in use. Rewriting the whole database leaves none of them behind.

use std::time::Duration;

use agentx_runtime::LogError;
use rusqlite::Connection;

use crate::database::checkpoint::empty_log;
use crate::error::Fault;
use crate::keys::unsigned;
use crate::log::SqliteLog;
use crate::log::gc::{merge_words, overwriting};
use crate::write::writer::WriterState;

/// A collection rewrites databases of up to this size, which takes about a tenth of a second.
const SMALL_BYTES: u64 = 32 << 20;
/// A larger database is rewritten through a file instead of in memory.
const MEMORY_BYTES: u64 = 256 << 20;
/// The time that a collection waits for readers of the write-ahead log. Appends wait as long.
const BRIEFLY: Duration = Duration::from_millis(50);
/// Maximum number of steps in which the index of words is merged.
const MOST_MERGES: usize = 65_536;

impl SqliteLog {
    /// Overwrites everything. Returns whether it could.
    pub(super) async fn erase_all(&self) -> Result<bool, LogError> {
        self.merge_all_words().await?;
        let patience = self.options.busy_timeout;
        self.change(move |core| {
            write_anew(core)?;
            empty_log(&core.connection, patience, patience)
        })
        .await
    }

    /// Overwrites what a collection left, as far as that is quick. It is tried again with the next
    /// collection.
    pub(super) async fn erase_briefly(&self) -> Result<(), LogError> {
        self.merge_all_words().await?;
        let usual = self.options.busy_timeout;
        self.change(move |core| {
            if bytes_of(&core.connection)? <= SMALL_BYTES
                && let Err(fault) = write_anew(core)
            {
                tracing::warn!(?fault, "the database was not rewritten");
            }
            empty_log(&core.connection, BRIEFLY, usual).map(drop)
        })
        .await
    }

    /// Merges the index of words in steps, between which appends come. Words of removed messages go.
    async fn merge_all_words(&self) -> Result<(), LogError> {
        for step in 0..MOST_MERGES {
            let merge = move |core: &mut WriterState| {
                core.transaction(|connection| {
                    overwriting(connection, |connection| merge_words(connection, step == 0))
                })
            };
            if !self.change(merge).await? {
                break;
            }
        }
        Ok(())
    }
}

/// The size of the database.
fn bytes_of(connection: &Connection) -> Result<u64, Fault> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| unsigned(row, 0));
    Ok(number("page_count")?.saturating_mul(number("page_size")?))
}

/// Rewrites the whole database.
fn write_anew(core: &WriterState) -> Result<(), Fault> {
    let connection = &core.connection;
    let by_file = bytes_of(connection)? > MEMORY_BYTES;
    if by_file {
        connection.pragma_update(None, "temp_store", "FILE")?;
    }
    let written = connection.execute_batch("VACUUM");
    if by_file {
        connection.pragma_update(None, "temp_store", "MEMORY")?;
    }
    Ok(written?)
}
