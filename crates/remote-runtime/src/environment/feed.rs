//! The events of one session as they arrive in this process: its listeners, the latest facts, and the people
//! who are present.
//!
//! A feed passes facts on and waits for slow readers for at most 250 ms in total. A reader that stops reading
//! is removed from the stream and sees its end; the facts that it missed are kept here for a while, and
//! otherwise come again from the server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_runtime::{Fact, SessionFold};
use agentx_types::wire::{Present, ServerNotice, Wheel};
use agentx_types::{SessionId, SessionRole};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::ConnectionShared;
use super::recent_facts::{RecentFacts, Snapshot};
use crate::reconnect::RequestFailure;

/// The maximum number of batches of facts that wait for a listener; a batch came together on the socket.
const BATCHES: usize = 8;
/// The maximum time, in total, that a listener may delay the others. Then the feed drops it; it can come
/// back.
const PATIENCE: Duration = Duration::from_millis(250);

/// Facts that come together.
pub(crate) type Facts = Arc<[Fact]>;

/// The people of a session, its driver, and the own role, as the server reported last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct People {
    /// The people who are present, each with their role and program.
    pub present: Vec<Present>,
    /// The driver, and the people who ask for the wheel.
    pub wheel: Option<Wheel>,
    /// The role of this person in the session; `None` while it is not known.
    pub role: Option<SessionRole>,
}

/// The events of one session as they come, for all of its readers in this program.
pub(crate) struct SessionFeed {
    pub(crate) session: SessionId,
    /// The latest facts, for readers that come later.
    recent: Mutex<RecentFacts>,
    listeners: Mutex<Vec<FeedListener>>,
    /// The number of holders; the subscription at the server ends with the last one.
    holders: AtomicUsize,
    /// The reason for the end.
    ended: Mutex<Option<RequestFailure>>,
    people: watch::Sender<People>,
}

/// A reader of the feed, and how long it may still make the others wait.
struct FeedListener {
    out: mpsc::Sender<Facts>,
    patience: Duration,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionFeed {
    /// A feed without events, readers or holders.
    pub(super) fn new(session: SessionId) -> Self {
        Self {
            session,
            recent: Mutex::default(),
            listeners: Mutex::default(),
            holders: AtomicUsize::new(0),
            ended: Mutex::new(None),
            people: watch::Sender::default(),
        }
    }

    /// The facts from now on; ends with the feed, or if the listener is too slow.
    pub(crate) fn listen(&self) -> mpsc::Receiver<Facts> {
        let (out, facts) = mpsc::channel(BATCHES);
        let ended = locked(&self.ended);
        if ended.is_none() {
            let patience = PATIENCE;
            locked(&self.listeners).push(FeedListener { out, patience });
        }
        facts
    }

    /// The facts that are already here, for a reader that has begun to listen.
    pub(crate) fn snapshot(&self, after_seq: u64, with_fold: bool) -> Option<Snapshot> {
        locked(&self.recent).snapshot(after_seq, with_fold)
    }

    /// Keeps a state of the session for later readers. Returns whether it is useful.
    pub(crate) fn remember(&self, fold: &SessionFold) -> bool {
        locked(&self.recent).remember(fold)
    }

    /// The reason for the end, if it has ended.
    pub(crate) fn ended(&self) -> Option<RequestFailure> {
        locked(&self.ended).clone()
    }

    /// Ends it after the facts that came: readers see its end, and get the reason from
    /// [`ended`](Self::ended).
    pub(super) fn fail(&self, failure: RequestFailure) {
        let mut ended = locked(&self.ended);
        ended.get_or_insert(failure);
        locked(&self.listeners).clear();
    }

    /// The people of the session, now and from now on.
    pub(crate) fn people(&self) -> watch::Receiver<People> {
        self.people.subscribe()
    }

    /// Handles a notice about presence or the wheel.
    pub(super) fn note_people(&self, notice: ServerNotice) {
        self.people.send_modify(|people| match notice {
            ServerNotice::Presence(presence) => people.present = presence.people,
            ServerNotice::Wheel(wheel) => people.wheel = Some(wheel),
            _ => {}
        });
    }

    /// Records the role that the server reported for this person.
    pub(super) fn note_role(&self, role: SessionRole) {
        self.people
            .send_if_modified(|people| people.role.replace(role) != Some(role));
    }

    /// Returns whether a reader needs these events.
    pub(super) fn is_held(&self) -> bool {
        self.holders.load(Ordering::Acquire) > 0
    }

    /// Handles new facts: keeps the latest, and passes them on.
    pub(super) async fn publish(&self, came: Vec<(Fact, usize)>) -> Facts {
        {
            // Facts are kept before they are passed on, so that a reader that takes a snapshot after it began
            // to listen misses nothing.
            let mut recent = locked(&self.recent);
            for (fact, bytes) in &came {
                recent.add(fact, *bytes);
            }
        }
        let facts: Facts = came.into_iter().map(|(fact, _)| fact).collect();
        self.forward(&facts).await;
        facts
    }

    /// Sends facts to all listeners. A listener that takes none for too long is left behind.
    async fn forward(&self, facts: &Facts) {
        let mut slow = Vec::new();
        locked(&self.listeners).retain_mut(|listener| match listener.out.try_send(facts.clone()) {
            Ok(()) => true,
            Err(TrySendError::Closed(_)) => false,
            Err(TrySendError::Full(_)) => {
                let FeedListener { out, patience } = listener;
                slow.push(FeedListener {
                    out: out.clone(),
                    patience: *patience,
                });
                false
            }
        });
        for mut listener in slow {
            let begin = Instant::now();
            let sent = timeout(listener.patience, listener.out.send(facts.clone())).await;
            listener.patience = listener.patience.saturating_sub(begin.elapsed());
            let ended = locked(&self.ended);
            if matches!(sent, Ok(Ok(()))) && ended.is_none() {
                locked(&self.listeners).push(listener);
            }
        }
    }
}

/// Keeps the events of a session coming, for as long as it lives.
pub(crate) struct FeedSubscription {
    pub(crate) feed: Arc<SessionFeed>,
    shared: Arc<ConnectionShared>,
}

impl FeedSubscription {
    pub(super) fn new(feed: Arc<SessionFeed>, shared: Arc<ConnectionShared>) -> Self {
        feed.holders.fetch_add(1, Ordering::AcqRel);
        Self { feed, shared }
    }
}

impl Drop for FeedSubscription {
    fn drop(&mut self) {
        if self.feed.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.released.notify_one();
        }
    }
}
