//! The state of a session that the writer thread keeps between two appends.

use crate::models::Unindexed;
use crate::rows::segment::LogEnd;

/// A session that is attached, as the writer thread knows it.
pub(crate) struct OpenSession {
    pub(crate) row: i64,
    pub(crate) epoch: u64,
    pub(crate) tail: LogEnd,
    /// Whether the row in `sessions` is known to be behind.
    pub(crate) stale: bool,
    /// Whether a run is in progress, as far as this process has seen.
    pub(crate) running: bool,
    /// Messages whose words are not in the index yet.
    pub(crate) unindexed: Unindexed,
}
