//! The panes of one step: the whole event, the state of the session after it, and the request that the model
//! would get then; as lines for a screen, and as a value for programs.

use agentx::history::transcript::time_of;
use agentx::runtime::SessionFold;
use agentx::types::{ContentPart, Envelope, EnvironmentEvent, Message, Role, Vocabulary as _};
use agentx_terminal::{Line, Style, Theme};
use serde_json::{Value, json};

use super::event_description::describe;
use crate::render::call_summary::call_summary;
use crate::render::clean::{clean, visible};
use crate::render::conversation::is_note;
use crate::render::sessions::run_word;
use crate::render::units;
use crate::session_opening;

/// A pane of the viewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pane {
    /// The event at this step, with all its fields.
    #[default]
    Event,
    /// The state of the session after the event.
    State,
    /// The context that the model would get.
    Context,
}

impl Pane {
    /// All panes, in order.
    pub(super) const ALL: [Self; 3] = [Self::Event, Self::State, Self::Context];

    /// Returns the name of the pane.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::State => "state",
            Self::Context => "context",
        }
    }

    /// Returns the next pane.
    pub(super) fn next(self) -> Self {
        match self {
            Self::Event => Self::State,
            Self::State => Self::Context,
            Self::Context => Self::Event,
        }
    }
}

/// The lines of one of them.
pub(super) fn lines(
    pane: Pane,
    fact: &Envelope<EnvironmentEvent>,
    fold: &SessionFold,
    theme: &Theme,
) -> Vec<Line> {
    match pane {
        Pane::Event => event(fact, theme),
        Pane::State => state(fold, theme),
        Pane::Context => context(fold, theme),
    }
}

fn event(fact: &Envelope<EnvironmentEvent>, theme: &Theme) -> Vec<Line> {
    let mut lines = vec![
        Line::new(&describe(&fact.event), Style::default()),
        Line::default(),
    ];
    let source = format!("{:?}", fact.source).to_lowercase();
    let mut about = vec![
        ("kind", visible(fact.event.tag())),
        ("time", format!("{} UTC", precise(fact.at))),
        ("source", source),
    ];
    about.extend(fact.agent_state_id.as_ref().map(|id| ("agent", id.to_string())));
    about.extend(fact.run_id.as_ref().map(|id| ("run", id.to_string())));
    about.extend(fact.cause.as_ref().map(|id| ("answers", id.to_string())));
    lines.extend(about.iter().map(|(name, value)| named(name, value, theme)));
    lines.push(Line::default());
    let payload: Value = serde_json::from_slice(&fact.payload_json()).unwrap_or_default();
    let payload = serde_json::to_string_pretty(&payload).unwrap_or_default();
    lines.extend(payload.lines().map(|line| {
        let mut line = Line::new(&visible(line), theme.faint);
        line.verbatim = true;
        line
    }));
    lines
}

fn state(fold: &SessionFold, theme: &Theme) -> Vec<Line> {
    let Some(state) = fold.state() else {
        return vec![Line::new("the session has not begun", theme.faint)];
    };
    let run = match &state.run {
        Some(run) => format!(
            "{} · {} · {} of tools",
            run.run_id,
            run_word(run.status),
            units::counted(run.iterations, "round")
        ),
        None => "none yet".into(),
    };
    let mut lines = vec![
        named("run", &run, theme),
        named("model", &visible(&state.config.model.id), theme),
        named("tokens", &units::usage(&state.usage), theme),
        named(
            "cost",
            &units::cost_of(
                state.cost,
                &state.usage,
                session_opening::has_no_price(&state.config),
            ),
            theme,
        ),
        named(
            "window",
            &format!(
                "{} of {}",
                units::count(state.context_tokens),
                units::count(state.config.model.context_window)
            ),
            theme,
        ),
        named(
            "decides",
            &format!("{:?}", state.config.approval).to_lowercase(),
            theme,
        ),
        named("rules", &state.config.rules.len().to_string(), theme),
        named("tools", &state.config.tools.len().to_string(), theme),
    ];
    if let Some(agent) = fold.root_agent() {
        for entry in agent.calls() {
            let call = format!(
                "{}  {}",
                visible(&entry.call.name),
                call_summary(&entry.call.name, &entry.call.input)
            );
            lines.push(named("call", &call, theme));
        }
    }
    for asked in &state.pending_approvals {
        let call = format!(
            "{}  {}",
            visible(&asked.name),
            call_summary(&asked.name, &asked.input)
        );
        lines.push(named("asks", &call, theme));
    }
    for (_, text) in &state.queued {
        lines.push(named("queued", &visible(text), theme));
    }
    lines
}

