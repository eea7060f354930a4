//! The people who are present in a session of a server.
//!
//! Presence comes with the events of a session, not by a request: as long as a [`Presence`] lives, the
//! session is followed, from its end if nobody else follows it. It keeps the state of the last notice while
//! the connection is lost.

use tokio::sync::watch;

use crate::environment::{FeedSubscription, People};

/// The people who are present in a session, updated as long as this lives.
pub struct Presence {
    /// The people as the server last reported them.
    people: watch::Receiver<People>,
    _held: FeedSubscription,
}

impl Presence {
    /// Creates the presence of the session that `held` follows.
    pub(crate) fn new(held: FeedSubscription) -> Self {
        Self {
            people: held.feed.people(),
            _held: held,
        }
    }

    /// The people who are present now, as the server reported them.
    pub fn now(&self) -> People {
        self.people.borrow().clone()
    }

    /// Waits until the server reports a change of the people in the session; returns `false` if no further
    /// change can come. Call [`now`](Self::now) for the new state. Safe to drop while it waits.
    pub async fn changed(&mut self) -> bool {
        self.people.changed().await.is_ok()
    }
}
