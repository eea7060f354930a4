//! The models that answered in a session: each is named before its first answer, and again where another one
//! answered in between.

use std::collections::HashMap;

use agentx::types::{AgentStateId, Envelope, RuntimeEvent};

use crate::render::clean::visible;
use crate::render::style::AnsiStyle;

/// The model of each agent, as far as the session was read.
#[derive(Debug, Default)]
pub(super) struct ModelChanges {
    /// The model that began the latest answer.
    asked: HashMap<Option<AgentStateId>, String>,
    /// The model that was named last.
    named: HashMap<Option<AgentStateId>, String>,
}

impl ModelChanges {
    /// Returns the line to print before this event, if it is an answer of another model than the one before.
    pub(super) fn line_before(
        &mut self,
        envelope: &Envelope<RuntimeEvent>,
        style: AnsiStyle,
    ) -> Option<String> {
        let agent = &envelope.agent_state_id;
        match &envelope.event {
            RuntimeEvent::MessageStart(start) => {
                self.asked.insert(agent.clone(), visible(&start.model));
                None
            }
            RuntimeEvent::AssistantMessageAdded(_) => {
                let model = self.asked.get(agent).filter(|model| !model.is_empty())?;
                if self.named.get(agent) == Some(model) {
                    return None;
                }
                self.named.insert(agent.clone(), model.clone());
                Some(style.dim(&format!("  answered by {model}")) + "\n")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{
        AssistantMessageAdded, ContentPart, EventDraft, Message, MessageStart, Role, SessionId, Source,
        Timestamp,
    };

    use super::*;

    #[test]
    fn a_model_is_named_where_it_changes_for_each_agent() {
        let mut models = ModelChanges::default();
        let mut answers = |agent: &str, model: &str| {
            let event = |event: RuntimeEvent| {
                let draft = EventDraft::new(Source::Agent, Some(agent.into()), event);
                draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(1))
            };
            let start = MessageStart {
                message_id: "msg_1".into(),
                model: model.into(),
                attempt: 1,
            };
            assert_eq!(
                models.line_before(&event(start.into()), AnsiStyle::default()),
                None
            );
            let message = Message {
                message_id: "msg_1".into(),
                role: Role::Assistant,
                content: vec![ContentPart::text("so")],
                by: None,
            };
            let added = AssistantMessageAdded {
                message,
                partial: false,
            };
            models.line_before(&event(added.into()), AnsiStyle::default())
        };
        let named = |model: &str| Some(format!("  answered by {model}\n"));
        assert_eq!(answers("a", "opal"), named("opal"));
        assert_eq!(answers("a", "opal"), None);
        assert_eq!(answers("b", "flint"), named("flint"), "another agent");
        assert_eq!(answers("a", "flint"), named("flint"));
        assert_eq!(answers("b", "flint"), None);
        assert_eq!(answers("a", ""), None, "it is not recorded");
    }
}