fn context(fold: &SessionFold, theme: &Theme) -> Vec<Line> {
    let Some(agent) = fold.root_agent() else {
        return vec![Line::new("the session has not begun", theme.faint)];
    };
    let config = agent.config();
    let mut lines = Vec::new();
    let mut part = |title: String, text: &str| {
        lines.push(Line::new(&title, theme.heading));
        lines.extend(clean(text).lines().map(|line| Line::new(line, Style::default())));
        lines.push(Line::default());
    };
    let Some(given) = agent.react().map(|react| react.current_request()) else {
        part("system".into(), &config.system_prompt);
        part(
            "messages".into(),
            "an agent that matches patterns does not call a model",
        );
        return lines;
    };
    for text in &given.system {
        part("system".into(), text);
    }
    let names: Vec<String> = given.tools.iter().map(|tool| visible(&tool.name)).collect();
    part("tools".into(), &names.join(", "));
    for message in &given.messages {
        let who = if is_note(message) {
            "note of AgentX"
        } else {
            role(message.role)
        };
        part(who.into(), &message_text(message));
    }
    lines
}

/// The messages that a model would be given, for programs.
pub(super) fn value(fact: &Envelope<EnvironmentEvent>, fold: &SessionFold) -> Value {
    let agent = fold.root_agent();
    let context = agent.map(|agent| {
        let config = agent.config();
        let given = agent.react().map(|react| react.current_request());
        let specs = given.as_ref().map_or(&config.tools, |given| &given.tools);
        let tools: Vec<&str> = specs.iter().map(|tool| tool.name.as_str()).collect();
        let messages = given.as_ref().map_or(&[][..], |given| &given.messages);
        json!({
            "system": config.system_prompt,
            "instructions": config.instructions,
            "tools": tools,
            "messages": messages,
        })
    });
    json!({
        "seq": fact.seq,
        "words": describe(&fact.event),
        "event": fact,
        "state": fold.state(),
        "context": context,
    })
}

fn message_text(message: &Message) -> String {
    let mut text = String::new();
    for part in &message.content {
        match part {
            ContentPart::Text(part) => text.push_str(&part.text),
            ContentPart::Thinking(part) => text.push_str(&format!("(thinks) {}", part.text)),
            ContentPart::ToolCall(call) => {
                text.push_str(&format!(
                    "● {}  {}",
                    visible(&call.name),
                    call_summary(&call.name, &call.input)
                ));
            }
            ContentPart::ToolResult(result) => {
                let texts: String = result.content.iter().filter_map(ContentPart::as_text).collect();
                text.push_str(&texts);
            }
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                text.push_str(&format!("[{}]", media.name.as_ref().unwrap_or(&media.media_type)));
            }
            ContentPart::Opaque(_) => {}
        }
        text.push('\n');
    }
    text
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::System => "system",
    }
}

fn named(name: &str, value: &str, theme: &Theme) -> Line {
    let mut line = Line::new(value, Style::default());
    line.first = agentx_terminal::Row::new(&format!("{name:<9}"), theme.faint);
    line.rest = agentx_terminal::Row::new("         ", theme.faint);
    line
}

/// A point in time, to the millisecond.
pub(super) fn precise(at: agentx::types::Timestamp) -> String {
    format!("{}.{:03}", time_of(at), at.0.rem_euclid(1_000_000) / 1_000)
}
