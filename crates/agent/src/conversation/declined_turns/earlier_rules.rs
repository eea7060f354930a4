//! Versions 5 to 8 of the rules left out only a part of a declined turn: everything that no model had
//! answered before. The first refusal of a run notes its beginning, and the end of the run leaves it out.

use agentx_types::{MessageId, Role};

use super::{Conversation, Entry};

impl Conversation {
    /// The first event to remove if the model declines the request in progress: the first that no model had
    /// answered before.
    ///
    /// `None` if nothing of the run that answers `input` is in the conversation.
    pub(crate) fn unanswered(&self, input: &MessageId) -> Option<u64> {
        let begins = self
            .entries
            .iter()
            .rposition(|entry| entry.message.message_id == *input)?;
        let answer = self.entries[begins..]
            .iter()
            .rposition(|entry| entry.message.role == Role::Assistant);
        let Some(answer) = answer.map(|at| begins + at) else {
            return Some(self.entries[begins].seq);
        };
        let mut results = self.entries[answer..].iter();
        let has_results = results.any(|entry| entry.message.role == Role::Tool);
        // Its results go with their calls.
        let first = answer + usize::from(!has_results);
        self.entries.get(first).map(Entry::seq)
    }

    /// Removes everything from the event `seq` on, except messages before the window.
    ///
    /// A message that a person sent meanwhile has the same event as the results of the calls before it: those
    /// stay with their calls.
    pub(crate) fn leave_out_from(&mut self, seq: u64) {
        let is_after = |entry: &Entry| entry.seq >= seq && entry.message.role != Role::Tool;
        if let Some(first) = self.entries.iter().position(is_after) {
            self.entries.truncate(first.max(self.window_start));
            self.forget_counts();
        }
    }
}
