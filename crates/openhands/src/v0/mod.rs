//! Reads V0 events: actions and observations, each with the id of its cause.
//!
//! | file | what it reads |
//! | --- | --- |
//! | `calls` | actions of the agent that call a tool, and the answers of the model that they are part of |
//! | `observations` | what became of calls, and what the environment says |
//!
//! Old logs have the fields of `args` and `extras` beside `action` and `observation`, and no ids. In these
//! logs an observation belongs to the open call of its kind.

mod calls;
mod observations;

use std::collections::BTreeMap;

use agentx_types::{ContentPart, NanoUsd, Source, Usage};
use serde_json::{Map, Value};

use crate::content::{self, LogBlobs};
use crate::item::{LogItem, LogSetting, LogStep, LoggedAnswer};
use crate::json;
use crate::log::Log;
use crate::report::ImportReport;
use crate::usage::Meters;
use crate::words::ActionType;
use calls::PendingAction;

/// The fields of an event that are not arguments of its action.
const FRAME: [&str; 13] = [
    "id",
    "timestamp",
    "source",
    "message",
    "cause",
    "action",
    "observation",
    "tool_call_metadata",
    "llm_metrics",
    "timeout",
    "success",
    "args",
    "extras",
];

/// Reads the steps of a V0 log.
pub(crate) fn read(log: &Log, blobs: &mut LogBlobs, report: &mut ImportReport) -> (LogSetting, Vec<LogItem>) {
    let mut reader = V0Reader {
        events: &log.events,
        responses: calls::responses(&log.events),
        blobs,
        report,
        setting: setting(&log.state),
        items: Vec::new(),
        open: Vec::new(),
        commands: BTreeMap::new(),
        meters: Meters::default(),
        task: None,
    };
    for index in 0..log.events.len() {
        reader.event(index);
    }
    reader.left_commands();
    let (setting, mut items) = (reader.setting, reader.items);
    price(&mut items, &log.state["metrics"]);
    (setting, items)
}

/// Reads the record around the events: the resolver's issue, or the metadata of a conversation.
fn setting(state: &Value) -> LogSetting {
    let title = match json::text(state, "title") {
        "" => json::text(&state["issue"], "title"),
        title => title,
    };
    LogSetting {
        title: title.to_owned(),
        model: json::first_text(&state["metadata"], &["model_name"]).to_owned(),
        ..LogSetting::default()
    }
}

/// Sets the costs of answers, which the resolver keeps beside the history. If their number differs from that
/// of the answers, the last answer gets the sum.
fn price(items: &mut [LogItem], metrics: &Value) {
    let mut answers: Vec<&mut LoggedAnswer> = items
        .iter_mut()
        .filter_map(|item| match &mut item.step {
            LogStep::Answer(answer) if answer.usage.is_none() => Some(answer),
            _ => None,
        })
        .collect();
    let costs: Vec<f64> = json::list(metrics, "costs")
        .iter()
        .filter_map(|cost| cost.as_f64().or_else(|| cost.get("cost")?.as_f64()))
        .collect();
    let priced = |cost: f64| {
        let reported_cost = NanoUsd::from_usd(cost);
        (reported_cost != NanoUsd(0)).then(|| Usage {
            reported_cost,
            ..Usage::default()
        })
    };
    if costs.len() == answers.len() {
        answers
            .iter_mut()
            .zip(costs)
            .for_each(|(answer, cost)| answer.usage = priced(cost));
    } else if let Some(last) = answers.last_mut() {
        last.usage = priced(metrics["accumulated_cost"].as_f64().unwrap_or_default());
    }
}

/// Reads events one after another.
struct V0Reader<'a> {
    events: &'a [Value],
    /// The actions of each answer with several of them, by the id of the answer.
    responses: BTreeMap<&'a str, Vec<usize>>,
    blobs: &'a mut LogBlobs,
    report: &'a mut ImportReport,
    setting: LogSetting,
    items: Vec<LogItem>,
    /// Calls without an outcome yet.
    open: Vec<PendingAction>,
    /// A person's commands without an outcome yet, by the id of their action.
    commands: BTreeMap<String, String>,
    meters: Meters,
    /// The task of the child that was just created, whose first input repeats it.
    task: Option<String>,
}

impl<'a> V0Reader<'a> {
    fn event(&mut self, index: usize) {
        let event = &self.events[index];
        if let Some(word) = event.get("observation").and_then(Value::as_str) {
            self.report.note_kind(&format!("observation {word}"));
            self.observation(event, word);
        } else if let Some(word) = event.get("action").and_then(Value::as_str) {
            self.report.note_kind(&format!("action {word}"));
            self.action(index, event, word);
        } else {
            self.report.note_kind("event without a kind");
            self.report
                .leave_out("unknown event without an action or an observation");
        }
    }

    fn action(&mut self, index: usize, event: &'a Value, word: &str) {
        use ActionType as A;
        let args = fields(event, "args");
        let by_agent = self.is_by_agent(event, word);
        match A::read(word) {
            A::Message if by_agent => self.agent_message(event, &args),
            A::Message => self.input(event, &args),
            A::System => self.system(&args),
            A::Run if !by_agent => {
                let id = json::id(event, "id").unwrap_or_else(|| format!("#{index}"));
                self.commands.insert(id, json::text(&args, "command").to_owned());
            }
            A::Pause | A::Stop => {
                let reason = format!("{word} by the person");
                self.push(
                    event,
                    LogStep::Stop {
                        reason,
                        source: Source::User,
                    },
                );
            }
            A::Condensation => self.condensation(event, &args),
            A::Start
            | A::Null
            | A::Resume
            | A::ChangeAgentState
            | A::Recall
            | A::CondensationRequest
            | A::LoopRecovery => self.report.leave_out(&format!("action {word}")),
            A::Unknown(_) if !by_agent => self.report.leave_out(&format!("unknown action {word}")),
            known => {
                if matches!(known, A::Unknown(_)) {
                    self.report.add(&format!("call of the unknown action {word}"));
                }
                if by_agent {
                    self.call(index, event, &known, &args);
                } else {
                    self.report.leave_out(&format!("action {word} of a person"));
                }
            }
        }
    }

