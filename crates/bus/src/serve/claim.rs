//! The right to answer one request. It knows the dispatcher only as the keeper that learns how the claim
//! ended.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::key_pattern::Addressed;
use super::scheduler::RequestId;

/// Keeps the claimed requests, and learns how each claim ended.
pub(super) trait ClaimKeeper: Send + Sync {
    /// Reports that the claim of this request was settled, or dropped without that.
    fn ended(self: Arc<Self>, id: RequestId, settled: bool);
}

/// The right to answer one request; it dereferences to the request. Dropping it without [`Claim::settle`]
/// loses the request: the caller learns that its outcome is unknown.
pub struct Claim<Q: Addressed> {
    pub(super) keeper: Arc<dyn ClaimKeeper>,
    pub(super) id: RequestId,
    pub(super) request: Arc<Q>,
    pub(super) cancel: CancellationToken,
    pub(super) abandoned: CancellationToken,
    pub(super) settled: bool,
}

impl<Q: Addressed> Claim<Q> {
    /// The request.
    pub fn request(&self) -> &Arc<Q> {
        &self.request
    }

    /// Completes when the caller cancels the request. The responder then stops its work and settles the claim
    /// anyway.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.cancel.cancelled()
    }

    /// The token that fires when the caller cancels the request, to pass on.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Completes when the caller is gone, or has waited long enough after a cancellation: the responder drops
    /// its work at once.
    pub fn abandoned(&self) -> WaitForCancellationFuture<'_> {
        self.abandoned.cancelled()
    }

    /// The token that fires when the responder has to drop its work, to pass on. If the request is lost, it
    /// fires before the token of the cancellation.
    pub fn abandoned_token(&self) -> &CancellationToken {
        &self.abandoned
    }

    /// Marks the request as completely answered.
    pub fn settle(mut self) {
        self.settled = true;
    }
}

impl<Q: Addressed> Drop for Claim<Q> {
    fn drop(&mut self) {
        Arc::clone(&self.keeper).ended(self.id, self.settled);
    }
}

impl<Q: Addressed> Deref for Claim<Q> {
    type Target = Q;

    fn deref(&self) -> &Q {
        &self.request
    }
}

impl<Q: Addressed> fmt::Debug for Claim<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Claim({} {})", self.request.topic(), self.request.key())
    }
}
