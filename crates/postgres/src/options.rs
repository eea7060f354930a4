//! Limits of `query_database`, in one place: those of a call, of its answer, and of the connection.

use std::time::Duration;

/// Limits of `query_database`.
#[derive(Clone, Debug)]
pub struct DatabaseQueryOptions {
    /// The time limit of a call: 10 s.
    pub timeout: Duration,
    /// Rows that are shown if the call sets no limit: 100.
    pub rows: usize,
    /// Rows that a call may ask for, at most: 1,000.
    pub max_rows: usize,
    /// Bytes that are shown, at most: 64 KiB.
    pub shown_bytes: usize,
    /// Bytes of a shown value, at most: 2,000.
    pub value_bytes: usize,
    /// Bytes that a database may send for a call, at most: 16 MiB.
    pub received_bytes: usize,
    /// Bytes of the SQL of a call, at most: 100,000.
    pub sql_bytes: usize,
    /// Calls that run at once: 4. Others wait for their turn, at most as long as a call may take.
    pub at_once: usize,
}

impl Default for DatabaseQueryOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            rows: 100,
            max_rows: 1000,
            shown_bytes: 64 << 10,
            value_bytes: 2000,
            received_bytes: 16 << 20,
            sql_bytes: 100_000,
            at_once: 4,
        }
    }
}
