//! Remembers which messages of a conversation have no secret, so that each request looks at the new ones
//! only: a request of a long conversation repeats thousands of messages.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use agentx_types::{AgentStateId, Message, ModelRequest, SessionId};

/// Number of conversations that are remembered.
const CONVERSATIONS: usize = 64;

/// An agent in a session.
pub(super) type ConversationKey = (SessionId, AgentStateId);

/// The messages of the conversations that called a model last; the latest conversation is last.
#[derive(Default)]
pub(super) struct CheckedConversations {
    known: VecDeque<(ConversationKey, CheckedMessages)>,
    /// The version of the redactor that checked them.
    version: usize,
}

impl CheckedConversations {
    /// Forgets all if another version of the redactor checked them.
    pub(super) fn keep_of(&mut self, version: usize) {
        if std::mem::replace(&mut self.version, version) != version {
            self.known.clear();
        }
    }

    /// Removes and returns the messages of a conversation that are known to have no secret.
    pub(super) fn take(&mut self, key: &ConversationKey) -> CheckedMessages {
        let at = self.known.iter().position(|(known, _)| known == key);
        let found = at.and_then(|at| self.known.remove(at));
        found.map(|(_, messages)| messages).unwrap_or_default()
    }

    /// Remembers the messages of a conversation, and forgets the conversation that was used longest ago if
    /// there are too many.
    pub(super) fn put(&mut self, key: ConversationKey, messages: CheckedMessages) {
        if self.known.len() == CONVERSATIONS {
            self.known.pop_front();
        }
        self.known.push_back((key, messages));
    }
}

/// The messages of a request, in its order. They are known by their address, which no other message gets as
/// long as there is a reference to it, and not kept.
#[derive(Default)]
pub(super) struct CheckedMessages(Vec<Weak<Message>>);

impl CheckedMessages {
    /// All messages of a request.
    pub(super) fn all_of(request: &ModelRequest) -> Self {
        Self(request.messages.iter().map(Arc::downgrade).collect())
    }

    /// Returns whether the message at this place of the request is the one that was there before.
    pub(super) fn has(&self, place: usize, message: &Arc<Message>) -> bool {
        let known = self.0.get(place);
        known.is_some_and(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::{ContentPart, MessageId, Role};

    fn message(text: &str) -> Arc<Message> {
        Arc::new(Message {
            message_id: MessageId::new("msg_1"),
            role: Role::User,
            content: vec![ContentPart::text(text)],
            by: None,
        })
    }

    #[test]
    fn a_message_is_known_at_its_place_and_only_as_it_was() {
        let (first, second) = (message("a"), message("b"));
        let known = CheckedMessages([&first, &second].map(Arc::downgrade).to_vec());
        assert!(known.has(0, &first) && known.has(1, &second));
        assert!(!known.has(1, &first) && !known.has(2, &second));
        assert!(
            !known.has(0, &message("a")),
            "an equal message may be another one"
        );
    }

    #[test]
    fn nothing_is_known_once_the_redactor_has_learned() {
        let key = (SessionId::new("ses_1"), AgentStateId::new("main"));
        let first = message("a");
        let mut conversations = CheckedConversations::default();
        for (version, is_known) in [(0, true), (1, false)] {
            conversations.put(
                key.clone(),
                CheckedMessages([&first].map(Arc::downgrade).to_vec()),
            );
            conversations.keep_of(version);
            assert_eq!(conversations.take(&key).has(0, &first), is_known, "{version}");
        }
    }

    #[test]
    fn the_conversation_that_was_used_longest_ago_is_forgotten() {
        let key = |n: usize| (SessionId::new(format!("ses_{n}")), AgentStateId::new("main"));
        let all = [message("a")];
        let mut conversations = CheckedConversations::default();
        for n in 0..=CONVERSATIONS {
            conversations.put(key(n), CheckedMessages(all.iter().map(Arc::downgrade).collect()));
        }
        assert!(!conversations.take(&key(0)).has(0, &all[0]));
        assert!(conversations.take(&key(1)).has(0, &all[0]));
        assert!(!conversations.take(&key(1)).has(0, &all[0]), "it was removed");
    }
}
