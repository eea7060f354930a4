//! Checks what a person stores, together with the blobs that their deleted sessions leave on the disk.

use std::sync::Arc;

use agentx_runtime::{Runtime as _, RuntimeError};
use agentx_types::{OwnerId, SessionId};

use crate::problems::remote;
use crate::quotas::UsageSums;
use crate::quotas::deleted_blobs::BlobSizes;
use crate::state::ServerState;

impl ServerState {
    /// Returns the blobs of a session, before it is deleted.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn blobs_before_deletion(
        &self,
        owner: &OwnerId,
        session: &SessionId,
    ) -> Result<BlobSizes, RuntimeError> {
        if self.quotas().bytes.is_none() || owner == self.operator() {
            return Ok(BlobSizes::new());
        }
        self.runtime_of(owner).blobs(Some(session)).await
    }

    /// Counts what a session holds that is deleted now, and writes that to the disk. If the deletion fails, the session
    /// still names it, and it counts there.
    pub(crate) async fn keep_deleted_blobs(self: &Arc<Self>, owner: &OwnerId, blobs: BlobSizes) {
        if blobs.is_empty() {
            return;
        }
        self.kept.deleted.add(owner, blobs, self.now());
        let state = self.clone();
        let written = tokio::task::spawn_blocking(move || state.kept.deleted.write(state.now()));
        // It cannot panic, and it is not waited for if the server ends.
        let _ = written.await;
    }

    /// Checks that what a person has stored is within their quota, and within twice of it together with the blobs of
    /// deleted sessions.
    ///
    /// # Errors
    /// Returns `quota_storage` if it is not.
    pub(crate) async fn check_bytes(&self, owner: &OwnerId, sums: &UsageSums) -> Result<(), RuntimeError> {
        let Some(most) = self.quotas().bytes else {
            return Ok(());
        };
        if sums.bytes >= most {
            let kept = match sums.kept {
                0 => String::new(),
                kept => format!(", {kept} of them as values that scripts keep"),
            };
            let what = format!(
                "the owner's sessions take {} bytes{kept}, and this server's limit per member is {most} (`quotas.storage_bytes`): delete some",
                sums.bytes
            );
            return Err(remote("quota_storage", &what));
        }
        let is_over = |deleted: u64| sums.bytes.saturating_add(deleted) >= most.saturating_mul(2);
        if !is_over(self.kept.deleted.of(owner, &BlobSizes::new(), self.now())) {
            return Ok(());
        }
        let still = self.runtime_of(owner).blobs(None).await?;
        let deleted = self.kept.deleted.of(owner, &still, self.now());
        if !is_over(deleted) {
            return Ok(());
        }
        let what = format!(
            "the owner's sessions take {} bytes, files and pictures of sessions that were deleted within an hour may still take {deleted} on the disk, and this server's limit per member is {most}, or twice that with deleted ones (`quotas.storage_bytes`): try again later",
            sums.bytes
        );
        Err(remote("quota_storage", &what))
    }
}
