//! Reads V1 events: messages, actions with their calls, observations, and events around them.

mod actions;
mod outcomes;

use std::collections::BTreeMap;

use agentx_types::{ContentPart, Source, Usage};
use serde_json::Value;

use crate::content::{self, LogBlobs};
use crate::item::{LogItem, LogSetting, LogStep, LoggedAnswer};
use crate::json;
use crate::log::Log;
use crate::report::ImportReport;
use crate::usage::{self, Meters};
use crate::words::{EventKind, ExecutionStatus};
use actions::{last_acp, responses};

/// Reads the steps of a V1 log.
pub(crate) fn read(log: &Log, blobs: &mut LogBlobs, report: &mut ImportReport) -> (LogSetting, Vec<LogItem>) {
    let mut reader = V1Reader {
        events: &log.events,
        responses: responses(&log.events),
        blobs,
        report,
        setting: setting(&log.state),
        items: Vec::new(),
        details: BTreeMap::new(),
        acp: last_acp(&log.events),
        meters: Meters::default(),
        usage: None,
        paid: usage::of_answers(&log.state["stats"]),
    };
    for (index, event) in log.events.iter().enumerate() {
        reader.event(index, event);
    }
    if reader.usage.is_some() {
        reader.report.leave_out("usage after the last answer");
    }
    (reader.setting, reader.items)
}

/// Reads the agent, the model and the directory in `base_state.json`.
fn setting(state: &Value) -> LogSetting {
    let llm = &state["agent"]["llm"];
    LogSetting {
        agent: json::text(&state["agent"], "kind").to_owned(),
        model: json::text(llm, "model").to_owned(),
        context_window: Some(json::count(llm, "max_input_tokens")).filter(|tokens| *tokens > 0),
        directory: json::text(&state["workspace"], "working_dir").to_owned(),
        title: json::text(state, "title").to_owned(),
        ..LogSetting::default()
    }
}

/// Reads events one after another.
struct V1Reader<'a> {
    events: &'a [Value],
    responses: BTreeMap<&'a str, Vec<usize>>,
    blobs: &'a mut LogBlobs,
    report: &'a mut ImportReport,
    setting: LogSetting,
    items: Vec<LogItem>,
    /// The fields of actions besides their calls, by the ids of the calls.
    details: BTreeMap<String, Value>,
    acp: BTreeMap<&'a str, usize>,
    meters: Meters,
    /// The usage reported since the last answer.
    usage: Option<Usage>,
    /// The usage of each answer by its id, if the conversation's state has it.
    paid: BTreeMap<String, Usage>,
}

impl<'a> V1Reader<'a> {
    fn event(&mut self, index: usize, event: &'a Value) {
        use EventKind as K;
        let word = json::text(event, "kind");
        self.report.note_kind(if word.is_empty() {
            "event without a kind"
        } else {
            word
        });
        match EventKind::read(word) {
            K::SystemPrompt => self.system(event),
            K::Message => self.message(event),
            K::Action => self.action(index, event),
            K::Observation | K::UserReject | K::AgentError => self.outcome(event),
            K::Condensation => self.condensation(event),
            K::CondensationSummary => {
                let content = vec![ContentPart::text(json::text(event, "summary"))];
                self.push(
                    event,
                    LogStep::Input {
                        content,
                        source: Source::Environment,
                    },
                );
            }
            K::Pause | K::Interrupt => {
                let reason = json::first_text(event, &["reason", "detail"]);
                let reason = if reason.is_empty() {
                    "stopped by the user"
                } else {
                    reason
                };
                self.push(
                    event,
                    LogStep::Stop {
                        reason: reason.to_owned(),
                        source: Source::User,
                    },
                );
            }
            K::StateUpdate => self.state_update(event),
            K::ConversationError => {
                let code = json::first_text(event, &["code"]).to_owned();
                let message = json::first_text(event, &["detail", "message", "code"]).to_owned();
                self.push(event, LogStep::Failure { code, message });
            }
            K::AcpToolCall => self.acp_call(index, event),
            K::CondensationRequest
            | K::HookExecution
            | K::LlmCompletionLog
            | K::StreamingDelta
            | K::Token => {
                self.report.leave_out(word);
            }
            K::Unknown(_) => self.report.leave_out(&format!("unknown event {word}")),
        }
    }

    /// Returns the usage of an answer: the one with its id, otherwise that reported since the previous
    /// answer.
    fn usage_of(&mut self, response: &str) -> Option<Usage> {
        let reported = self.usage.take();
        self.paid.remove(response).or(reported)
    }

