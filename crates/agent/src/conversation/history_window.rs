//! Requests with a fixed number of earlier messages, for agents whose configuration bounds it
//! (`history_messages`).
//!
//! The bound counts the messages before the input of the run, so a request after a tool has the same earlier
//! messages as the one before it. It moves the window with each run, which costs the provider's cache; an
//! agent without it moves the window seldom and in large steps. Condensing is independent of it: summaries
//! and pinned inputs are sent although the window has moved past them, the first input is not.

use agentx_types::{AgentConfig, MessageId};

use super::{Conversation, Entry};

impl Conversation {
    /// Moves the window on to the latest messages before `input`, if the configuration bounds their number.
    /// An answer stays together with the results of its calls, so there may be fewer. Returns whether the
    /// window moved.
    pub(crate) fn keep_latest(&mut self, config: &AgentConfig, input: Option<&MessageId>) -> bool {
        let Some(most) = config.history_messages else {
            return false;
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let is_input = |entry: &Entry| Some(&entry.message.message_id) == input;
        let input_at = self.entries.iter().rposition(is_input);
        let end = input_at.unwrap_or(self.entries.len());
        if end.saturating_sub(self.window_start) <= most {
            return false;
        }
        let earliest = end - most;
        let units = self.units(self.window_start);
        let start = units
            .into_iter()
            .map(|(start, _)| start)
            .find(|start| *start >= earliest);
        self.window_start = start.map_or(end, |start| start.min(end));
        self.given.latest_only = true;
        self.window_tokens.clear();
        self.counted = None;
        self.beginning_changed(config);
        true
    }
}
