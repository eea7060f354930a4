//! The responder's side: requests as they come, and the right to answer one of them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use super::key::Addressed;
use super::scheduler::{RequestId, ResponderId};
use super::shared::Shared;

/// The requests that a responder gets, as many at once as its capacity. Dropping it detaches the responder: no more come, and what was
/// not taken from here is lost; claims that were taken stay good.
pub struct Requests<Q: Addressed> {
    pub(super) shared: Arc<Shared<Q>>,
    pub(super) responder: ResponderId,
    pub(super) claims: mpsc::Receiver<Claim<Q>>,
}

impl<Q: Addressed> Requests<Q> {
    /// The next request; `None` when the responder was detached and all that it had been given was taken.
    pub async fn next(&mut self) -> Option<Claim<Q>> {
        self.claims.recv().await
    }

    /// The name of this responder for [`Dispatcher::detach`](super::Dispatcher::detach).
    pub fn responder(&self) -> ResponderId {
        self.responder
    }
}

impl<Q: Addressed> Drop for Requests<Q> {
    fn drop(&mut self) {
        self.shared.leave(self.responder);
    }
}

impl<Q: Addressed> fmt::Debug for Requests<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Requests({})", self.responder.0)
    }
}

/// The right to answer one request; it dereferences to the request. Dropping it without [`Claim::settle`] loses the request: whoever
/// asked is told that nobody knows how it ended.
pub struct Claim<Q: Addressed> {
    pub(super) shared: Arc<Shared<Q>>,
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

    /// Completes when whoever asked wants no answer any more. What was begun is stopped then, and the claim is settled all the same.
    pub fn cancelled(&self) -> WaitForCancellationFuture<'_> {
        self.cancel.cancelled()
    }

    /// The same as a token that can be handed on.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Completes when whoever asked is gone, or has waited long enough after a cancellation: what was begun is dropped where it stands.
    pub fn abandoned(&self) -> WaitForCancellationFuture<'_> {
        self.abandoned.cancelled()
    }

    /// All has been said that answers the request.
    pub fn settle(mut self) {
        self.settled = true;
    }
}

impl<Q: Addressed> Drop for Claim<Q> {
    fn drop(&mut self) {
        self.shared.ended(self.id, self.settled);
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
