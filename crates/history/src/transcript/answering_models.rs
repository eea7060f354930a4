//! The models that answered in a session, for readers that name each where another one answered before it: a
//! fallback, another model that a person chose, or one that the provider asked instead.

use std::collections::HashMap;

use agentx_types::{AgentStateId, Envelope, RuntimeEvent};

/// The models that answered, by agent, as far as the session was read. A model has the name that its server
/// gives it, as it came: a reader has to clean it.
#[derive(Clone, Debug, Default)]
pub struct AnsweringModels {
    /// The model of the answer in progress, or of the last one.
    answers: HashMap<Option<AgentStateId>, String>,
    /// The model that was returned last.
    named: HashMap<Option<AgentStateId>, String>,
    /// The model that the reader already knows; empty if it knows none.
    known: String,
}

impl AnsweringModels {
    /// The models for a reader that knows this one: it is returned only after the answer of another model.
    pub fn of_reader(known: &str) -> Self {
        Self {
            known: known.to_owned(),
            ..Self::default()
        }
    }

    /// Reads the next event. Returns the model of an answer, if it is the first one of its agent or another
    /// model answered before it.
    pub fn take(&mut self, envelope: &Envelope<RuntimeEvent>) -> Option<&str> {
        let agent = &envelope.agent_state_id;
        match &envelope.event {
            RuntimeEvent::MessageStart(start) => {
                self.answers.insert(agent.clone(), start.model.clone());
                None
            }
            RuntimeEvent::FallbackAnswers(fallback) => {
                self.answers.insert(agent.clone(), fallback.model.clone());
                None
            }
            RuntimeEvent::AssistantMessageAdded(_) => {
                let model = self.answers.get(agent).filter(|model| !model.is_empty())?;
                let before = self.named.insert(agent.clone(), model.clone());
                let is_told = match &before {
                    Some(before) => before == model,
                    None => is_the_same(&self.known, model),
                };
                (!is_told).then_some(model.as_str())
            }
            _ => None,
        }
    }
}

/// Returns whether two names are of the same model: a server may add a date, or leave one out.
fn is_the_same(known: &str, model: &str) -> bool {
    !known.is_empty() && (model.contains(known) || known.contains(model))
}

#[cfg(test)]
mod tests {
    use agentx_types::{
        AssistantMessageAdded, ContentPart, EventDraft, FallbackAnswers, Message, MessageStart, Role,
        SessionId, Source, Timestamp,
    };

    use super::*;

    fn event(agent: &str, event: RuntimeEvent) -> Envelope<RuntimeEvent> {
        let draft = EventDraft::new(Source::Agent, Some(agent.into()), event);
        draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(1))
    }

    /// Reads an answer that `model` begins and `fallback` continues, if there is one.
    fn named(
        models: &mut AnsweringModels,
        agent: &str,
        model: &str,
        fallback: Option<&str>,
    ) -> Option<String> {
        let start = MessageStart {
            message_id: "msg_1".into(),
            model: model.into(),
            attempt: 1,
        };
        assert_eq!(models.take(&event(agent, start.into())), None);
        if let Some(fallback) = fallback {
            let continues = FallbackAnswers {
                message_id: "msg_1".into(),
                model: fallback.into(),
                prices: None,
            };
            assert_eq!(models.take(&event(agent, continues.into())), None);
        }
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
        models.take(&event(agent, added.into())).map(str::to_owned)
    }

    #[test]
    fn a_model_is_named_where_it_changes_for_each_agent() {
        let mut models = AnsweringModels::default();
        let mut answers = |agent: &str, model: &str| named(&mut models, agent, model, None);
        assert_eq!(answers("a", "opal").as_deref(), Some("opal"));
        assert_eq!(answers("a", "opal"), None);
        assert_eq!(answers("b", "flint").as_deref(), Some("flint"), "another agent");
        assert_eq!(answers("a", "flint").as_deref(), Some("flint"));
        assert_eq!(answers("b", "flint"), None);
        assert_eq!(answers("a", ""), None, "it is not recorded");
    }

    #[test]
    fn a_model_that_continues_an_answer_is_named() {
        let mut models = AnsweringModels::of_reader("opal");
        assert_eq!(
            named(&mut models, "a", "opal-20260101", None),
            None,
            "it is known"
        );
        let continued = named(&mut models, "a", "opal-20260101", Some("flint"));
        assert_eq!(continued.as_deref(), Some("flint"));
        let back = named(&mut models, "a", "opal-20260101", None);
        assert_eq!(back.as_deref(), Some("opal-20260101"));
        assert_eq!(named(&mut models, "b", "slate", None).as_deref(), Some("slate"));
    }
}
