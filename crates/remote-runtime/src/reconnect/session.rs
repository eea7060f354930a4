//! One session on the wire: from where its events are wanted, and whether they come.
//!
//! What is delivered is remembered as long as the session is wanted, over any number of connections; what was
//! asked for is forgotten with the connection that it was asked on.

use agentx_runtime::Fact;

/// A session whose events are wanted.
#[derive(Debug)]
pub(super) struct WantedSession {
    /// Everything up to here was delivered.
    pub(super) applied: u64,
    /// The last fact that ever came. A log that has another one in its place, or none, went back.
    pub(super) newest: Option<Fact>,
    /// Whether that fact was asked for again and did not come yet.
    pub(super) overlaps: bool,
    /// Whether its events come on this connection.
    pub(super) wire: Wire,
    /// How often in a row events were missing.
    pub(super) gaps: u32,
}

/// Whether the events of a session come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// They were not asked for on this connection.
    Off,
    /// They were; nothing that comes before the answer counts.
    Asked { until: u64 },
    /// They come, behind the last one that was delivered.
    On,
    /// The server wants to be asked later.
    Later { at: u64 },
}

impl Wire {
    /// When something has to be done about it.
    pub(super) fn until(&self) -> Option<u64> {
        match self {
            Self::Asked { until: at } | Self::Later { at } => Some(*at),
            Self::Off | Self::On => None,
        }
    }

    /// Whether the server has a subscription, or will.
    pub(super) fn is_held(&self) -> bool {
        matches!(self, Self::Asked { .. } | Self::On)
    }
}

impl WantedSession {
    /// One of which nothing has come yet, and whose events are wanted from here on.
    pub(super) fn new(after_seq: u64) -> Self {
        Self {
            applied: after_seq,
            newest: None,
            overlaps: false,
            wire: Wire::Off,
            gaps: 0,
        }
    }

    /// After which event the server is asked: the last one that came is asked for again, where it is at hand.
    pub(super) fn asks_after(&self) -> u64 {
        if self.ends_with_newest() {
            self.applied - 1
        } else {
            self.applied
        }
    }

    /// Whether the last fact that ever came is the last one that was delivered.
    pub(super) fn ends_with_newest(&self) -> bool {
        self.newest
            .as_ref()
            .is_some_and(|newest| newest.seq == self.applied)
    }

    /// The `seq` of the last fact that ever came; 0 before any.
    pub(super) fn newest_seq(&self) -> u64 {
        self.newest.as_ref().map_or(0, |newest| newest.seq)
    }

    /// The connection is gone.
    pub(super) fn cut(&mut self) {
        self.wire = Wire::Off;
    }
}
