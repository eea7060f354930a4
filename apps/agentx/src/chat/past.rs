//! What a chat shows of a session that is opened again: its last turns, whole, through the same eyes as live ones.

use std::sync::Arc;

use agentx::types::{Envelope, RuntimeEvent};

/// How many of the last turns are shown.
const SHOWN_TURNS: usize = 3;

/// The events that were there before the chat.
pub(crate) struct Past {
    last_seq: u64,
    events: Vec<Arc<Envelope<RuntimeEvent>>>,
}

impl Past {
    /// All up to this `seq`.
    pub(crate) fn until(last_seq: u64) -> Self {
        Self {
            last_seq,
            events: Vec::new(),
        }
    }

    /// Takes an event; returns whether it belongs to the past.
    pub(crate) fn take(&mut self, envelope: &Arc<Envelope<RuntimeEvent>>) -> bool {
        let is_past = envelope.seq <= self.last_seq;
        if is_past {
            self.events.push(envelope.clone());
        }
        is_past
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Arc<Envelope<RuntimeEvent>>] {
        &self.events
    }

    /// Those of the last turns, where `is_of_another` says what is of other agents than the one that people talk to. It begins with what a person said; where nothing was found that far back, with the
    /// beginning of an answer, so that nothing is shown by half.
    pub(crate) fn last_turns(
        &self,
        is_of_another: impl Fn(&Envelope<RuntimeEvent>) -> bool,
    ) -> &[Arc<Envelope<RuntimeEvent>>] {
        let said = |envelope: &Envelope<RuntimeEvent>| {
            matches!(envelope.event, RuntimeEvent::UserMessageAdded(_)) && !is_of_another(envelope)
        };
        let answers = |event: &RuntimeEvent| matches!(event, RuntimeEvent::MessageStart(_));
        let inputs = self.events.iter().enumerate().rev();
        let start = inputs
            .filter(|(_, envelope)| said(envelope))
            .take(SHOWN_TURNS)
            .last()
            .map(|(at, _)| at)
            .or_else(|| self.events.iter().position(|envelope| answers(&envelope.event)));
        start.map_or(&[], |start| &self.events[start..])
    }
}
