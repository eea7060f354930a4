//! The limits of `query` and `query_write`, and their arguments.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Limits of `query` and `query_write`.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// The time limit of a call: 10 s.
    pub timeout: Duration,
    /// The time that a call waits if another program has locked the file: 2 s.
    pub lock_wait: Duration,
    /// The number of rows that are shown if the call sets no limit: 100.
    pub rows: usize,
    /// The maximum number of rows that a call may request: 1,000.
    pub max_rows: usize,
    /// The maximum number of bytes that are shown: 64 KiB.
    pub shown_bytes: usize,
    /// The maximum number of bytes that are shown of a value: 2,000.
    pub value_bytes: usize,
    /// The maximum number of bytes of a value that SQLite creates or reads: 16 MiB.
    pub sqlite_value_bytes: i32,
    /// The maximum number of bytes of a call's SQL: 100,000.
    pub sql_bytes: usize,
    /// The number of concurrent calls: 4, and on a server 2 for each member. Others wait for their turn, at
    /// most as long as a call may take.
    pub at_once: usize,
    /// Files and directories that no call opens, regardless of approvals. Empty by default.
    pub refused: Vec<PathBuf>,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            lock_wait: Duration::from_secs(2),
            rows: 100,
            max_rows: 1000,
            shown_bytes: 64 << 10,
            value_bytes: 2000,
            sqlite_value_bytes: 16 << 20,
            sql_bytes: 100_000,
            at_once: 4,
            refused: Vec::new(),
        }
    }
}

/// The arguments of `query` and `query_write`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryInput {
    /// The SQLite file: absolute, or relative to the working directory.
    pub(super) path: String,
    /// The SQL.
    pub(super) sql: String,
    /// Values for ?1, ?2, … of a single statement, in order: texts, numbers, booleans or null.
    pub(super) parameters: Option<Vec<Value>>,
    /// Number of rows to show per statement.
    pub(super) limit: Option<u64>,
}
