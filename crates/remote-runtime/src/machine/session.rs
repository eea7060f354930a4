//! One session on the wire: from where its events are wanted, and whether they come.

/// A session whose events are wanted.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Everything up to here was delivered.
    pub(super) applied: u64,
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
    /// They come.
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

impl Wanted {
    pub(super) fn new(after_seq: u64) -> Self {
        Self {
            applied: after_seq,
            wire: Wire::Off,
            gaps: 0,
        }
    }

    /// The connection is gone.
    pub(super) fn cut(&mut self) {
        self.wire = Wire::Off;
    }
}
