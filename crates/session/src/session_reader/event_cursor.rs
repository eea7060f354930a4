//! The place of an event in its session. Every reader of a session keeps one, and ignores events that are not
//! after it.

use agentx_types::Envelope;

/// The place of an event in its session: the `seq` of its fact, and its index among the events of that fact.
///
/// ```
/// use agentx_session::EventCursor;
///
/// let within = EventCursor { seq: 7, index: 1 };
/// assert!(EventCursor::after(6) < within && within < EventCursor::after(7));
/// assert_eq!((within.whole(), EventCursor::after(7).whole()), (6, 7));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventCursor {
    /// The `seq` of the fact.
    pub seq: u64,
    /// The index among the events that follow from it.
    pub index: u32,
}

impl EventCursor {
    /// Creates a cursor after a fact and all events derived from it.
    pub const fn after(seq: u64) -> Self {
        Self { seq, index: u32::MAX }
    }

    /// The place of an event.
    pub fn of<E>(event: &Envelope<E>) -> Self {
        Self {
            seq: event.seq,
            index: event.index.unwrap_or(0),
        }
    }

    /// The last fact whose derived events have all been seen.
    pub const fn whole(self) -> u64 {
        if self.index == u32::MAX {
            self.seq
        } else {
            self.seq.saturating_sub(1)
        }
    }

    /// Advances to `position` if that is later. Returns whether it did, which means that the event there is
    /// new.
    pub fn advance_to(&mut self, position: Self) -> bool {
        let is_new = position > *self;
        if is_new {
            *self = position;
        }
        is_new
    }
}

impl From<(u64, u32)> for EventCursor {
    fn from((seq, index): (u64, u32)) -> Self {
        Self { seq, index }
    }
}
