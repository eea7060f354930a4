//! A fact on its way into the log, and who waits for its commit.

use agentx_types::{EnvironmentEvent, EventDraft};
use tokio::sync::oneshot;

use crate::commands::ReplySender;
use crate::effects::effect::{CommitResult, FactBatch};
use crate::log_error::LogError;

/// A fact on its way into the log, and the waiter for its commit.
pub(super) struct PendingFact {
    /// The event, without a number yet.
    pub(super) draft: EventDraft<EnvironmentEvent>,
    /// The front end or effector that is notified when it is committed, if any.
    pub(super) waits: Option<CommitWaiter>,
    /// Whether it comes from the responder of an action.
    pub(super) of_responder: bool,
    /// Whether its sender has already gathered related facts, so that the commit need not wait for more.
    pub(super) gathered: bool,
}

/// A waiter for the commit of a fact.
pub(super) enum CommitWaiter {
    /// A front end.
    FrontEnd(ReplySender<u64>),
    /// An effector.
    Effector(oneshot::Sender<CommitResult>),
}

impl CommitWaiter {
    /// Notifies the waiter, which may be gone. If the commit failed, an effector gets no notice: its session
    /// ends.
    pub(super) fn tell(self, committed: Result<u64, &LogError>) {
        // Ignore the error: the receiver is gone.
        match (self, committed) {
            (Self::FrontEnd(reply), committed) => {
                let _ = reply.send(committed.map_err(|error| error.clone().into()));
            }
            (Self::Effector(committed), Ok(seq)) => {
                let _ = committed.send(Ok(seq));
            }
            (Self::Effector(_), Err(_)) => {}
        }
    }
}

impl PendingFact {
    /// A pending fact without a waiter.
    pub(super) fn fact(draft: EventDraft<EnvironmentEvent>) -> Self {
        Self {
            draft,
            waits: None,
            of_responder: false,
            gathered: false,
        }
    }

    /// An item for a front end's request; the front end is notified when it is recorded.
    pub(super) fn from_request(draft: EventDraft<EnvironmentEvent>, reply: ReplySender<u64>) -> Self {
        Self {
            waits: Some(CommitWaiter::FrontEnd(reply)),
            ..Self::fact(draft)
        }
    }

    /// Pending facts for events that an effector emitted together; it is notified when the last of them is
    /// recorded.
    pub(super) fn all(said: FactBatch) -> Vec<Self> {
        let of_responder = |draft| Self {
            of_responder: true,
            ..Self::fact(draft)
        };
        let mut items: Vec<Self> = said.drafts.into_iter().map(of_responder).collect();
        if let Some(last) = items.last_mut() {
            last.waits = said.committed.map(CommitWaiter::Effector);
            last.gathered = said.gathered;
        }
        items
    }
}
