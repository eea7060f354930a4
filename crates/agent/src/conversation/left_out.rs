//! The parts and the messages in whose place a provider is sent words.
//!
//! A refusal may name a part by its place in the request: words replace that part alone. If a refusal names
//! nothing and no plainer form helps, words replace the messages that followed the last accepted request: the
//! request up to there was accepted, so the session is never beyond repair.
//!
//! ```text
//! named ──▶ that part in words ──▶ the kinds in turn ──▶ the latest messages in words ──▶ the run fails
//! ```
//!
//! The input of the run stays, so that the model has something to answer: if it alone is refused, the run
//! fails, and the next run sends words in its place. The conversation itself keeps everything, as with all
//! repairs. Parts stay left out for all models of a session, because what another model accepts is part of
//! the request that the former one would refuse again. From version 9 of the rules on.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_types::{
    AgentConfig, ContentPart, LEFT_OUT_PART, Message, MessagePlace, RequestPart, Role, ToolCallPart,
    ToolResultPart, since,
};
use serde_json::json;

use super::refusable_parts::is_signed_thinking;
use super::repair::Refusal;
use super::repairs::Repairs;
use super::{Conversation, Entry};

/// The maximum number of parts that are replaced one after another before an answer.
const MOST: usize = 8;

impl Conversation {
    /// Returns whether words may replace a part that the refusal names.
    pub(super) fn can_replace_named(&self, refusal: &Refusal, config: &AgentConfig) -> bool {
        let before = self.before_repairs.as_ref().unwrap_or(&self.repairs);
        let replaced = self.repairs.left_out.len().saturating_sub(before.left_out.len());
        config.rules_version >= since::REFUSED_PARTS_ARE_REPLACED
            && replaced < MOST
            && !self.named_parts(refusal).is_empty()
    }

    /// Replaces the part that the refusal names with words.
    pub(super) fn replace_named(&mut self, refusal: &Refusal, config: &AgentConfig) {
        let parts = self.named_parts(refusal);
        let is_named = |entry: &&Entry| {
            parts
                .iter()
                .any(|part| part.message_id == entry.message.message_id)
        };
        let first = self.entries.iter().find(is_named).map(Entry::seq);
        self.repairs.left_out.extend(parts);
        // Thinking is bound to all that is before it.
        if first.is_some_and(|seq| self.has(seq.saturating_sub(1), is_signed_thinking)) {
            self.beginning_changed(config);
        }
    }

    /// Returns the parts that the refusal names and that are still sent; none if that is not certain. The
    /// indices are those of the message in the conversation.
    fn named_parts(&self, refusal: &Refusal) -> Vec<MessagePlace> {
        let Some(place) = &refusal.place else {
            return Vec::new();
        };
        let is_it = |entry: &&Entry| entry.message.message_id == place.message_id;
        let mut named = self.entries[self.window_start..].iter().filter(is_it);
        let (Some(entry), None) = (named.next(), named.next()) else {
            return Vec::new();
        };
        let message = &entry.message;
        if self.repairs.leaves_out(&whole(message)) {
            return Vec::new();
        }
        // Such a message is sent with further parts, or as one text.
        if message.role == Role::User && (message.by.is_some() || self.given.wraps(&message.message_id)) {
            return vec![whole(message)];
        }
        let is_sent = |at: &usize| self.repairs.sent_part(entry.seq, message, *at).is_some();
        let mut sent = (0..message.content.len()).filter(is_sent);
        let parts: Vec<usize> = match place.part {
            Some(part) => sent.nth(part as usize).into_iter().collect(),
            None => sent.collect(),
        };
        let parts = parts.into_iter().filter_map(|at| part_of(message, at));
        parts.filter(|part| !self.repairs.leaves_out(part)).collect()
    }

    /// Returns whether words may replace the messages that followed the last accepted request: once in a
    /// run, and not because of an HTTP 500, which may be an outage.
    pub(super) fn can_replace_latest(&self, refusal: &Refusal, config: &AgentConfig) -> bool {
        let is_of_conversation = match refusal.part {
            RequestPart::Unknown
            | RequestPart::Thinking
            | RequestPart::Blocks
            | RequestPart::ToolCalls
            | RequestPart::EmptyText => true,
            _ => refusal.place.is_some(),
        };
        config.rules_version >= since::REFUSED_PARTS_ARE_REPLACED
            && is_of_conversation
            && !refusal.is_repeated
            && !self.latest_replaced
            && !self.latest_messages().is_empty()
    }

