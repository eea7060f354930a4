//! The messages of a request: those in the window, and what stays although the window has moved past it, as a
//! model reads them.

use std::sync::Arc;

use agentx_types::{ContentPart, EARLIER_MESSAGES, Message, MessageId, Role};

use super::{Conversation, media_limit};
use crate::other_authors;

/// The text that replaces older messages.
const LEFT_OUT: &str = "[Earlier parts of this conversation are left out because they no longer fit.]";
/// The same if the configuration bounds their number.
const NOT_LATEST: &str =
    "[Earlier parts of this conversation are left out: only its latest messages are sent.]";

impl Conversation {
    /// The messages of a request.
    pub(super) fn window(&self) -> Vec<Arc<Message>> {
        let mut messages = Vec::with_capacity(self.entries.len() - self.window_start + 2);
        if self.window_start > 0 {
            messages.push(Arc::new(Message {
                message_id: MessageId::new(EARLIER_MESSAGES),
                role: Role::User,
                content: vec![ContentPart::text(if self.given.latest_only {
                    NOT_LATEST
                } else {
                    LEFT_OUT
                })],
                by: None,
            }));
            // Pinned messages are older than anything that was left out since.
            messages.extend(
                self.stays
                    .iter()
                    .filter_map(|(message, _)| self.repairs.sent(1, message)),
            );
        }
        let entries = self.entries[self.window_start..].iter();
        messages.extend(entries.filter_map(|entry| self.repairs.sent(entry.seq, &entry.message)));
        if let Some(most) = self.repairs.most_media {
            media_limit::keep_newest(&mut messages, most);
        }
        let as_read = |message| self.given.wrapped(other_authors::marked(message));
        messages.into_iter().map(as_read).collect()
    }
}
