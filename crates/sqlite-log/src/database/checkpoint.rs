//! Moves commits from SQLite's write-ahead log into the database file, without delaying the writer. Called by
//! the writer thread.
//!
//! A checkpoint waits for the disk, tens of milliseconds compared with tens of microseconds of an append; so
//! it runs on a separate thread, while appends continue. The last writer that ends empties the write-ahead
//! log, so that the database file alone has all sessions; it may wait for the disk, because no append is
//! pending.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use crate::database::options::{Durability, LogOptions};
use crate::database::schema::{FORMAT, Location, connect};
use crate::error::Fault;

/// Number of written pages after which a checkpoint is made: 8 MiB.
const PAGES: i32 = 2000;
/// Number of pages, 128 MiB, at which appends wait until the log can restart: under a load without pauses, a
/// concurrent checkpoint always misses some pages. A checkpoint right before keeps the wait short.
const TOO_MANY_PAGES: i32 = 16 * PAGES;
/// Timeout of closing for readers of other processes.
const PATIENCE_AT_THE_END: Duration = Duration::from_millis(50);

/// Watches how long the write-ahead log is.
pub(crate) struct Checkpoints {
    location: Location,
    options: LogOptions,
    /// Whether opening the database made tables, which are in the write-ahead log.
    made_tables: bool,
    pages: Arc<AtomicI32>,
    /// The number of pages at which the next checkpoint is due.
    due: i32,
    /// The number of pages when the last one began.
    begun_at: i32,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    pub(crate) fn new(location: Location, options: LogOptions, made_tables: bool) -> Self {
        Self {
            location,
            options,
            made_tables,
            pages: Arc::default(),
            due: PAGES,
            begun_at: 0,
            thread: None,
        }
    }

    /// Begins to watch the writer's connection, before its first transaction.
    pub(crate) fn watch(&self, connection: &mut Connection) -> Result<(), Fault> {
        let pages = self.pages.clone();
        let count = move |_: &mut rusqlite::hooks::Wal, now: i32| {
            pages.store(now, Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(count))?;
        self.begin_log(connection)
    }

    /// The first page of a new write-ahead log waits for the disk, so that after a loss of power nothing
    /// older is taken for its contents. In a file that was empty there is nothing older: it is begun here,
    /// without waiting.
    fn begin_log(&self, connection: &Connection) -> Result<(), Fault> {
        if matches!(self.location, Location::Memory) || self.length() > 0 {
            return Ok(());
        }
        if self.options.durability == Durability::Machine {
            return Ok(());
        }
        connection.pragma_update(None, "synchronous", "OFF")?;
        // The value that it has: a transaction that writes one page.
        let begun = connection.pragma_update(None, "user_version", FORMAT);
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(begun?)
    }

    /// Makes a checkpoint if one is due.
    pub(crate) fn after_commit(&mut self, connection: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.due {
            // The write-ahead log started again from its beginning.
            self.due = self.due.min(pages + PAGES).max(PAGES);
            return;
        }
        let is_busy = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        let is_swept = self.begun_at >= TOO_MANY_PAGES && !is_busy;
        if is_swept || pages >= 2 * TOO_MANY_PAGES {
            checkpoint(connection, "PASSIVE");
            self.begun_at = 0;
            self.due = pages + PAGES;
        } else if !is_busy {
            self.begun_at = pages;
            // Its end is looked for after each commit.
            self.due = if pages < TOO_MANY_PAGES {
                pages + PAGES
            } else {
                pages
            };
            self.start();
        }
    }

    /// Returns the size of the write-ahead log's file.
    fn length(&self) -> u64 {
        let Location::File(path) = &self.location else {
            return 0;
        };
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        PathBuf::from(log).metadata().map_or(0, |log| log.len())
    }

    fn start(&mut self) {
        let Location::File(_) = self.location else { return };
        let (location, options) = (self.location.clone(), self.options.clone());
        let run = move || match connect(&location, &options) {
            Ok(connection) => {
                if checkpoint(&connection, "PASSIVE") {
                    begin_again(&connection);
                }
            }
            Err(fault) => tracing::warn!(?fault, "no connection for a checkpoint"),
        };
        match std::thread::Builder::new()
            .name("agentx-log-checkpoint".to_owned())
            .spawn(run)
        {
            Ok(thread) => self.thread = Some(thread),
            Err(error) => tracing::warn!(%error, "no thread for a checkpoint"),
        }
    }

    /// Ends the checkpoint in progress, and makes a last one. A log that was checkpointed before is truncated
    /// too, because people take its size for data. A process that wrote nothing leaves the log to those that
    /// write; `has_written` tells whether it wrote after it opened the database.
    pub(crate) fn close(self, connection: &Connection, has_written: bool) {
        let is_done = self.length() == 0 || !(has_written || self.made_tables);
        if self.thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the checkpoint thread of the session log panicked");
        }
        if is_done {
            return;
        }
        // Another process may read for long, or write; then the log stays for that one to cut.
        if let Err(error) = connection.busy_timeout(PATIENCE_AT_THE_END) {
            tracing::debug!(%error, "the time to wait was not set");
        }
        checkpoint(connection, "TRUNCATE");
    }
}

/// Moves all commits into the database and empties the write-ahead log. Returns whether it is empty: a reader
/// may need it for longer than `patience`. `usual` is the time that the connection waits for others
/// otherwise.
pub(crate) fn empty_log(connection: &Connection, patience: Duration, usual: Duration) -> Result<bool, Fault> {
    connection.busy_timeout(patience)?;
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    connection.busy_timeout(usual)?;
    Ok(is_busy? == 0)
}

/// Writing the first page of a new log waits for the disk: better on this thread than in the next append. If
/// somebody is writing, they have begun it, or there is more to move: then the next checkpoint must not wait
/// for this one.
fn begin_again(connection: &Connection) {
    if let Err(error) = connection.busy_timeout(Duration::ZERO) {
        tracing::debug!(%error, "the time to wait was not set");
        return;
    }
    // It writes the current value again: a transaction of one page.
    let begun = connection
        .pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        .and_then(|version| connection.pragma_update(None, "user_version", version));
    if let Err(error) = begun {
        tracing::debug!(%error, "the next append restarts the write-ahead log");
    }
}

/// Runs a checkpoint and returns whether the write-ahead log is empty. Pages that cannot be moved now stay
/// there safely.
fn checkpoint(connection: &Connection, mode: &str) -> bool {
    let done = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    match done {
        Ok((pages, moved)) => {
            tracing::debug!(pages, moved, "checkpoint");
            pages == moved
        }
        Err(error) => {
            tracing::warn!(%error, "no checkpoint was made");
            false
        }
    }
}
