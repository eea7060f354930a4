//! Several agents on one screen. The one that people talk to speaks as if it were alone; what others say stands beside that, line
//! by line, each under its name in a colour of its own. Where all are to be told apart, so does the first.

use std::collections::HashMap;

use agentx::config::Thinking;
use agentx::types::{AgentStateId, Envelope, RuntimeEvent};
use unicode_width::UnicodeWidthStr as _;

use super::clean::visible;
use super::style::{Colours, Style};
use super::transcript::{Lane, Transcript};

/// How many agents that are gone keep their places.
const MOST: usize = 256;

/// The agents beside the one that people talk to.
#[derive(Debug, Default)]
pub(crate) struct Cast {
    members: HashMap<AgentStateId, Member>,
    colours: Colours,
    style: Style,
    width: usize,
    /// Whether the first one has its name before each line, too, and all of it is the answer.
    apart: bool,
    /// What the first one is called where nobody saw it come.
    first: String,
    /// How reasoning is shown, where somebody chose.
    thinking: Option<Thinking>,
}

#[derive(Debug)]
struct Member {
    label: String,
    transcript: Transcript,
    /// The line that has not ended.
    line: String,
    gone: bool,
    is_child: bool,
    at_work: bool,
}

impl Cast {
    /// For a screen of this width.
    pub(crate) fn new(style: Style, width: usize) -> Self {
        Self {
            style,
            width,
            ..Self::default()
        }
    }

    /// Tells all of them apart.
    pub(crate) fn apart(mut self, apart: bool) -> Self {
        self.apart = apart;
        self
    }

    /// The agent that people talk to is called so.
    pub(crate) fn with_first(mut self, name: &str) -> Self {
        name.clone_into(&mut self.first);
        self
    }

    /// The screen has another width now.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.width = width;
    }

    /// Whether this is of another agent than the one that people talk to.
    pub(crate) fn is_of_another(&self, envelope: &Envelope<RuntimeEvent>) -> bool {
        let id = envelope.agent_state_id.as_ref();
        id.and_then(|id| self.members.get(id))
            .is_some_and(|member| member.is_child)
    }

    /// Takes note of an agent that came before anything was shown.
    pub(crate) fn meet(&mut self, envelope: &Envelope<RuntimeEvent>) {
        if let (Some(id), RuntimeEvent::AgentStarted(started)) = (&envelope.agent_state_id, &envelope.event)
            && (self.apart || started.parent.is_some())
        {
            self.admit(id, &started.name, started.parent.is_some());
        }
    }

    /// Shows reasoning so from here on.
    pub(crate) fn set_thinking(&mut self, thinking: Thinking) {
        self.thinking = Some(thinking);
        for member in self.members.values_mut() {
            member.transcript.set_thinking(thinking);
        }
    }

    /// Takes an event; `main` is the transcript of the agent that people talk to.
    pub(crate) fn event(&mut self, main: &mut Transcript, envelope: &Envelope<RuntimeEvent>) {
        main.set_time(envelope.at);
        let Some(id) = &envelope.agent_state_id else {
            return main.event(&envelope.event);
        };
        if let RuntimeEvent::AgentStarted(started) = &envelope.event
            && (self.apart || started.parent.is_some())
        {
            self.enter(main, id, &started.name, started.parent.as_ref());
        }
        if self.apart && !self.members.contains_key(id) {
            // It was there before anybody looked.
            let name = self.first.clone();
            self.admit(id, &name, false);
        }
        let Some(member) = self.members.get_mut(id) else {
            return main.event(&envelope.event);
        };
        match &envelope.event {
            RuntimeEvent::AgentDestroyed(_) => (member.gone, member.at_work) = (true, false),
            RuntimeEvent::RunStarted(_) => member.at_work = true,
            RuntimeEvent::RunFinished(_) => member.at_work = false,
            _ => {}
        }
        member.transcript.set_time(envelope.at);
        member.transcript.event(&envelope.event);
        member.tell(main, self.apart);
    }

    /// An agent comes; the call by which another one gave it work is shown before what it says.
    fn enter(&mut self, main: &mut Transcript, id: &AgentStateId, name: &str, parent: Option<&AgentStateId>) {
        if let Some(parent) = parent {
            match self.members.get_mut(parent) {
                Some(member) => {
                    member.transcript.delegated(name, id);
                    member.tell(main, self.apart);
                }
                None => main.delegated(name, id),
            }
        }
        if self.members.len() >= MOST {
            self.members.retain(|_, member| !member.gone);
        }
        self.admit(id, name, parent.is_some());
    }

    fn admit(&mut self, id: &AgentStateId, name: &str, is_child: bool) {
        let name = visible(name);
        let room = self.width.saturating_sub(name.width() + 3);
        let colour = self.colours.of(&name);
        let label = format!("{} ", self.style.agent(colour, &format!("{name} │")));
        let mut transcript = Transcript::new(self.style, room);
        if let Some(thinking) = self.thinking {
            transcript.set_thinking(thinking);
        }
        let member = self.members.entry(id.clone()).or_insert_with(|| Member {
            label: String::new(),
            transcript,
            line: String::new(),
            gone: false,
            is_child,
            at_work: false,
        });
        // Something may be known of it before its name is.
        (member.label, member.is_child) = (label, is_child);
    }

    /// Whether an agent that another one made is at work.
    pub(crate) fn is_at_work(&self) -> bool {
        let mut members = self.members.values();
        members.any(|member| member.is_child && member.at_work)
    }

    /// What others are saying, each in the line that has not ended.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let speaking = self.members.values().filter(|member| !member.line.is_empty());
        let mut lines: Vec<String> = speaking
            .map(|member| format!("{}{}", member.label, member.line))
            .collect();
        lines.sort();
        lines
    }

    /// Says what has no end of its line yet.
    pub(crate) fn end_lines(&mut self, main: &mut Transcript) {
        for member in self.members.values_mut() {
            member.transcript.end_line();
            member.tell(main, self.apart);
        }
    }
}

