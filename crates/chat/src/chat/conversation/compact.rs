//! Long conversations: condenses them, removes a summary, and pins messages. The session's events report the
//! results, so these functions report only failures.

use std::sync::Arc;

use agentx::runtime::{ContextRequest, Delivery, Session, View};
use agentx::types::{Message, RuntimeEvent};

use crate::chat::Chat;
use crate::chat::slash::{CompactCommand, PinCommand};
use crate::error::ChatError;
use crate::place::follow::AnyFollower;
use crate::render::clean::visible;
use crate::render::conversation;
use crate::render::table::cut;

impl Chat<'_> {
    /// Condenses the conversation now, or takes the latest summary out again.
    pub(in crate::chat) async fn compact(&mut self, wish: CompactCommand) -> Result<String, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok("there are no messages yet".to_owned());
        };
        let session = session.clone();
        let busy = self.status.is_busy();
        let wish = match wish {
            CompactCommand::Now(instructions) => ContextRequest::Condense { instructions },
            CompactCommand::Undo => ContextRequest::Restore {},
        };
        let later = busy && matches!(wish, ContextRequest::Condense { .. });
        self.wait_for(async { session.context(wish).await }).await?;
        Ok(if later {
            "the conversation will be condensed before the next model call".to_owned()
        } else {
            String::new()
        })
    }

    /// Pins an input, so that condensing leaves it unchanged, or unpins it.
    pub(in crate::chat) async fn pin(&mut self, wish: PinCommand) -> Result<String, ChatError> {
        let Some(session) = self.connection.session() else {
            return Ok("there are no messages yet".to_owned());
        };
        let session = session.clone();
        let said = inputs(&session).await?;
        let number = wish.number.unwrap_or(said.len());
        let Some(said) = number.checked_sub(1).and_then(|at| said.get(at)) else {
            return Ok(format!(
                "there is no input {number}; the inputs are 1 to {}",
                said.len()
            ));
        };
        let (message_id, pinned) = (said.message_id.clone(), wish.stays);
        let words = cut(&visible(&conversation::own_text(said)), 40);
        let wish = ContextRequest::Pin { message_id, pinned };
        self.wait_for(async { session.context(wish).await }).await?;
        Ok(if pinned {
            format!("pinned; stays when the conversation is condensed: {words}")
        } else {
            format!("unpinned; may be condensed: {words}")
        })
    }
}

/// Returns the inputs of a session, in order.
async fn inputs(session: &Arc<dyn Session>) -> Result<Vec<Message>, ChatError> {
    let mut events = AnyFollower::new(session.clone(), 0, View::Runtime).await?;
    let mut said = Vec::new();
    while let Some(delivery) = events.next().await? {
        match delivery {
            Delivery::Runtime(envelope) => {
                if let RuntimeEvent::UserMessageAdded(added) = &envelope.event
                    && !conversation::is_note(&added.message)
                {
                    said.push(added.message.clone());
                }
            }
            Delivery::CaughtUp(_) => break,
            Delivery::Environment(_) | Delivery::CutOff(_) => {}
        }
    }
    Ok(said)
}
