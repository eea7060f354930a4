//! Leaves out what a model declined to answer. It would be declined again with each later request: Anthropic says to take the turn out that
//! was refused (<https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals>). The log keeps it,
//! and so do transcripts.

use agentx_types::{MessageId, Role};

use super::{Conversation, Entry};

impl Conversation {
    /// The event with which begins what no model had answered before the request that is under way: the latest input, or the latest calls
    /// with their results. `None` where nothing of the run that answers `input` is in the conversation.
    pub(crate) fn unanswered(&self, input: &MessageId) -> Option<u64> {
        let begins = self
            .entries
            .iter()
            .rposition(|entry| entry.message.message_id == *input)?;
        let answer = self.entries[begins..]
            .iter()
            .rposition(|entry| entry.message.role == Role::Assistant);
        let first = match answer.map(|at| begins + at) {
            // Its results go with their calls.
            Some(at)
                if self.entries[at + 1..]
                    .iter()
                    .any(|entry| entry.message.role == Role::Tool) =>
            {
                at
            }
            Some(at) => at + 1,
            None => begins,
        };
        self.entries.get(first).map(|entry| entry.seq)
    }

    /// Takes out everything from that event on. A message that a person said meanwhile is of the same event as the results of the calls
    /// before it: those stay with their calls.
    pub(crate) fn leave_out_from(&mut self, seq: u64) {
        let is_after = |entry: &Entry| entry.seq >= seq && entry.message.role != Role::Tool;
        let Some(first) = self.entries.iter().position(is_after) else {
            return;
        };
        self.entries.truncate(first.max(self.window_start));
        self.asked_entries = self.asked_entries.min(self.entries.len());
        self.counted = None;
        self.counts = None;
        self.window_tokens.clear();
        self.landmarks.clear();
        self.call_ids.clear();
    }
}
