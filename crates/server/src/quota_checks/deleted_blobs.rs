//! Checks what a person stores, together with the blobs on the disk that no session names: those of their
//! deleted sessions, and those of their calls at `/mcp`.

use std::sync::Arc;

use agentx_node_runtime::BlobCounter;
use agentx_runtime::{BoxFuture, Runtime as _, RuntimeError};
use agentx_types::{BlobId, OwnerId, SessionId};

use crate::problems::remote;
use crate::quotas::UsageSums;
use crate::quotas::deleted_blobs::BlobSizes;
use crate::state::ServerState;

/// Counts the blobs that calls of one person at `/mcp` store. Those of the operator count for no quota, and
/// are removed like the others.
pub(crate) struct MemberBlobCounter {
    pub(crate) state: Arc<ServerState>,
    pub(crate) person: OwnerId,
}

impl BlobCounter for MemberBlobCounter {
    fn count(&self, blob: BlobId, bytes: u64) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let counted = self.state.count_blob_of_call(&self.person, blob, bytes).await;
            counted.map_err(|error| error.to_string())
        })
    }
}

impl ServerState {
    /// Counts a blob that a call of a person stores next, and writes that to the disk before it is stored.
    ///
    /// # Errors
    /// Returns `quota_storage` if there is no room for it. Then it counts for nothing, and must not be
    /// stored.
    async fn count_blob_of_call(
        self: &Arc<Self>,
        owner: &OwnerId,
        blob: BlobId,
        bytes: u64,
    ) -> Result<(), RuntimeError> {
        if self.has_all_room(owner) {
            // The server removes it later all the same.
            let blobs = BlobSizes::from([(blob, bytes)]);
            self.keep_deleted_blobs(owner, blobs).await;
            return Ok(());
        }
        // Of blobs that come at once, each is compared with a sum that has those before it.
        let _turn = self.kept.admissions.take(owner).await;
        let sums = self.sums_to_admit(owner).await?;
        let more = if self.kept.deleted.has(owner, &blob, self.now()) {
            0
        } else {
            bytes
        };
        self.check_bytes_with(owner, &sums, more).await?;
        self.keep_deleted_blobs(owner, BlobSizes::from([(blob, bytes)]))
            .await;
        Ok(())
    }

    /// Returns whether a person may store as much as the disk holds.
    fn has_all_room(&self, owner: &OwnerId) -> bool {
        self.quotas().bytes.is_none() || owner == self.operator()
    }

    /// Returns the blobs of a session, before it is deleted.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn blobs_before_deletion(
        &self,
        owner: &OwnerId,
        session: &SessionId,
    ) -> Result<BlobSizes, RuntimeError> {
        let blobs = self.runtime_of(owner).blobs(Some(session)).await;
        if self.has_all_room(owner) {
            // They are known only for their removal, for which no deletion fails.
            return Ok(blobs.unwrap_or_default());
        }
        blobs
    }

    /// Counts what a session holds that is deleted now, or a call stores next, and writes that to the disk.
    /// If the deletion fails, the session still names it, and it counts there.
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

    /// Checks that what a person has stored is within their quota, and within twice of it together with the
    /// blobs of deleted sessions and of calls.
    ///
    /// # Errors
    /// Returns `quota_storage` if it is not.
    pub(crate) async fn check_bytes(&self, owner: &OwnerId, sums: &UsageSums) -> Result<(), RuntimeError> {
        self.check_bytes_with(owner, sums, 0).await
    }

    /// The same together with `more` bytes of a blob of a call.
    async fn check_bytes_with(
        &self,
        owner: &OwnerId,
        sums: &UsageSums,
        more: u64,
    ) -> Result<(), RuntimeError> {
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
        let with_more = sums.bytes.saturating_add(more);
        let is_over = |deleted: u64| with_more.saturating_add(deleted) >= most.saturating_mul(2);
        if !is_over(self.kept.deleted.of(owner, &BlobSizes::new(), self.now())) {
            return Ok(());
        }
        let still = self.runtime_of(owner).blobs(None).await?;
        let deleted = self.kept.deleted.of(owner, &still, self.now());
        if !is_over(deleted) {
            return Ok(());
        }
        let what = format!(
            "the owner's sessions take {} bytes, files and pictures of sessions that were deleted within an hour, and what calls at /mcp stored within it, may still take {deleted} on the disk, and this server's limit per member is {most}, or twice that with them (`quotas.storage_bytes`): try again later",
            sums.bytes
        );
        Err(remote("quota_storage", &what))
    }
}
