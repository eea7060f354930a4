//! Checks what a person stores, together with the blobs that their deleted sessions leave on the disk.

use std::time::Instant;

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

    /// Counts what a session held that was deleted now.
    pub(crate) fn count_deleted_blobs(&self, owner: &OwnerId, blobs: BlobSizes) {
        self.kept.deleted.add(owner, blobs, Instant::now());
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
        if !is_over(self.kept.deleted.of(owner, &BlobSizes::new(), Instant::now())) {
            return Ok(());
        }
        let still = self.runtime_of(owner).blobs(None).await?;
        let deleted = self.kept.deleted.of(owner, &still, Instant::now());
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
