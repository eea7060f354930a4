//! Counts the costs that no session lists, and keeps them on the disk.

use std::sync::Arc;

use agentx_runtime::RuntimeError;
use agentx_types::{OwnerId, SessionId};

use crate::state::ServerState;

impl ServerState {
    /// Deletes a session by `delete`. Its cost and the size of its blobs still count for its owner, so both
    /// are on the disk before the session is gone: the server may be killed in between.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read, or the deletion fails.
    pub(crate) async fn delete_counted(
        self: &Arc<Self>,
        owner: &OwnerId,
        session: &SessionId,
        delete: impl Future<Output = Result<(), RuntimeError>>,
    ) -> Result<(), RuntimeError> {
        let cost = self.cost_before_deletion(owner, session).await?;
        let blobs = self.blobs_before_deletion(owner, session).await?;
        self.kept
            .unlisted
            .begin_deletion(owner, session, self.now(), cost);
        self.keep_unlisted().await;
        self.keep_deleted_blobs(owner, blobs).await;
        let deleted = delete.await;
        let unlisted = &self.kept.unlisted;
        unlisted.end_deletion(owner, session, self.now(), deleted.is_ok());
        self.keep_unlisted().await;
        deleted
    }

    /// Begins to write the costs that no session lists to the disk, and does not wait.
    pub(crate) fn keep_unlisted_soon(self: &Arc<Self>) {
        let state = self.clone();
        tokio::spawn(async move { state.keep_unlisted().await });
    }

    /// Writes the costs that no session lists to the disk, as far as it does not have them.
    pub(crate) async fn keep_unlisted(self: &Arc<Self>) {
        let state = self.clone();
        let written = tokio::task::spawn_blocking(move || state.kept.unlisted.write(state.now()));
        // It cannot panic, and it is not waited for if the server ends.
        let _ = written.await;
    }
}
