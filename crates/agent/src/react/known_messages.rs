//! The messages and the waiting inputs of a machine, for those who look at it from outside.

use std::sync::Arc;

use agentx_types::{Message, MessageId};

use super::ReactAgent;
use crate::run_lifecycle::RunInput;

impl ReactAgent {
    /// Inputs that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &RunInput> {
        self.lifecycle.inputs.iter()
    }

    /// The messages of the conversation, with summaries in place of those that they replace. The model may
    /// receive fewer: see [`current_request`](Self::current_request).
    pub fn messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.conversation.messages()
    }

    /// Returns whether a message is known: in the conversation, behind a summary, or among the inputs that
    /// wait. The runtime asks before it commits that a person revises or pins one.
    pub fn knows(&self, message: &MessageId) -> bool {
        let here = self.messages().any(|known| known.message_id == *message);
        let waits = || self.waiting().any(|input| input.message.message_id == *message);
        let condensed = || self.conversation.originals();
        here || waits() || condensed().iter().any(|(_, known)| known.message_id == *message)
    }
}