impl Member {
    /// Says the lines that have ended.
    fn tell(&mut self, main: &mut Transcript, apart: bool) {
        for piece in self.transcript.take() {
            self.line.push_str(&piece.text);
        }
        let Some(end) = self.line.rfind('\n') else { return };
        let rest = self.line.split_off(end + 1);
        let lane = if apart { Lane::Answer } else { Lane::Aside };
        for line in self.line.lines().filter(|line| !line.is_empty()) {
            main.line(lane, &format!("{}{line}", self.label));
        }
        self.line = rest;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx::types::{
        AgentStarted, Draft, MessageStop, RunFinished, RunId, RunStatus, SessionId, Source, StopReason,
        TextDelta, Timestamp, ToolCallRequested, ToolCompleted, ToolExecuting, Usage,
    };
    use serde_json::json;

    use super::super::transcript::Piece;
    use super::*;

    fn envelope(agent: &str, event: impl Into<RuntimeEvent>) -> Envelope<RuntimeEvent> {
        let draft = Draft::new(Source::Agent, Some(agent.into()), event);
        draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(1))
    }

    fn started(name: &str, parent: Option<&str>) -> AgentStarted {
        AgentStarted {
            name: name.into(),
            parent: parent.map(Into::into),
            routes: false,
        }
    }

    fn text(text: &str) -> TextDelta {
        TextDelta { text: text.into() }
    }

    fn stop() -> MessageStop {
        MessageStop {
            message_id: "msg_1".into(),
            stop_reason: StopReason::EndTurn,
            usage: Usage::default(),
        }
    }

    fn done(id: &str, name: &str) -> ToolCompleted {
        ToolCompleted {
            tool_call_id: id.into(),
            name: name.into(),
            duration_ms: 5,
            details: None,
        }
    }

    fn finished() -> RunFinished {
        RunFinished {
            run_id: RunId::new("run_1"),
            status: RunStatus::Completed,
            reason: None,
            iterations: 0,
        }
    }

    /// A parent gives work to a scout, who reads a file; both speak at once.
    fn a_delegation() -> Vec<Envelope<RuntimeEvent>> {
        let order = ToolCallRequested {
            tool_call_id: "c1".into(),
            name: "delegate".into(),
            input: json!({"agent": "scout", "input": "look"}),
        };
        let reads = ToolExecuting {
            tool_call_id: "c2".into(),
            name: "read".into(),
            input: json!({"path": "a.txt"}),
        };
        vec![
            envelope("a", started("main", None)),
            envelope("a", text("I ask.\n")),
            envelope("a", order),
            envelope("b", started("scout", Some("a"))),
            envelope("b", text("Let me ")),
            envelope("b", text("see.\nAnd")),
            envelope("b", reads),
            envelope("b", done("c2", "read")),
            envelope("b", text("Found it.")),
            envelope("b", stop()),
            envelope("b", finished()),
            envelope("a", done("c1", "delegate")),
            envelope("a", text("It is there.")),
            envelope("a", stop()),
        ]
    }

