//! Adapts the emission of chunks to the speed of a stream. Chunks that arrive far apart are emitted
//! immediately. If they arrive close together, some are held back and emitted with the next ones: a commit
//! and a frame for each would cost more than the chunks do.
//!
//! Vendors send some tens of pieces a second, and a small model on this machine may send a thousand. At the
//! first pace every piece is committed and shown as it arrives. At the second one, pieces of 3 to 5 ms become
//! one commit, which is not noticeable: a screen is drawn every 16 ms.

use std::time::Duration;

use agentx_types::EnvironmentEvent;
use tokio::time::Instant;

/// A piece that is waited for no longer than this comes close behind the one before.
const CLOSE: Duration = Duration::from_millis(5);
/// Number of events after which pieces may be held back. Short answers end before, and nothing of them is
/// held back.
const FLOWS: u32 = 16;
/// While the stream flows, pieces are emitted when one arrives this long after the last emitted ones: this
/// needs no timer.
const TOGETHER: Duration = Duration::from_millis(3);
/// Maximum time for which pieces are held back if no other one comes.
const LONGEST: Duration = Duration::from_millis(5);
/// Maximum number of events to emit at once.
const AT_ONCE: usize = 256;

/// The pace of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StreamPace {
    /// The number of pieces in quick succession.
    close: u32,
    /// The time of the last emission.
    said: Option<Instant>,
}

impl StreamPace {
    /// Records a piece that has arrived, and the time of waiting for it.
    pub(super) fn waited(&mut self, time: Duration) {
        self.close = if time <= CLOSE {
            self.close.saturating_add(1)
        } else {
            0
        };
    }

    /// Records that events were emitted at this time: pieces that come soon after them may be held back.
    pub(super) fn on_emitted(&mut self, now: Instant) {
        self.said = Some(now);
    }

    /// Returns whether pieces are emitted together.
    pub(super) fn gathers(self) -> bool {
        self.close >= FLOWS
    }

    /// Returns whether further pieces are emitted with these events.
    pub(super) fn has_room(self, events: &[EnvironmentEvent]) -> bool {
        self.gathers() && events.len() < AT_ONCE
    }

    /// The time until which these events are held back for others; `None` to emit them now. The end of a part
    /// is emitted at once, because the end of the answer may be near.
    pub(super) fn holds(self, events: &[EnvironmentEvent], now: Instant) -> Option<Instant> {
        let said = self.said?;
        let holds = self.has_room(events)
            && now < said + TOGETHER
            && events.last().is_none_or(EnvironmentEvent::is_delta);
        holds.then_some(said + LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::{PartEnd, TextChunk};

    #[test]
    fn only_of_a_stream_that_flows_pieces_are_held_back() {
        let piece = EnvironmentEvent::from(TextChunk { text: "It".into() });
        let (mut flow, begin) = (StreamPace::default(), Instant::now());
        flow.on_emitted(begin);
        for _ in 1..FLOWS {
            flow.waited(CLOSE);
        }
        let one = std::slice::from_ref(&piece);
        assert_eq!(flow.holds(one, begin), None, "a short answer is not held up");
        flow.waited(Duration::ZERO);
        assert_eq!(flow.holds(one, begin), Some(begin + LONGEST));
        assert_eq!(flow.holds(one, begin + TOGETHER), None);
        assert_eq!(flow.holds(&[piece.clone(), PartEnd {}.into()], begin), None);
        assert_eq!(flow.holds(&vec![piece; AT_ONCE], begin), None);
        flow.waited(CLOSE * 2);
        assert!(!flow.gathers(), "words that come one by one are said one by one");
    }
}
