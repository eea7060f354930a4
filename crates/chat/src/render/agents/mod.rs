//! Several agents on one screen. The text of the agent that people talk to has no name; each line of another
//! agent begins with its name in its own colour. In the mode that separates all agents, the first one also
//! has a name.

use std::collections::HashMap;

use agentx::config::ThinkingDisplay;
use agentx::types::{AgentStateId, Envelope, RuntimeEvent, StopReason, ToolCallId};
use agentx_terminal::Theme;
use unicode_width::UnicodeWidthStr as _;

use self::child_answer::ChildAnswer;
use super::clean::visible;
use super::names::AgentNames;
use super::style::{AnsiStyle, Colours};
use super::transcript::{TextRegion, TranscriptRenderer};

/// Maximum number of departed agents that keep their places.
const MOST: usize = 256;

/// The agents beside the one that people talk to.
#[derive(Debug, Default)]
pub struct LiveAgents {
    members: HashMap<AgentStateId, CastMember>,
    names: AgentNames,
    colours: Colours,
    style: AnsiStyle,
    width: usize,
    /// Whether the first one also has its name before each line, and all of it is the answer.
    apart: bool,
    /// Whether a message is printed only when it has ended, and never if it broke off.
    in_whole_messages: bool,
    /// The name for an agent that was there before the first event.
    first: String,
    /// The display of reasoning, if one is set.
    thinking: Option<ThinkingDisplay>,
    /// The display of answers; by default every line is printed as it came.
    rendering: Option<AnswerRendering>,
}

/// The way in which answers of other agents are rendered on a screen.
#[derive(Clone, Copy, Debug)]
struct AnswerRendering {
    theme: Theme,
    /// The way to see the lines that are left out of an agent's last answer; empty if they cannot.
    more: &'static str,
}

#[derive(Debug)]
struct CastMember {
    /// Its name on the screen.
    shown: String,
    label: String,
    label_width: usize,
    /// The number of columns beside the label.
    room: usize,
    rendering: Option<AnswerRendering>,
    /// The answer that streams, if answers are rendered.
    answer: Option<ChildAnswer>,
    transcript: TranscriptRenderer,
    /// The line that has not ended.
    line: String,
    /// The words of a message that has not ended, if words wait for its end.
    held: Option<String>,
    gone: bool,
    is_child: bool,
    at_work: bool,
    /// The first line of its first input.
    task: String,
    /// The calls of it that a person is asked about.
    asked: Vec<ToolCallId>,
}

impl LiveAgents {
    /// Returns the renderers for a screen of this width.
    pub fn new(style: AnsiStyle, width: usize) -> Self {
        Self {
            style,
            width,
            ..Self::default()
        }
    }

    /// Sets whether every agent, also the first one, is shown separately.
    pub fn show_separately(mut self, apart: bool) -> Self {
        self.apart = apart;
        self
    }

    /// Prints a message only when it has ended, and never if it broke off.
    pub fn whole_messages(mut self, in_whole_messages: bool) -> Self {
        self.in_whole_messages = in_whole_messages;
        self
    }

    /// Renders answers as Markdown in this theme, and shortens long ones. `more` tells how to see the lines
    /// that are left out of an agent's last answer; empty if the front end cannot show them.
    pub(crate) fn rendering(mut self, theme: Theme, more: &'static str) -> Self {
        self.rendering = Some(AnswerRendering { theme, more });
        self
    }

    /// Sets the theme of the answers that begin from now on, if answers are rendered.
    pub(crate) fn set_theme(&mut self, theme: Theme) {
        let members = self.members.values_mut().map(|member| &mut member.rendering);
        for rendering in members.chain([&mut self.rendering]).flatten() {
            rendering.theme = theme;
        }
    }

    /// Sets the name of the agent that people talk to.
    pub fn with_first(mut self, name: &str) -> Self {
        name.clone_into(&mut self.first);
        self
    }

