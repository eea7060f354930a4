//! The last event that a reader has of a session. A source that begins again sends it once more, which shows
//! that its log is the one that was read before. A log that went back, because the machine lost power or an
//! old copy replaced it, has another event at this position, or none.

use std::sync::Arc;

use agentx_types::{Envelope, RuntimeEvent, SessionId};

use super::{EventCursor, Fact};

/// The last event of a reader, and whether its source has to bring it again.
#[derive(Default)]
pub(super) struct LastSeen {
    last: Option<Last>,
    awaited: bool,
}

enum Last {
    Fact(Fact),
    Derived(Arc<Envelope<RuntimeEvent>>),
}

/// The place of an event relative to the last one.
#[derive(PartialEq)]
pub(super) enum EventOrder {
    /// The order is consistent.
    Good,
    /// Too early: the last event did not come again yet.
    Early,
    /// Another event at the position of the last one.
    Other,
}

impl LastSeen {
    pub(super) fn fact(&mut self, fact: &Fact) {
        self.last = Some(Last::Fact(fact.clone()));
    }

    pub(super) fn meaning(&mut self, event: &Arc<Envelope<RuntimeEvent>>) {
        self.last = Some(Last::Derived(event.clone()));
    }

    /// Notes that the source begins again; `awaited` if it brings the last event first.
    pub(super) fn set_awaited(&mut self, awaited: bool) {
        self.awaited = awaited && self.last.is_some();
    }

    /// Returns whether the last event is missing, now that the source has returned everything that it has.
    pub(super) fn is_missing(&self) -> bool {
        self.awaited
    }

    /// Returns whether there is one, behind this fact.
    pub(super) fn is_after(&self, head: u64) -> bool {
        self.place().is_some_and(|(_, seq)| seq > head)
    }

    /// Returns the session and the `seq` of the last event.
    pub(super) fn place(&self) -> Option<(SessionId, u64)> {
        Some(match self.last.as_ref()? {
            Last::Fact(fact) => (fact.session_id.clone(), fact.seq),
            Last::Derived(event) => (event.session_id.clone(), event.seq),
        })
    }

    /// Returns the place of a fact relative to the last one. The last event itself ends the wait for it.
    pub(super) fn receive_fact(&mut self, fact: &Fact) -> EventOrder {
        let Some(Last::Fact(last)) = &self.last else {
            return EventOrder::Good;
        };
        let is_same = (fact.seq == last.seq).then(|| fact == last);
        self.receive(is_same, fact.seq > last.seq)
    }

    /// Returns the place of a derived event relative to the last one, as [`receive_fact`](Self::receive_fact)
    /// does for a fact.
    pub(super) fn receive_event(&mut self, event: &Arc<Envelope<RuntimeEvent>>) -> EventOrder {
        let Some(Last::Derived(last)) = &self.last else {
            return EventOrder::Good;
        };
        let (place, at) = (EventCursor::of(&**event), EventCursor::of(&**last));
        let is_same = (place == at).then(|| event == last);
        self.receive(is_same, place > at)
    }

    /// `is_same`: whether an event at the place of the last one is it.
    fn receive(&mut self, is_same: Option<bool>, is_later: bool) -> EventOrder {
        match is_same {
            Some(true) => {
                self.awaited = false;
                EventOrder::Good
            }
            Some(false) => EventOrder::Other,
            None if is_later && self.awaited => EventOrder::Early,
            None => EventOrder::Good,
        }
    }
}
