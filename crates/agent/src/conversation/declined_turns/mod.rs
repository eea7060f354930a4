//! Leaves out a turn that a model declined to answer, because it would decline each later request with it:
//! Anthropic says to remove or rephrase the refused turn
//! (<https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals>).
//! The log keeps it, and so do transcripts.
//!
//! The whole turn goes: the input and all rounds that followed from it, because nobody knows which of them
//! was declined. A note lists the tools that ran for it, so that the model does not repeat them. A further
//! refusal shows that the cause is older: then earlier messages go too, one at first, then two, four and so
//! on, until a model answers. So every session can be repaired.
//!
//! [`earlier_rules`] has the behaviour of earlier versions of the rules.

mod earlier_rules;

use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, Message, MessageId, Role, ToolCallId};

use super::{Condensed, Conversation, Entry};
use crate::token_estimate::estimate_message;

/// The text in place of the result of a call that ran.
const DONE: &str =
    "[This call was run, and succeeded. Its result is left out, because the answer to it was declined.]";
/// The text instead of the result of any other call: one that failed, was stopped or was cut off may
/// have had its effect anyway.
const NOT_DONE: &str = "[This call failed, was cut off, or was not run. It may or may not have had its effect: look before you repeat it. \
     Its result is left out, because the answer to it was declined.]";
/// The maximum number of calls that the note about a turn names.
const NAMED_CALLS: usize = 20;

impl Conversation {
    /// The message that begins the turn of the run that answers `input`. An input without words is not in the
    /// conversation: it asks the latest one again.
    pub(crate) fn begins_turn(&self, input: &MessageId) -> Option<&MessageId> {
        let at = self.begin_of_turn(input)?;
        Some(&self.entries[at].message.message_id)
    }

    /// Returns whether a message is in the conversation.
    pub(crate) fn has_message(&self, id: &MessageId) -> bool {
        self.entries.iter().any(|entry| entry.message.message_id == *id)
    }

    /// Notes that a model has answered, so that the current conversation does not count as declined.
    pub(crate) fn note_answered(&mut self) {
        self.declined_in_a_row = 0;
    }

    /// Removes the turn of the run that answers `input`, which was declined in the event `refusal`, and more
    /// if no answer came since the refusal before.
    ///
    /// A summary that also replaces older messages stays. Results before the turn that no model has answered
    /// are rephrased.
    pub(crate) fn leave_out_turn(&mut self, input: &MessageId, refusal: u64, config: &AgentConfig) {
        let Some(begin) = self.begin_of_turn(input) else {
            return;
        };
        let note = self.note_about(begin, refusal);
        let first = self.begin_of_messages_before(begin);
        let removed = self.entries.split_off(first);
        self.drop_condensed();
        let is_older = |entry: &Entry| entry.summary && entry.seq < removed[0].seq;
        let summaries = removed.iter().filter(|entry| is_older(entry)).cloned();
        if self.declined_in_a_row == 0 {
            self.entries.extend(summaries);
        }
        self.rephrase_last_results();
        self.entries.extend(note);
        if first < self.window_start {
            self.window_start = 0;
            self.stays.clear();
            self.beginning_changed(config);
        }
        self.declined_in_a_row = self.declined_in_a_row.saturating_add(1);
        self.prefix.clear();
        self.forget_counts();
    }

    /// The index of the message that begins the turn.
    fn begin_of_turn(&self, input: &MessageId) -> Option<usize> {
        let is_it = |entry: &Entry| entry.message.message_id == *input;
        let of_input = self.entries.iter().rposition(is_it);
        of_input.or_else(|| self.entries.iter().rposition(is_said))
    }

    /// The index of the first message to remove: the number of removed messages of people before `begin`
    /// depends on the number of consecutive refusals.
    fn begin_of_messages_before(&self, begin: usize) -> usize {
        let Some(doublings) = self.declined_in_a_row.checked_sub(1) else {
            return begin;
        };
        let further = 1_usize.checked_shl(doublings).unwrap_or(usize::MAX);
        let before = self.entries[..begin].iter().enumerate().rev();
        let mut said = before.filter(|(_, entry)| is_said(entry)).map(|(at, _)| at);
        said.nth(further - 1).unwrap_or(0)
    }

    /// The note about the calls that ran in the turn from `begin` on, before the event `refusal`; `None` if
    /// none did.
    fn note_about(&self, begin: usize, refusal: u64) -> Option<Entry> {
        let turn = &self.entries[begin..];
        let messages = turn.iter().filter(|entry| entry.seq < refusal);
        let parts = || messages.clone().flat_map(|entry| &entry.message.content);
        let name_of = |id: &ToolCallId| {
            parts().find_map(|part| match part {
                ContentPart::ToolCall(call) if call.tool_call_id == *id => Some(call.name.as_str()),
                _ => None,
            })
        };
        let mut calls: Vec<String> = Vec::new();
        for part in parts() {
            if let ContentPart::ToolResult(result) = part
                && let Some(name) = name_of(&result.tool_call_id)
            {
                let outcome = if result.is_error {
                    "without success"
                } else {
                    "succeeded"
                };
                calls.push(format!("{name} ({outcome})"));
            }
        }
        let more = calls.len().saturating_sub(NAMED_CALLS);
        calls.truncate(NAMED_CALLS);
        if more > 0 {
            calls.push(format!("{more} more"));
        }
        let message = Message {
            message_id: MessageId::with_suffix(format_args!("declined_{refusal}")),
            role: Role::User,
            content: vec![ContentPart::text(format!(
                "[A message and the work on it are left out here, because the answer to it was declined. These \
                 calls were made for it: {}. They may have had their effects: look before you repeat any.]",
                calls.join(", ")
            ))],
            by: None,
        };
        let tokens = estimate_message(&message);
        (!calls.is_empty()).then(|| Entry {
            seq: refusal,
            message: Arc::new(message),
            tokens,
            summary: false,
            masked: false,
        })
    }

    /// Forgets the originals of summaries and of masked results that are no longer in the conversation.
    fn drop_condensed(&mut self) {
        let is_there = |condensed: &Condensed| {
            if condensed.masks {
                return condensed.entries.iter().any(|entry| self.has_masked(entry));
            }
            let nested = self.condensed.iter().flat_map(|other| &other.entries);
            let mut all = self.entries.iter().chain(nested);
            all.any(|entry| entry.summary && entry.message.message_id == condensed.id)
        };
        let kept: Vec<Condensed> = self.condensed.iter().filter(|it| is_there(it)).cloned().collect();
        self.condensed = kept;
    }

    /// Replaces the results at the end of the conversation by a text that only says whether their calls were
    /// run.
    fn rephrase_last_results(&mut self) {
        let from = self.window_start.min(self.entries.len());
        let results = self.entries[from..].iter_mut().rev();
        for entry in results.take_while(|entry| entry.message.role == Role::Tool) {
            entry.message = rephrased(&entry.message);
            entry.tokens = estimate_message(&entry.message);
        }
    }

    /// Forgets the counts from before entries were removed from the end.
    fn forget_counts(&mut self) {
        self.asked_entries = self.asked_entries.min(self.entries.len());
        self.counted = None;
        self.counts = None;
        self.window_tokens.clear();
        self.landmarks.clear();
        self.call_ids.clear();
    }
}

/// Returns whether it is a message of a person, or a summary.
fn is_said(entry: &Entry) -> bool {
    entry.message.role == Role::User
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