    /// The screen has another width now.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.width = width;
        for member in self.members.values_mut() {
            member.set_width(width);
        }
    }

    /// Returns whether this is of another agent than the one that people talk to.
    pub(crate) fn is_of_another(&self, envelope: &Envelope<RuntimeEvent>) -> bool {
        let id = envelope.agent_state_id.as_ref();
        id.and_then(|id| self.members.get(id))
            .is_some_and(|member| member.is_child)
    }

    /// Notes an agent that came before anything was shown.
    pub fn meet(&mut self, envelope: &Envelope<RuntimeEvent>) {
        if let (Some(id), RuntimeEvent::AgentStarted(started)) = (&envelope.agent_state_id, &envelope.event)
            && (self.apart || started.parent.is_some())
        {
            self.admit(id, &started.name, started.parent.is_some());
        }
        let id = envelope.agent_state_id.as_ref();
        if let Some(member) = id.and_then(|id| self.members.get_mut(id)) {
            member.stands(&envelope.event);
        }
        self.lets_go(envelope);
    }

    /// Frees the names of agents that are gone.
    fn lets_go(&mut self, envelope: &Envelope<RuntimeEvent>) {
        if let (Some(id), RuntimeEvent::AgentDestroyed(_)) = (&envelope.agent_state_id, &envelope.event) {
            self.names.remove(id);
        }
    }

    /// Sets how reasoning is shown from now on.
    pub(crate) fn set_thinking(&mut self, thinking: ThinkingDisplay) {
        self.thinking = Some(thinking);
        for member in self.members.values_mut() {
            member.transcript.set_thinking(thinking);
        }
    }

    /// Handles an event; `main` is the transcript of the agent that people talk to.
    pub fn event(&mut self, main: &mut TranscriptRenderer, envelope: &Envelope<RuntimeEvent>) {
        main.set_time(envelope.at);
        self.lets_go(envelope);
        let Some(id) = &envelope.agent_state_id else {
            return main.event(&envelope.event);
        };
        if let RuntimeEvent::AgentStarted(started) = &envelope.event
            && (self.apart || started.parent.is_some())
        {
            self.enter(main, id, &started.name, started.parent.as_ref());
        }
        if self.apart && !self.members.contains_key(id) {
            // It was there before the first event.
            let name = self.first.clone();
            self.admit(id, &name, false);
        }
        let mut others = self.members.iter().filter(|(other, _)| *other != id);
        let others_work = others.any(|(_, other)| other.is_child && other.at_work);
        let Some(member) = self.members.get_mut(id) else {
            return main.event(&envelope.event);
        };
        member.stands(&envelope.event);
        member.transcript.set_time(envelope.at);
        let is_broken = matches!(&envelope.event, RuntimeEvent::MessageStop(stop) if stop.stop_reason == StopReason::Broken);
        match &envelope.event {
            RuntimeEvent::MessageStart(_) if self.in_whole_messages => member.held = Some(String::new()),
            RuntimeEvent::MessageStop(_) if !is_broken => {
                member.line.push_str(&member.held.take().unwrap_or_default());
            }
            _ => {}
        }
        member.transcript.event(&envelope.event);
        member.tell(main, self.apart);
        if let RuntimeEvent::MessageStop(stop) = &envelope.event {
            member.end_answer(main, stop.stop_reason, others_work);
        }
        if is_broken {
            member.held = None;
        }
    }

    /// Adds an agent. The call by which another agent gave it work is shown before its text.
    fn enter(
        &mut self,
        main: &mut TranscriptRenderer,
        id: &AgentStateId,
        name: &str,
        parent: Option<&AgentStateId>,
    ) {
        if let Some(parent) = parent {
            let shown = self.names.add(id, &visible(name));
            match self.members.get_mut(parent) {
                Some(member) => {
                    member.transcript.delegated(name, &shown, id);
                    member.tell(main, self.apart);
                }
                None => main.delegated(name, &shown, id),
            }
        }
        if self.members.len() >= MOST {
            self.members.retain(|_, member| !member.gone);
        }
        self.admit(id, name, parent.is_some());
    }

    fn admit(&mut self, id: &AgentStateId, name: &str, is_child: bool) {
        let name = self.names.add(id, &visible(name));
        let label_width = name.width() + 3;
        let room = self.width.saturating_sub(label_width);
        let colour = self.colours.of(&name);
        let label = format!("{} ", self.style.agent(colour, &format!("{name} │")));
        let mut transcript = TranscriptRenderer::new(self.style, room);
        if let Some(thinking) = self.thinking {
            transcript.set_thinking(thinking);
        }
        let rendering = self.rendering;
        let member = self.members.entry(id.clone()).or_insert_with(|| CastMember {
            shown: String::new(),
            label: String::new(),
            label_width,
            room,
            rendering,
            answer: None,
            transcript,
            line: String::new(),
            held: None,
            gone: false,
            is_child,
            at_work: false,
            task: String::new(),
            asked: Vec::new(),
        });
        // Something may be known of it before its name is.
        (member.label, member.label_width, member.is_child) = (label, label_width, is_child);
        member.shown = name;
    }

    /// Returns whether an agent that another one made is at work.
    pub fn is_at_work(&self) -> bool {
        let mut members = self.members.values();
        members.any(|member| member.is_child && member.at_work)
    }

    /// Returns a question about a call with the name of the agent before each line, as its other lines have
    /// it. The question of the agent that people talk to stays as it is.
    pub(crate) fn question_of(&self, call: &ToolCallId, question: String) -> String {
        let mut members = self.members.values();
        let Some(member) = members.find(|member| member.is_child && member.asked.contains(call)) else {
            return question;
        };
        let mut text = String::new();
        for line in question.lines() {
            text.push_str(format!("{}{line}", member.label).trim_end());
            text.push('\n');
        }
        text
    }

    /// Returns the unfinished lines of other agents.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        let mut speaking: Vec<&CastMember> = self.members.values().collect();
        speaking.sort_by(|one, other| (&one.label, &one.line).cmp(&(&other.label, &other.line)));
        speaking.into_iter().flat_map(CastMember::unfinished).collect()
    }

    /// Prints the unfinished lines.
    pub fn end_lines(&mut self, main: &mut TranscriptRenderer) {
        for member in self.members.values_mut() {
            member.transcript.end_line();
            member.tell(main, self.apart);
            member.end_answer(main, StopReason::Interrupted, false);
        }
    }
}