    fn push(&mut self, event: &Value, step: LogStep) {
        self.items.push(LogItem::new(event, step));
    }

    /// Converts contents to parts, and counts pictures that cannot be read.
    fn parts(&mut self, value: &Value) -> Vec<ContentPart> {
        let (parts, lost) = content::parts(value, self.blobs);
        (0..lost).for_each(|_| self.report.leave_out("picture that cannot be read"));
        parts
    }

    /// Reads the first system prompt, which is part of the configuration, with the part that differs between
    /// conversations at its end.
    fn system(&mut self, event: &Value) {
        if !self.setting.system_prompt.is_empty() {
            return self.report.leave_out("SystemPromptEvent after the first");
        }
        let prompt = text_in(&event["system_prompt"]);
        let dynamic = text_in(&event["dynamic_context"]);
        let gap = if dynamic.is_empty() { "" } else { "\n\n" };
        self.setting.system_prompt = format!("{prompt}{gap}{dynamic}");
        let tools = json::list(event, "tools")
            .iter()
            .map(|tool| tool.get("function").unwrap_or(tool));
        self.setting.tools = tools
            .map(|tool| {
                let schema = tool
                    .get("parameters")
                    .or_else(|| tool.get("inputSchema"))
                    .cloned();
                let name = json::first_text(tool, &["name", "title", "kind"]);
                (
                    name.to_owned(),
                    json::text(tool, "description").to_owned(),
                    schema.unwrap_or_default(),
                )
            })
            .collect();
    }

    fn message(&mut self, event: &Value) {
        let message = &event["llm_message"];
        if json::text(event, "source") == "agent" {
            let answer = LoggedAnswer {
                message_id: json::id(event, "llm_response_id"),
                thinking: thinking(message, self.report),
                text: content::text_of(&message["content"]),
                usage: self.usage_of(json::text(event, "llm_response_id")),
                ..LoggedAnswer::default()
            };
            return self.push(event, LogStep::Answer(answer));
        }
        let mut content = self.parts(&message["content"]);
        content.append(&mut self.parts(&event["extended_content"]));
        let source = match json::text(event, "source") {
            "user" => Source::User,
            _ => Source::Environment,
        };
        self.push(event, LogStep::Input { content, source });
    }

    fn condensation(&mut self, event: &Value) {
        let forgotten = json::list(event, "forgotten_event_ids")
            .iter()
            .filter_map(|id| Some(id.as_str()?.to_owned()));
        let step = LogStep::Condensed {
            forgotten: forgotten.collect(),
            summary: json::text(event, "summary").to_owned(),
        };
        self.push(event, step);
    }

    /// Reads a state update. The totals of a conversation come before the answer that they include; other
    /// updates are only counted.
    fn state_update(&mut self, event: &Value) {
        let key = json::text(event, "key");
        let value = &event["value"];
        let stats = if key == "full_state" {
            &value["stats"]
        } else {
            value
        };
        let meters = &stats["usage_to_metrics"];
        match (key, meters, value) {
            ("stats" | "full_state", Value::Object(meters), _) => {
                for (name, metrics) in meters {
                    if name == "default" || self.setting.model.is_empty() {
                        json::first_text(metrics, &["model_name"]).clone_into(&mut self.setting.model);
                    }
                    if let Some(used) = self.meters.since_last(name, metrics) {
                        *self.usage.get_or_insert_default() += used;
                    }
                }
            }
            ("execution_status", _, Value::String(status)) => match ExecutionStatus::read(status) {
                ExecutionStatus::Unknown(word) => self.report.leave_out(&format!("unknown state {word}")),
                known => self.report.leave_out(&format!("state {}", known.word())),
            },
            _ => self.report.leave_out(&format!("change of {key}")),
        }
    }
}

/// Returns the text of a content object or a plain string.
fn text_in(value: &Value) -> String {
    match value {
        Value::Object(_) => json::text(value, "text").to_owned(),
        other => content::text_of(other),
    }
}

/// Returns the readable reasoning of an answer. Reasoning that only its provider can read is counted.
fn thinking(value: &Value, report: &mut ImportReport) -> String {
    let blocks = json::list(value, "thinking_blocks");
    if blocks
        .iter()
        .any(|block| !json::first_text(block, &["signature", "data"]).is_empty())
    {
        report.leave_out("signature of reasoning");
    }
    if !value["responses_reasoning_item"]["encrypted_content"].is_null() {
        report.leave_out("encrypted reasoning");
    }
    let said = json::text(value, "reasoning_content");
    if said.is_empty() {
        return blocks.iter().map(|block| json::text(block, "thinking")).collect();
    }
    said.to_owned()
}
