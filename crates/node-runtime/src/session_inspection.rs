//! Reads one session for a server: its row, its state without opening it, and its blobs.
//!
//! All of these read the log without taking the session's lease. Their answer is true for some moment between
//! the call and its return; follow the session for more.

use std::ops::Range;

use agentx_runtime::{LogError, RuntimeError, SessionInfo, SessionState, fold_until, has_blob};
use agentx_types::{BlobId, SessionId};

use crate::NodeRuntime;

impl NodeRuntime {
    /// Returns the list entry of one of the owner's sessions.
    ///
    /// # Errors
    /// Returns an error if the owner has no such session.
    pub async fn info(&self, session: &SessionId) -> Result<SessionInfo, RuntimeError> {
        self.owned(session).await
    }

    /// Returns the state of a session from its log, without becoming its writer.
    ///
    /// # Errors
    /// Returns an error if the owner has no such session, or its log cannot be read.
    pub async fn state(&self, session: &SessionId) -> Result<SessionState, RuntimeError> {
        self.owned(session).await?;
        let fold = fold_until(self.log(), session, u64::MAX).await?;
        let never = || LogError::NotFound(session.to_string());
        Ok(fold.state().ok_or_else(never)?)
    }

    /// Returns the size of a session's blob in bytes.
    ///
    /// # Errors
    /// Returns an error if the owner has no such session, or the session no such blob.
    pub async fn blob_size(&self, session: &SessionId, blob: &BlobId) -> Result<u64, RuntimeError> {
        self.owned(session).await?;
        if !has_blob(self.log(), session, blob).await? {
            return Err(LogError::NoBlob(blob.clone()).into());
        }
        Ok(self.log().blob_size(blob).await?)
    }

    /// A part of a blob for which [`NodeRuntime::blob_size`] was called before.
    ///
    /// # Errors
    /// Returns an error if it is gone.
    pub async fn blob_part(&self, blob: &BlobId, range: Range<u64>) -> Result<Vec<u8>, RuntimeError> {
        Ok(self.log().get_blob(blob, range).await?)
    }
}