impl CastMember {
    /// The screen has another width now.
    fn set_width(&mut self, width: usize) {
        let room = width.saturating_sub(self.label_width);
        self.room = room;
        self.transcript.set_width(room);
        if let Some(answer) = &mut self.answer {
            answer.set_columns(room);
        }
    }

    /// Returns the unfinished lines of its answer and of other text.
    fn unfinished(&self) -> Vec<String> {
        let answer = self.answer.as_ref().map(ChildAnswer::live).unwrap_or_default();
        let other = (!self.line.is_empty()).then(|| self.line.clone());
        let lines = answer.into_iter().chain(other);
        lines.map(|line| format!("{}{line}", self.label)).collect()
    }

    /// Prints the complete lines.
    fn tell(&mut self, main: &mut TranscriptRenderer, apart: bool) {
        let region = if apart {
            TextRegion::Answer
        } else {
            TextRegion::Aside
        };
        for piece in self.transcript.take() {
            match self.rendering {
                Some(rendering) if piece.region == TextRegion::Answer => {
                    self.print_lines(main, region);
                    let room = self.room;
                    let answer = self
                        .answer
                        .get_or_insert_with(|| ChildAnswer::new(room, rendering.theme));
                    let rows = answer.push(&piece.text);
                    self.print_rows(main, &rows);
                }
                Some(_) => {
                    self.end_answer(main, StopReason::ToolUse, false);
                    self.line.push_str(&piece.text);
                }
                None => match &mut self.held {
                    Some(held) if piece.region == TextRegion::Answer => held.push_str(&piece.text),
                    _ => self.line.push_str(&piece.text),
                },
            }
        }
        self.print_lines(main, region);
    }

    /// Ends the answer that streams, if one does. Only an answer that ends the agent's work can be seen in
    /// full later: by the key for the last output, or by the agent's name if other agents work, because their
    /// answers come later.
    fn end_answer(&mut self, main: &mut TranscriptRenderer, why: StopReason, others_work: bool) {
        let more = match (self.rendering, why) {
            (Some(rendering), StopReason::EndTurn) if others_work && !rendering.more.is_empty() => {
                format!(" (/output {} shows more)", self.shown)
            }
            (Some(rendering), StopReason::EndTurn) => rendering.more.to_owned(),
            _ => String::new(),
        };
        if let Some(answer) = self.answer.take() {
            let rows = answer.finish(&more);
            self.print_rows(main, &rows);
        }
    }

    fn print_rows(&self, main: &mut TranscriptRenderer, rows: &[String]) {
        for row in rows {
            main.line(TextRegion::Aside, format!("{}{row}", self.label).trim_end());
        }
    }

    /// Prints the complete lines of text that is not rendered.
    fn print_lines(&mut self, main: &mut TranscriptRenderer, region: TextRegion) {
        let Some(end) = self.line.rfind('\n') else { return };
        let rest = self.line.split_off(end + 1);
        for line in self.line.lines().filter(|line| !line.is_empty()) {
            main.line(region, &format!("{}{line}", self.label));
        }
        self.line = rest;
    }
}

mod at_work;
mod child_answer;
#[cfg(test)]
mod tests;