    fn show(cast: &mut Cast, style: Style) -> Vec<Piece> {
        let mut main = Transcript::new(style, 80);
        for event in a_delegation() {
            cast.event(&mut main, &event);
        }
        cast.end_lines(&mut main);
        main.take()
    }

    fn joined(pieces: &[Piece]) -> String {
        pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    #[test]
    fn others_stand_beside_under_their_names() {
        let mut cast = Cast::new(Style::default(), 80);
        let shown = show(&mut cast, Style::default());
        assert_eq!(
            joined(&shown),
            "I ask.\n● delegate  {\"agent\":\"scout\",\"input\":\"look\"}\nscout │ Let me see.\nscout │ And\n\
             scout │ ● read  a.txt\nscout │   └ ✓ 0.0s\nscout │ Found it.\n  └ ✓ 0.0s\nIt is there.\n"
        );
        let answers = shown.iter().filter(|piece| piece.lane == Lane::Answer);
        let answer: String = answers.map(|piece| piece.text.as_str()).collect();
        assert_eq!(
            answer, "I ask.\nIt is there.\n",
            "what others say is no part of the answer"
        );
    }

    #[test]
    fn a_line_that_streams_can_be_seen_before_it_ends() {
        let mut cast = Cast::new(Style::default(), 80);
        let mut main = Transcript::new(Style::default(), 80);
        let mut seen = Vec::new();
        for event in a_delegation() {
            cast.event(&mut main, &event);
            seen.extend(cast.unfinished());
        }
        assert!(seen.contains(&"scout │ Let me ".to_owned()), "{seen:?}");
        assert!(cast.unfinished().is_empty());
    }

    #[test]
    fn all_of_them_apart() {
        let shown = show(&mut Cast::new(Style::default(), 80).apart(true), Style::default());
        assert!(shown.iter().all(|piece| piece.lane == Lane::Answer));
        let text = joined(&shown);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.first(), Some(&"main │ I ask."));
        assert_eq!(lines.last(), Some(&"main │ It is there."));
        assert!(
            lines
                .iter()
                .all(|line| line.starts_with("main │ ") || line.starts_with("scout │ "))
        );
    }

    #[test]
    fn who_spoke_before_it_said_its_name_has_it() {
        let mut cast = Cast::new(Style::default(), 80).apart(true).with_first("main");
        let mut main = Transcript::new(Style::default(), 80);
        cast.event(&mut main, &envelope("a", text("One.\n")));
        cast.event(&mut main, &envelope("a", started("story", None)));
        cast.event(&mut main, &envelope("a", text("Two.\n")));
        cast.meet(&envelope("b", started("scout", Some("a"))));
        let said = envelope("b", text("Three.\n"));
        cast.event(&mut main, &said);
        assert!(cast.is_of_another(&said) && !cast.is_of_another(&envelope("a", text(""))));
        assert_eq!(
            joined(&main.take()),
            "main │ One.\nstory │ Two.\nscout │ Three.\n"
        );
    }

    #[test]
    fn a_name_keeps_its_colour() {
        let style = Style {
            color: true,
            ..Style::default()
        };
        let shown = joined(&show(&mut Cast::new(style, 80), style));
        let again = joined(&show(&mut Cast::new(style, 80), style));
        let label = style.agent(0, "scout │");
        assert!(label.starts_with("\u{1b}["), "{label}");
        assert!(shown.contains(&label) && shown == again, "{shown}");
    }

    #[test]
    fn who_is_alone_has_no_name() {
        let events = [
            envelope("a", started("main", None)),
            envelope("a", text("Hello")),
            envelope("a", stop()),
        ];
        let (mut cast, mut main) = (
            Cast::new(Style::default(), 80),
            Transcript::new(Style::default(), 80),
        );
        let mut alone = Transcript::new(Style::default(), 80);
        for event in &events {
            cast.event(&mut main, event);
            alone.event(&event.event);
        }
        assert_eq!(main.take(), alone.take());
    }
}