    /// Returns whether the agent is the source. Old logs have no sources: in these a message is the agent's,
    /// unless the agent or nobody wrote the previous one.
    fn is_by_agent(&self, event: &Value, word: &str) -> bool {
        match json::text(event, "source") {
            "" if word == "message" => match self.items.last().map(|item| &item.step) {
                None => false,
                Some(LogStep::Answer(answer)) => !answer.calls.is_empty(),
                Some(_) => true,
            },
            "" => true,
            source => source == "agent",
        }
    }

    fn push(&mut self, event: &Value, step: LogStep) {
        self.items.push(LogItem::new(event, step));
    }

    fn agent_message(&mut self, event: &'a Value, args: &Value) {
        let answer = LoggedAnswer {
            text: json::text(args, "content").to_owned(),
            usage: self.meters.since_last("", &event["llm_metrics"]),
            ..LoggedAnswer::default()
        };
        self.push(event, LogStep::Answer(answer));
    }

    fn input(&mut self, event: &Value, args: &Value) {
        let text = json::text(args, "content");
        let repeated = self
            .task
            .take()
            .is_some_and(|task| text.strip_prefix("TASK:").unwrap_or(text).trim() == task.trim());
        if repeated {
            // The child got this text with its call.
            return;
        }
        let mut content = Vec::from_iter((!text.is_empty()).then(|| ContentPart::text(text)));
        for url in json::list(args, "image_urls")
            .iter()
            .chain(json::list(args, "images_urls"))
        {
            match self.blobs.picture(url.as_str().unwrap_or_default()) {
                Some(picture) => content.push(picture),
                None => self.report.leave_out("picture that cannot be read"),
            }
        }
        let files: Vec<&str> = json::list(args, "file_urls")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        if !files.is_empty() {
            content.push(ContentPart::text(format!("\n\nFiles: {}", files.join(", "))));
        }
        let source = match json::text(event, "source") {
            "environment" => Source::Environment,
            _ => Source::User,
        };
        self.push(event, LogStep::Input { content, source });
    }

    /// Reads the first system message, which is part of the configuration.
    fn system(&mut self, args: &Value) {
        if !self.setting.system_prompt.is_empty() {
            return self.report.leave_out("action system after the first");
        }
        self.setting.system_prompt = json::text(args, "content").to_owned();
        self.setting.agent = json::text(args, "agent_class").to_owned();
        let tools = json::list(args, "tools")
            .iter()
            .map(|tool| tool.get("function").unwrap_or(tool));
        self.setting.tools = tools
            .map(|tool| {
                let schema = tool.get("parameters").cloned().unwrap_or_default();
                (
                    json::text(tool, "name").to_owned(),
                    json::text(tool, "description").to_owned(),
                    schema,
                )
            })
            .collect();
    }

    fn condensation(&mut self, event: &Value, args: &Value) {
        let listed: Vec<String> = json::list(args, "forgotten_event_ids")
            .iter()
            .filter_map(|id| id.as_u64().map(|id| id.to_string()))
            .collect();
        let range = || {
            let from = args.get("forgotten_events_start_id")?.as_u64()?;
            let to = args.get("forgotten_events_end_id")?.as_u64()?;
            let inside = self.events.iter().filter_map(|event| event.get("id")?.as_u64());
            Some(
                inside
                    .filter(|id| (from..=to).contains(id))
                    .map(|id| id.to_string())
                    .collect(),
            )
        };
        let forgotten = if listed.is_empty() {
            range().unwrap_or_default()
        } else {
            listed
        };
        let summary = json::text(args, "summary").to_owned();
        self.push(event, LogStep::Condensed { forgotten, summary });
    }

    /// Records a person's commands that have no output in the log.
    fn left_commands(&mut self) {
        for (id, command) in std::mem::take(&mut self.commands) {
            let step = LogStep::Command {
                command,
                output: String::new(),
                how: "no output in the log".into(),
            };
            self.items.push(LogItem {
                at: None,
                events: vec![id],
                step,
            });
        }
    }
}

/// Returns the arguments of an action or the extras of an observation: the field, or in old logs the fields
/// beside it.
fn fields(event: &Value, key: &str) -> Value {
    match event.get(key) {
        Some(fields @ Value::Object(_)) => fields.clone(),
        _ => {
            let beside = event.as_object().into_iter().flatten();
            let beside = beside.filter(|(key, _)| !FRAME.contains(&key.as_str()));
            Value::Object(
                beside
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect::<Map<_, _>>(),
            )
        }
    }
}

/// Returns the thought of an action and its reasoning: a text, or in late versions an object with both.
fn thought(args: &Value) -> (String, String) {
    match args.get("thought") {
        Some(Value::String(text)) => (text.clone(), String::new()),
        Some(thought @ Value::Object(_)) => (
            json::text(thought, "text").to_owned(),
            json::text(thought, "reasoning_content").to_owned(),
        ),
        Some(list) => (content::text_of(list), String::new()),
        None => (String::new(), String::new()),
    }
}
