//! The speakers of a past session with several agents: the main agent has no name; each line from or to
//! another agent has that agent's name before it, in its colour.

use std::collections::HashMap;

use agentx::types::{AgentStateId, Envelope, RuntimeEvent};
use agentx_terminal::Row;

use super::clean::visible;
use super::names::AgentNames;
use super::style::{AnsiStyle, Colours};
use super::wrapped_text::wrap_lines;

/// Minimum number of columns for words, however long the name before them is.
const NARROWEST: usize = 12;

/// The agents beside the one that people talk to.
#[derive(Debug, Default)]
pub(crate) struct PastSpeakers {
    labels: HashMap<AgentStateId, String>,
    names: AgentNames,
    colours: Colours,
}

impl PastSpeakers {
    /// Notes who comes and who leaves.
    pub(crate) fn meet(&mut self, envelope: &Envelope<RuntimeEvent>, style: AnsiStyle) {
        let Some(id) = &envelope.agent_state_id else {
            return;
        };
        match &envelope.event {
            RuntimeEvent::AgentStarted(started) if started.parent.is_some() => {
                let name = self.names.add(id, &no_sign(&visible(&started.name)));
                let colour = self.colours.of(&name);
                let label = style.agent(colour, &format!("{name} │"));
                self.labels.insert(id.clone(), label);
            }
            RuntimeEvent::AgentDestroyed(_) => self.names.remove(id),
            _ => {}
        }
    }

    /// Renders an event under the name of the agent that speaks or is spoken to. On a terminal with this
    /// number of columns, long lines are wrapped behind the name and the sign.
    pub(crate) fn under_name(
        &self,
        envelope: &Envelope<RuntimeEvent>,
        text: String,
        columns: Option<usize>,
    ) -> String {
        let id = envelope.agent_state_id.as_ref();
        let label = id.and_then(|id| self.labels.get(id));
        let before = label.map_or(0, |label| Row::from_ansi(label).width() + 1);
        let text = match columns {
            Some(columns) => wrap_lines(&text, columns.saturating_sub(before).max(NARROWEST)),
            None => text,
        };
        match label {
            Some(label) => text.lines().map(|line| format!("{label} {line}\n")).collect(),
            None => text,
        }
    }
}

/// A name that begins with no sign of the program: a script may call its agents anything, also `› yes` or
/// `you: yes`.
fn no_sign(name: &str) -> String {
    let name = name.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    name.replace(':', "")
}

#[cfg(test)]
mod tests {
    use agentx::types::{AgentStarted, EventDraft, SessionId, Source, TextDelta, Timestamp};

    use super::*;

    #[test]
    fn others_have_their_names_before_each_line() {
        let envelope = |agent: &str, event: RuntimeEvent| {
            let draft = EventDraft::new(Source::Agent, Some(agent.into()), event);
            draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(1))
        };
        let comes = |name: &str, parent: Option<&str>| {
            RuntimeEvent::from(AgentStarted {
                name: name.into(),
                parent: parent.map(Into::into),
                routes: false,
            })
        };
        let mut voices = PastSpeakers::default();
        voices.meet(&envelope("a", comes("main", None)), AnsiStyle::default());
        voices.meet(&envelope("b", comes("sco\nut", Some("a"))), AnsiStyle::default());
        let says = |agent: &str| {
            let said = envelope(agent, TextDelta { text: "x".into() }.into());
            voices.under_name(&said, "one\ntwo\n".into(), None)
        };
        assert_eq!(says("a"), "one\ntwo\n");
        assert_eq!(says("b"), "sco↵ut │ one\nsco↵ut │ two\n");
        voices.meet(&envelope("c", comes("sco\nut", Some("a"))), AnsiStyle::default());
        let said = envelope("c", TextDelta { text: "x".into() }.into());
        let told = voices.under_name(&said, "one\n".into(), None);
        assert_eq!(told, "sco↵ut 2 │ one\n", "two of one name are told apart");
        let told = voices.under_name(&said, "› one two three four\n".into(), Some(25));
        assert_eq!(told, "sco↵ut 2 │ › one two\nsco↵ut 2 │   three four\n");
        for (id, name) in [("d", " › yes"), ("e", "● yes"), ("f", "you: yes")] {
            voices.meet(&envelope(id, comes(name, Some("a"))), AnsiStyle::default());
            let said = envelope(id, TextDelta { text: "x".into() }.into());
            let told = voices.under_name(&said, "  one\n".into(), None);
            assert!(told.starts_with("yes") || told.starts_with("you yes"), "{told}");
        }
    }
}
