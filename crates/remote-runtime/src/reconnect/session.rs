//! A wanted session: its position and the state of its subscription.
//!
//! The position survives lost connections as long as the session is wanted; the state of the subscription
//! belongs to one connection.

use agentx_runtime::Fact;

/// A session whose events are wanted.
#[derive(Debug)]
pub(super) struct SessionSubscription {
    /// The `seq` of the last delivered fact.
    pub(super) applied: u64,
    /// The last fact that ever came. If the server's log has another one in its place, or none, it went back.
    pub(super) newest: Option<Fact>,
    /// Whether the machine asked for that fact again and still waits for it.
    pub(super) awaits_overlap: bool,
    /// The state of its subscription on this connection.
    pub(super) subscription: SubscriptionState,
    /// The number of gaps in a row.
    pub(super) gaps: u32,
}

/// The state of a subscription.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SubscriptionState {
    /// Not requested on this connection.
    Off,
    /// Requested; frames before the answer do not count.
    Asked { until: u64 },
    /// Active: facts follow the last delivered one.
    On,
    /// Postponed, because the server asked for a pause.
    Later { at: u64 },
}

impl SubscriptionState {
    /// The time at which the machine has to act on it.
    pub(super) fn deadline(&self) -> Option<u64> {
        match self {
            Self::Asked { until: at } | Self::Later { at } => Some(*at),
            Self::Off | Self::On => None,
        }
    }

    /// Returns whether the server has a subscription, or will have one.
    pub(super) fn is_held(&self) -> bool {
        matches!(self, Self::Asked { .. } | Self::On)
    }
}

impl SessionSubscription {
    /// Creates a session whose events are wanted from after `after_seq`.
    pub(super) fn new(after_seq: u64) -> Self {
        Self {
            applied: after_seq,
            newest: None,
            awaits_overlap: false,
            subscription: SubscriptionState::Off,
            gaps: 0,
        }
    }

    /// The `after_seq` of the subscription. The machine asks for the last fact again if it has it, to compare
    /// the two.
    pub(super) fn asks_after(&self) -> u64 {
        if self.ends_with_newest() {
            self.applied - 1
        } else {
            self.applied
        }
    }

    /// Returns whether the last fact that ever came is the last delivered one.
    pub(super) fn ends_with_newest(&self) -> bool {
        self.newest
            .as_ref()
            .is_some_and(|newest| newest.seq == self.applied)
    }

    /// The `seq` of the last fact that ever came; 0 before any.
    pub(super) fn newest_seq(&self) -> u64 {
        self.newest.as_ref().map_or(0, |newest| newest.seq)
    }

    /// Resets the subscription after the connection is lost.
    pub(super) fn cut(&mut self) {
        self.subscription = SubscriptionState::Off;
    }
}
