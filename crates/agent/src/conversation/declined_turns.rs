//! Leaves out what a model declined to answer, because it would decline each later request with it: Anthropic
//! says to remove or rephrase the refused turn
//! (<https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals>).
//! The log keeps it, and so do transcripts.
//!
//! Words of a person are removed. Calls that were run are not, or the model would run them again: their
//! results are rephrased, so that they say that the calls were run, and no more.
//!
//! A refusal calls `unanswered` while the run is in progress, and `leave_out_from` at its end; between them
//! the request may be asked again in another form.

use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, Message, MessageId, Role, since};

use super::estimate::estimate_message;
use super::{Conversation, Entry};

/// The text in place of the result of a call that ran.
const DONE: &str =
    "[This call was run, and succeeded. Its result is left out, because the answer to it was declined.]";
/// The text instead of the result of any other call: one that failed, was stopped or was cut off may
/// have had its effect anyway.
const NOT_DONE: &str = "[This call failed, was cut off, or was not run. It may or may not have had its effect: look before you repeat it. \
     Its result is left out, because the answer to it was declined.]";

impl Conversation {
    /// The first event to remove if the model declines the request in progress: the first that no model had
    /// answered before.
    ///
    /// `None` if nothing of the run that answers `input` is in the conversation.
    pub(crate) fn unanswered(&self, input: &MessageId, config: &AgentConfig) -> Option<u64> {
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
        let results = self.entries[answer..].iter().rev();
        let mut results = results.filter(|entry| entry.message.role == Role::Tool);
        if config.rules_version >= since::RUN_CALLS_STAY {
            let after_answer = self.entries[answer].seq.saturating_add(1);
            return Some(results.next().map_or(after_answer, Entry::seq));
        }
        // Its results go with their calls.
        let first = answer + usize::from(results.next().is_none());
        self.entries.get(first).map(Entry::seq)
    }

    /// Takes out everything from the event `seq` on, but what stands before the window.
    ///
    /// A message that a person said meanwhile is of the same event as the results of the calls before it:
    /// those stay with their calls.
    pub(crate) fn leave_out_from(&mut self, seq: u64, config: &AgentConfig) {
        let is_after = |entry: &Entry| entry.seq >= seq && entry.message.role != Role::Tool;
        let first = self.entries.iter().position(is_after);
        if first.is_none() && config.rules_version < since::RUN_CALLS_STAY {
            return;
        }
        let first = first.unwrap_or(self.entries.len());
        self.entries.truncate(first.max(self.window_start));
        if config.rules_version >= since::RUN_CALLS_STAY {
            self.rephrase_last_results();
        }
        self.asked_entries = self.asked_entries.min(self.entries.len());
        self.counted = None;
        self.counts = None;
        self.window_tokens.clear();
        self.landmarks.clear();
        self.call_ids.clear();
    }

    /// Replaces the results that the conversation ends with by words that say whether their calls were run,
    /// and no more.
    fn rephrase_last_results(&mut self) {
        let results = self.entries[self.window_start..].iter_mut().rev();
        for entry in results.take_while(|entry| entry.message.role == Role::Tool) {
            entry.message = rephrased(&entry.message);
            entry.tokens = estimate_message(&entry.message);
        }
    }
}

/// The message with each of its results rephrased.
fn rephrased(message: &Message) -> Arc<Message> {
    let mut message = message.clone();
    for part in &mut message.content {
        if let ContentPart::ToolResult(result) = part {
            let text = if result.is_error { NOT_DONE } else { DONE };
            result.content = vec![ContentPart::text(text)];
        }
    }
    Arc::new(message)
}
