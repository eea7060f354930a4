//! The stages of a reading, and its checks of single facts and deliveries.

use super::{Delivery, EventCursor, Fact, Gap};

/// The place of a reading between its log and its source.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ReaderStage {
    /// Something may be missing: the source begins, or begins again.
    Cut,
    /// Read up to this fact.
    Log(u64),
    /// The source brings live items. `in_step` says whether they follow the known facts without a gap.
    Live { in_step: bool },
    /// The source is broken.
    Broken(Gap),
    /// The log went back: the last event that came is no longer in it.
    WentBack,
}

/// Whether the reader has reported that it has caught up.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum CaughtUp {
    /// The fact at which it has caught up is not known yet.
    Unknown,
    /// The reader catches up with this fact.
    At(u64),
    /// Reported; this happens once.
    Said,
}

/// The `seq` of a fact that is known or directly follows the known facts.
pub(super) fn follows(known: u64, fact: &Fact) -> Result<u64, Gap> {
    let next = known + 1;
    if fact.seq > next {
        return Err(Gap {
            first: next,
            last: fact.seq - 1,
        });
    }
    Ok(fact.seq)
}

/// Returns the place of a delivery; `None` if it is not an event.
pub(super) fn position(delivery: &Delivery) -> Option<EventCursor> {
    match delivery {
        Delivery::Environment(fact) => Some(EventCursor::after(fact.seq)),
        Delivery::Runtime(event) => Some(EventCursor::of(event)),
        Delivery::CaughtUp(_) | Delivery::CutOff(_) => None,
    }
}
