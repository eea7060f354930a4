//! The caller's side of a request: its end, and the way to cancel it.

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::dispatcher_state::DispatcherShared;
use super::end::RequestEnd;
use super::key_pattern::Addressed;
use super::scheduler::RequestId;

/// The end of a request, for its caller. Dropping it abandons the request: a waiting request is removed, and
/// a responder that has it learns of it by [`Claim::abandoned`](super::Claim::abandoned).
pub struct Ticket<Q: Addressed> {
    pub(super) shared: Arc<DispatcherShared<Q>>,
    pub(super) id: RequestId,
    pub(super) end: oneshot::Receiver<RequestEnd>,
}

impl<Q: Addressed> Ticket<Q> {
    /// Cancels the request: one that waits ends as [`RequestEnd::Cancelled`]; a responder that has it is
    /// notified and decides about the outcome.
    pub fn cancel(&self) {
        self.canceller().cancel();
    }

    /// Returns a handle that can cancel the request while other code waits for its end.
    pub fn canceller(&self) -> Canceller<Q> {
        Canceller {
            shared: Arc::clone(&self.shared),
            id: self.id,
        }
    }

    /// Waits for the end of the request and returns it. It takes as long as the responder does.
    pub async fn ended(mut self) -> RequestEnd {
        (&mut self.end).await.unwrap_or(RequestEnd::Lost)
    }
}

impl<Q: Addressed> Drop for Ticket<Q> {
    fn drop(&mut self) {
        self.shared.abandon(self.id);
    }
}

impl<Q: Addressed> fmt::Debug for Ticket<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticket({})", self.id.0)
    }
}

/// Cancels one request.
pub struct Canceller<Q: Addressed> {
    shared: Arc<DispatcherShared<Q>>,
    id: RequestId,
}

impl<Q: Addressed> Canceller<Q> {
    /// See [`Ticket::cancel`].
    pub fn cancel(&self) {
        self.shared.cancel(self.id);
    }
}

impl<Q: Addressed> fmt::Debug for Canceller<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Canceller({})", self.id.0)
    }
}
