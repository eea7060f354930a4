//! Context from services that is not a message: parts of the standing instructions, and text around inputs.
//!
//! Neither changes the conversation. The instructions are sent before it, in the order in which the
//! configuration names their sources. An input keeps its words, which people see; only the model reads it
//! between the texts of its wrapping.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, InputWrapping, Message, MessageId};
use serde::{Deserialize, Serialize};

use super::{Conversation, Entry};
use crate::token_estimate::estimate_text;

/// Context from services that is not a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct GivenContext {
    /// Parts of the standing instructions, by the names of their sources.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    instructions: BTreeMap<String, Arc<str>>,
    /// The texts around inputs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    wrappings: BTreeMap<MessageId, InputWrapping>,
    /// Whether the window has moved because the number of earlier messages is bounded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) latest_only: bool,
}

impl GivenContext {
    /// Returns whether nothing was given: then nothing is serialized.
    pub(super) fn is_empty(&self) -> bool {
        self.instructions.is_empty() && self.wrappings.is_empty() && !self.latest_only
    }

    /// The parts of the standing instructions, in the order of the configuration.
    pub(super) fn instructions<'a>(&'a self, config: &'a AgentConfig) -> impl Iterator<Item = Arc<str>> + 'a {
        let sources = config.context_sources.iter();
        sources.filter_map(|source| self.instructions.get(&source.name).cloned())
    }

    /// Returns whether texts are put around the message.
    pub(super) fn wraps(&self, message: &MessageId) -> bool {
        self.wrappings.contains_key(message)
    }

    /// The message as a model reads it: between the texts around it, if it has such.
    pub(super) fn wrapped(&self, message: Arc<Message>) -> Arc<Message> {
        let Some(wrapping) = self.wrappings.get(&message.message_id) else {
            return message;
        };
        let tags = closing_tags(&wrapping.after);
        let mut content = Vec::with_capacity(message.content.len() + 2);
        let mut text = wrapping.before.clone();
        for part in &message.content {
            match part.as_text() {
                Some(words) => text.push_str(&without_closing_tags(words, &tags)),
                None => {
                    content.push(ContentPart::text(std::mem::take(&mut text)));
                    content.push(part.clone());
                }
            }
        }
        text.push_str(&wrapping.after);
        content.push(ContentPart::text(text));
        content.retain(|part| part.as_text() != Some(""));
        Arc::new(Message {
            content,
            ..Message::clone(&message)
        })
    }
}

impl Conversation {
    /// Replaces the part of the standing instructions that a source gave; an empty text removes it.
    pub(crate) fn instruct(&mut self, source: &str, text: &str, config: &AgentConfig) {
        let present = self.given.instructions.get(source);
        if present.map(|present| &**present).unwrap_or_default() == text {
            return;
        }
        if text.is_empty() {
            self.given.instructions.remove(source);
        } else {
            self.given.instructions.insert(source.to_owned(), Arc::from(text));
        }
        self.prefix.clear();
        self.counted = None;
        self.beginning_changed(config);
    }

    /// Puts text around an input, as the model reads it, in place of an earlier text around it.
    pub(crate) fn wrap_input(&mut self, input: &MessageId, wrapping: InputWrapping) {
        let is_input = |entry: &Entry| entry.message.message_id == *input;
        let Some(at) = self.entries.iter().rposition(is_input) else {
            return;
        };
        let tokens = tokens_of(&wrapping);
        let earlier = self.given.wrappings.insert(input.clone(), wrapping);
        let before = earlier.as_ref().map_or(0, tokens_of);
        let changed = |sum: u64| sum.saturating_sub(before) + tokens;
        self.entries[at].tokens = changed(self.entries[at].tokens);
        if at >= self.window_start {
            self.window_tokens.update(|sum| *sum = changed(*sum));
        }
    }
}

/// The size of the texts around an input, estimated.
fn tokens_of(wrapping: &InputWrapping) -> u64 {
    estimate_text(&wrapping.before) + estimate_text(&wrapping.after)
}

/// The closing tags in a text, without their last sign, in lower case.
fn closing_tags(text: &str) -> Vec<String> {
    let names = text.split("</").skip(1).filter_map(|rest| rest.split('>').next());
    names
        .filter(|name| !name.is_empty())
        .map(|name| format!("</{}", name.to_ascii_lowercase()))
        .collect()
}

/// The text with `&lt;` at the beginning of each of these tags, in any case of letters.
fn without_closing_tags(text: &str, tags: &[String]) -> String {
    // Lower case of ASCII has the same bytes at the same places.
    let lower = text.to_ascii_lowercase();
    let is_tag = |at: usize| tags.iter().any(|tag| lower[at..].starts_with(tag.as_str()));
    let mut safe = String::with_capacity(text.len());
    for (at, sign) in text.char_indices() {
        if sign == '<' && is_tag(at) {
            safe.push_str("&lt;");
        } else {
            safe.push(sign);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use agentx_types::Role;

    use super::*;

    #[test]
    fn an_input_that_is_answered_again_counts_the_text_around_it_once() {
        let mut conversation = Conversation::default();
        let input = MessageId::new("msg_1");
        let message = Message {
            message_id: input.clone(),
            role: Role::User,
            content: vec![ContentPart::text("hi")],
            by: None,
        };
        conversation.push(1, Arc::new(message));
        let bare = conversation.entries[0].tokens;
        for before in ["a longer text before the words of the person", "shorter"] {
            let wrapping = InputWrapping {
                before: before.to_owned(),
                after: "end".to_owned(),
            };
            let around = tokens_of(&wrapping);
            conversation.wrap_input(&input, wrapping);
            assert_eq!(conversation.entries[0].tokens, bare + around, "{before}");
            assert_eq!(conversation.tokens_in_window(), bare + around, "{before}");
        }
    }
}
