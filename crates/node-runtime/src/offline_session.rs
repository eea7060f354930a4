//! Writes to sessions that nobody has open.

use agentx_runtime::{LogError, OfflineWriter, RuntimeError};
use agentx_types::SessionId;

use crate::NodeRuntime;

impl NodeRuntime {
    /// Becomes the writer of a session that nobody has open.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`OfflineWriter::attach`].
    pub(crate) async fn offline_writer(&self, session: &SessionId) -> Result<OfflineWriter, RuntimeError> {
        let clock = self.driver.clock.clone();
        let writer = OfflineWriter::attach(self.shared_log(), session, clock).await?;
        Ok(writer.redacting(self.driver.redactor.clone()))
    }

    /// Records the end of a session, which listeners get as `session_deleted`.
    ///
    /// # Errors
    /// Returns an error if the session is open or does not exist. A full disk does not prevent the deletion.
    pub(crate) async fn record_closed(&self, session: &SessionId) -> Result<(), RuntimeError> {
        let closed = match self.offline_writer(session).await {
            Ok(jotter) => jotter.close("it was deleted", &self.driver.bus).await,
            Err(error) => Err(error),
        };
        match closed {
            Err(RuntimeError::Log(error @ (LogError::Busy { .. } | LogError::NotFound(_)))) => {
                Err(error.into())
            }
            Err(error) => {
                tracing::debug!(%session, %error, "the end of the session is not on record");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}
