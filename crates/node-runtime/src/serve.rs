//! What a server needs of this runtime beyond what a front end does.

use agentx_runtime::{Fact, LogRows, RuntimeError};
use agentx_types::{OwnerId, SessionId};

use crate::NodeRuntime;

impl NodeRuntime {
    /// Up to `limit` facts of a session of any owner after `after_seq`, as they are in the log.
    ///
    /// # Errors
    /// Where the session does not exist or what is stored cannot be read.
    pub async fn facts(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Fact>, RuntimeError> {
        Ok(self.log().read(session, after_seq, limit).await?)
    }

    /// Rows of a session of any owner as they are stored, from the segment on that holds the event after `after_seq`, until
    /// they have `most_bytes`.
    ///
    /// # Errors
    /// Where the session does not exist or what is stored cannot be read.
    pub async fn rows(
        &self,
        session: &SessionId,
        after_seq: u64,
        most_bytes: usize,
    ) -> Result<LogRows, RuntimeError> {
        Ok(self.log().rows(session, after_seq, most_bytes).await?)
    }

    /// Sessions of every owner in which a run is under way, as far as the log knows: some process is at it, or died at it.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn under_way(&self) -> Result<Vec<(SessionId, OwnerId)>, RuntimeError> {
        Ok(self.log().under_way().await?)
    }
}
