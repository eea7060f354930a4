//! Receptors: the meaning of an EnvironmentEvent to the system. Each is a pure fold over the facts of one
//! session; each RuntimeEvent has exactly one emitter among them and the bridge.
//!
//! The fold of a session owns one [`Receptors`] and feeds it every committed fact. State about an agent is
//! kept by its `agent_state_id`; a fact that should name an agent but names none has no meaning.
//!
//! To write a receptor:
//!
//! - It looks only at facts. It knows no agent and no other receptor; events that follow from the agent's own
//!   decisions come from the [bridge](crate::bridge).
//! - It remembers only the state on which its next events depend, and forgets it as soon as possible: the log
//!   may have a million facts.
//! - A log may contain anything (a process died in the middle, a newer program wrote it). A receptor ignores
//!   facts that make no sense, and never panics: `any_facts_fold_without_a_panic`.

mod agent;
mod conversation;
mod error;
mod session;
mod stream;
#[cfg(test)]
mod testing;
mod tool;
mod transport;

use agentx_types::{Envelope, EnvironmentEvent, RuntimeEvent};

pub use agent::AgentReceptor;
pub use conversation::ConversationReceptor;
pub use error::ErrorReceptor;
pub use session::SessionReceptor;
pub use stream::StreamReceptor;
pub use tool::ToolReceptor;
pub use transport::TransportReceptor;

/// A pure function from facts to meaning, with the little memory that meaning needs.
///
/// A receptor gets each fact of a session once, in `seq` order. Its default value is the state before the
/// first fact.
pub trait Receptor {
    /// Applies the next fact of the session and pushes its events onto `out`.
    ///
    /// `out` may hold events of other receptors: it is only appended to. Most facts have no meaning to most
    /// receptors.
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>);
}

/// All seven, in one fixed order, so that a fact always means the same events in the same order.
///
/// The order is from the outside in: session, agent, transport; then results (stream, tool), then errors; the
/// conversation last, so that its end comes after the message, the result or the error that ended it.
///
/// ```
/// use agentx_session::receptors::{Receptor, Receptors};
/// use agentx_types::{EventDraft, EnvironmentEvent, RuntimeEvent, SessionId, SessionTitled, Source, Timestamp};
///
/// let fact = EventDraft::<EnvironmentEvent>::new(Source::System, None, SessionTitled { title: "Lunch".into(), by: None });
/// let mut meaning = Vec::new();
/// Receptors::default().receive(&fact.into_envelope(SessionId::new("ses_1"), 1, Timestamp(0)), &mut meaning);
/// assert!(matches!(meaning[..], [RuntimeEvent::SessionUpdated(_)]));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receptors {
    session: SessionReceptor,
    agent: AgentReceptor,
    transport: TransportReceptor,
    stream: StreamReceptor,
    tool: ToolReceptor,
    error: ErrorReceptor,
    conversation: ConversationReceptor,
}

impl Receptors {
    /// Applies the next fact only to the memory, as when a session is opened. Receptors without memory are
    /// skipped, and the text of chunks is ignored.
    ///
    /// It leaves the same memory as [`receive`](Receptor::receive):
    /// `what_is_only_noted_is_remembered_the_same`. Session, agent and transport receptors have no memory; a
    /// receptor that gets one has to be called here.
    pub(crate) fn advance(&mut self, fact: &Envelope<EnvironmentEvent>) {
        let mut unheard = Vec::new();
        match &fact.event {
            EnvironmentEvent::ToolOutputChunk(_) | EnvironmentEvent::ToolCallChunk(_) => {}
            EnvironmentEvent::TextChunk(_) | EnvironmentEvent::ThinkingChunk(_) => {
                self.conversation.receive(fact, &mut unheard);
            }
            _ => {
                self.stream.receive(fact, &mut unheard);
                self.tool.receive(fact, &mut unheard);
                self.error.receive(fact, &mut unheard);
                self.conversation.receive(fact, &mut unheard);
            }
        }
    }
}

impl Receptor for Receptors {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        self.session.receive(fact, out);
        self.agent.receive(fact, out);
        self.transport.receive(fact, out);
        self.stream.receive(fact, out);
        self.tool.receive(fact, out);
        self.error.receive(fact, out);
        self.conversation.receive(fact, out);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use agentx_types::{RuntimeEvent, Vocabulary as _};

    use super::testing::{a_long_session, envelope};
    use super::*;

    fn emitted_by(receptor: &mut dyn Receptor) -> Vec<RuntimeEvent> {
        let mut out = Vec::new();
        for fact in a_long_session() {
            receptor.receive(&fact, &mut out);
        }
        out
    }

    #[test]
    fn one_emitter_per_runtime_event() {
        let mut receptors: [(&str, Box<dyn Receptor>); 7] = [
            ("session", Box::new(SessionReceptor::default())),
            ("agent", Box::new(AgentReceptor::default())),
            ("transport", Box::new(TransportReceptor::default())),
            ("stream", Box::new(StreamReceptor::default())),
            ("tool", Box::new(ToolReceptor::default())),
            ("error", Box::new(ErrorReceptor::default())),
            ("conversation", Box::new(ConversationReceptor::default())),
        ];
        let mut emitters: BTreeMap<String, &str> = BTreeMap::new();
        for (name, receptor) in &mut receptors {
            for event in emitted_by(receptor.as_mut()) {
                let first = emitters.entry(event.tag().to_owned()).or_insert(name);
                assert_eq!(first, name, "{} has two emitters", event.tag());
            }
        }
        let last = RuntimeEvent::TAGS.iter().position(|tag| *tag == "error").unwrap();
        for tag in &RuntimeEvent::TAGS[..=last] {
            assert!(emitters.contains_key(*tag), "no receptor emits {tag}");
        }
        for tag in &RuntimeEvent::TAGS[last + 1..] {
            assert!(
                !emitters.contains_key(*tag),
                "{tag} is the bridge's, and {} emits it",
                emitters[*tag]
            );
        }
    }

    #[test]
    fn what_is_only_noted_is_remembered_the_same() {
        let (mut heard, mut noted) = (Receptors::default(), Receptors::default());
        for fact in a_long_session() {
            heard.receive(&fact, &mut Vec::new());
            noted.advance(&fact);
            assert_eq!(noted, heard, "after {}", fact.event.tag());
        }
    }

    #[test]
    fn an_unknown_fact_means_nothing() {
        let event = serde_json::from_str(r#"{"event":"from_tomorrow","payload":{"a":1}}"#).unwrap();
        let mut out = Vec::new();
        Receptors::default().receive(&envelope(0, event), &mut out);
        assert_eq!(out, []);
    }
}
