//! The right to answer one request. It knows of the dispatcher only that somebody wants to be told how the claim ended.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::key_pattern::Addressed;
use super::scheduler::RequestId;

/// Keeps the requests that were claimed, and is told how each claim ended.
pub(super) trait ClaimKeeper: Send + Sync {
    /// The claim of this request was settled, or dropped without that.
    fn ended(self: Arc<Self>, id: RequestId, settled: bool);
}

/// The right to answer one request; it dereferences to the request. Dropping it without [`Claim::settle`] loses the request: whoever
/// asked is told that nobody knows how it ended.
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

    /// Completes when whoever asked wants no answer any more. What was begun is stopped then, and the claim is settled anyway.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.cancel.cancelled()
    }

    /// The token that fires when whoever asked wants no answer any more, to hand on.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Completes when whoever asked is gone, or has waited long enough after a cancellation: what was begun is dropped where it stands.
    pub fn abandoned(&self) -> WaitForCancellationFuture<'_> {
        self.abandoned.cancelled()
    }

    /// The token that fires when what was begun is to be dropped, to hand on. It fires before the token of the cancellation does where the request is lost.
    pub fn abandoned_token(&self) -> &CancellationToken {
        &self.abandoned
    }

    /// All has been said that answers the request.
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
