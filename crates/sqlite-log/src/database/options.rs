//! The settings of a log, with their defaults. Given once, when it is opened.

use std::time::Duration;

/// The failures that an append survives once it has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process. After a loss of power the last appends may be gone, whole and from the end.
    #[default]
    Process,
    /// A loss of power too: an fsync for each group of appends.
    Machine,
}

/// Options for opening a log.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The failures that an append survives; by default the death of the process.
    pub durability: Durability,
    /// Timeout for a database that another process has locked; 5 s by default.
    pub busy_timeout: Duration,
    /// Time for which an unreferenced blob is kept, because the event that names it may follow; 1 hour by
    /// default.
    pub blob_grace: Duration,
    /// Maximum number of appends and other changes that may wait; further callers wait. 256 by default.
    pub queue: usize,
    /// Maximum number of reader threads, started on demand. 2 by default.
    pub readers: usize,
    /// The maximum size of the database file in bytes; by default only the disk limits it.
    pub max_bytes: Option<u64>,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            busy_timeout: Duration::from_secs(5),
            blob_grace: Duration::from_secs(3600),
            queue: 256,
            readers: 2,
            max_bytes: None,
        }
    }
}
