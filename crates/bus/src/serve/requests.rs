//! The responder's side of the channel: requests as they come, one by one.

use std::fmt;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::claim::Claim;
use super::dispatcher_state::DispatcherShared;
use super::key_pattern::Addressed;
use super::scheduler::ResponderId;

/// The requests of a responder, at most its capacity at once. Dropping it detaches the responder: no more
/// requests come, and those that were not taken are lost; taken claims stay valid.
pub struct Requests<Q: Addressed> {
    pub(super) shared: Arc<DispatcherShared<Q>>,
    pub(super) responder: ResponderId,
    pub(super) claims: mpsc::Receiver<Claim<Q>>,
}

impl<Q: Addressed> Requests<Q> {
    /// The next request; `None` once the responder is detached and all its requests were taken.
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
