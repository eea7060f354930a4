//! The latest event of a conversation: repairs and requests count from it.

use super::{Conversation, Entry};

impl Conversation {
    /// The latest event of the conversation.
    ///
    /// Messages are in the order of their events, and a summary has the event of the first message that it
    /// replaces. So the last message that is not a summary has the latest event of all messages before it.
    pub(super) fn latest(&self) -> u64 {
        let is_message = |entry: &Entry| !entry.summary;
        let from = self.entries.iter().rposition(is_message).unwrap_or(0);
        let last = self.entries[from..].iter();
        last.map(Entry::seq).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentx_types::{ContentPart, ContextCondensed, Message, MessageId, Role};

    use super::*;

    /// Asserts that the latest event is that of the latest message, and returns it.
    fn latest(conversation: &Conversation) -> u64 {
        let all = conversation.entries.iter().map(Entry::seq).max();
        assert_eq!(conversation.latest(), all.unwrap_or_default());
        conversation.latest()
    }

    #[test]
    fn the_latest_event_is_that_of_the_latest_message_with_and_without_summaries() {
        let mut conversation = Conversation::default();
        assert_eq!(latest(&conversation), 0);
        let push = |conversation: &mut Conversation, seq: u64| {
            let message = Message {
                message_id: MessageId::with_suffix(seq),
                role: if seq % 2 == 1 { Role::User } else { Role::Assistant },
                content: vec![ContentPart::text("some words")],
                by: None,
            };
            conversation.push(seq, Arc::new(message));
            assert_eq!(latest(conversation), seq);
        };
        (1..=8).for_each(|seq| push(&mut conversation, seq));
        let condense = |conversation: &mut Conversation, range: (u64, u64), kept: &[u64]| {
            let fact = ContextCondensed {
                from_seq: range.0,
                to_seq: range.1,
                summary: "what it was about".into(),
                kept: kept.iter().map(MessageId::with_suffix).collect(),
                bill: None,
                masked: Vec::new(),
            };
            assert!(conversation.condense(100, &fact, &[]).is_some());
            latest(conversation)
        };
        // In the middle, with a message that stays; over that summary; and up to the end.
        assert_eq!(condense(&mut conversation, (3, 6), &[5]), 8);
        assert_eq!(condense(&mut conversation, (1, 6), &[]), 8);
        condense(&mut conversation, (7, 8), &[]);
        push(&mut conversation, 101);
    }
}