    /// Replaces the messages that followed the last accepted request with words. What was left out in vain
    /// is sent again.
    pub(super) fn replace_latest(&mut self) {
        let messages = self.latest_messages();
        if let Some(before) = &self.before_repairs {
            self.repairs = before.clone();
            self.prefix.clear();
        }
        self.repairs.left_out.extend(messages);
        self.latest_replaced = true;
    }

    /// Returns whether the refused request already had words in place of the latest messages: then no other
    /// form is left.
    pub(super) fn has_replaced_latest(&self) -> bool {
        let left_out = self.repairs.left_out.len();
        let before = self.before_repairs.as_ref();
        self.latest_replaced && before.is_some_and(|before| before.left_out.len() < left_out)
    }

    /// Returns the messages that followed the last accepted request and are still sent, without an input at
    /// the end; none if that is not certain.
    fn latest_messages(&self) -> Vec<MessagePlace> {
        let window = &self.entries[self.window_start..];
        let is_answer = |entry: &Entry| entry.message.role == Role::Assistant;
        // Logs of earlier rules do not tell which request was accepted.
        if self.accepted == 0 && (self.window_start > 0 || window.iter().any(is_answer)) {
            return Vec::new();
        }
        let is_latest = |entry: &&Entry| entry.seq > self.accepted && !entry.summary;
        let mut latest: Vec<&Entry> = window.iter().filter(is_latest).collect();
        latest.pop_if(|last| last.message.role == Role::User);
        let ids: BTreeSet<_> = latest.iter().map(|entry| &entry.message.message_id).collect();
        let with_id = window
            .iter()
            .filter(|entry| ids.contains(&entry.message.message_id));
        if with_id.count() != latest.len() {
            return Vec::new();
        }
        let messages = latest.into_iter().map(|entry| whole(&entry.message));
        messages
            .filter(|message| !self.repairs.leaves_out(message))
            .collect()
    }
}

impl Repairs {
    /// Returns whether words replace exactly this part, or this whole message.
    pub(super) fn leaves_out(&self, place: &MessagePlace) -> bool {
        self.left_out.contains(place)
    }

    /// Returns whether words replace anything of the message.
    pub(super) fn leaves_out_any(&self, message: &Message) -> bool {
        self.left_out
            .iter()
            .any(|place| place.message_id == message.message_id)
    }

    /// The text in place of a message of which nothing else is left, if words replace it as a whole.
    pub(super) fn words_alone(&self, message: &Message) -> Option<ContentPart> {
        self.leaves_out(&whole(message))
            .then(|| ContentPart::text(LEFT_OUT_PART))
    }

    /// The message for the transcript of a summary: words replace what was refused by its place.
    pub(super) fn without_refused(&self, message: &Arc<Message>) -> Arc<Message> {
        if !self.leaves_out_any(message) {
            return message.clone();
        }
        let parts = 0..message.content.len();
        let mut content: Vec<ContentPart> = parts.filter_map(|at| self.kept_part(message, at)).collect();
        if content.is_empty() {
            content.extend(self.words_alone(message));
        }
        Arc::new(Message {
            content,
            ..Message::clone(message)
        })
    }

    /// A part of the message, or what replaces it; `None` if nothing does.
    pub(super) fn kept_part(&self, message: &Message, at: usize) -> Option<ContentPart> {
        let part = message.content.get(at)?.clone();
        let is_part = || part_of(message, at).is_some_and(|place| self.leaves_out(&place));
        let is_left_out = !self.left_out.is_empty() && (self.leaves_out(&whole(message)) || is_part());
        if is_left_out {
            in_its_place(part)
        } else {
            Some(part)
        }
    }
}

fn whole(message: &Message) -> MessagePlace {
    MessagePlace {
        message_id: message.message_id.clone(),
        part: None,
    }
}

fn part_of(message: &Message, at: usize) -> Option<MessagePlace> {
    Some(MessagePlace {
        message_id: message.message_id.clone(),
        part: Some(u32::try_from(at).ok()?),
    })
}

/// Returns what replaces a part. Calls and their results stay together, as every provider requires.
fn in_its_place(part: ContentPart) -> Option<ContentPart> {
    Some(match part {
        ContentPart::ToolCall(call) => ContentPart::ToolCall(ToolCallPart {
            input: json!({}),
            ..call
        }),
        ContentPart::ToolResult(result) => ContentPart::ToolResult(ToolResultPart {
            content: vec![ContentPart::text(LEFT_OUT_PART)],
            ..result
        }),
        ContentPart::Thinking(_) | ContentPart::Opaque(_) => return None,
        ContentPart::Text(_) | ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => {
            ContentPart::text(LEFT_OUT_PART)
        }
    })
}
