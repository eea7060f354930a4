//! The context that the decoder of a stream needs besides the bytes.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_types::{ContentPart, Message, MessageId, ModelRequest, ToolCallId, UsedIds};

/// The data about a stream that its decoder needs: ids that are already taken, and the number of the attempt.
#[derive(Clone, Debug)]
pub struct StreamContext {
    /// The id of the message if the provider gives none, or one that the conversation already has.
    pub fallback_message_id: MessageId,
    /// The number of the attempt at this call; the first is 1.
    pub attempt: u32,
    /// The ids of the calls in the answer itself.
    calls: BTreeSet<ToolCallId>,
    /// The request that is answered. Its ids are looked up when an answer has one, not collected for each
    /// call.
    request: Option<Arc<ModelRequest>>,
    taken: Arc<UsedIds>,
}

impl StreamContext {
    /// Returns a context without ids of a conversation.
    pub fn new(fallback_message_id: impl AsRef<str>, attempt: u32) -> Self {
        Self {
            fallback_message_id: MessageId::new(fallback_message_id),
            attempt,
            calls: BTreeSet::new(),
            request: None,
            taken: Arc::default(),
        }
    }

    /// Adds the ids in the conversation that is being answered: small servers repeat ids, and an id must be
    /// unique in its session.
    #[must_use]
    pub fn avoid_ids_of(mut self, request: Arc<ModelRequest>) -> Self {
        self.request = Some(request);
        self
    }

    /// Sets the ids of the session that the conversation no longer shows: those of messages that were left
    /// out of the window or condensed, and of attempts that broke off.
    #[must_use]
    pub fn taken_ids(mut self, taken: Arc<UsedIds>) -> Self {
        self.taken = taken;
        self
    }

    pub(crate) fn has_message(&self, id: &MessageId) -> bool {
        self.taken.messages.contains(id) || self.conversation().any(|message| message.message_id == *id)
    }

    pub(crate) fn has_call(&self, id: &ToolCallId) -> bool {
        let is_the_call = |part: &ContentPart| match part {
            ContentPart::ToolCall(call) => call.tool_call_id == *id,
            _ => false,
        };
        self.calls.contains(id)
            || self.taken.calls.contains(id)
            || self
                .conversation()
                .any(|message| message.content.iter().any(is_the_call))
    }

    fn conversation(&self) -> impl Iterator<Item = &Message> {
        let messages = self.request.iter().flat_map(|request| &request.messages);
        messages.map(AsRef::as_ref)
    }

    pub(crate) fn take_call(&mut self, id: ToolCallId) {
        self.calls.insert(id);
    }
}
