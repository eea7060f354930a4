//! Events of V1: messages, actions with their calls, observations, and what happened around them.

use std::collections::BTreeMap;

use agentx_types::{ContentPart, Source, ToolStatus, Usage};
use serde_json::{Map, Value, json};

use crate::content::{self, Blobs};
use crate::item::{Answer, Call, Item, Outcome, Setting, Step};
use crate::json;
use crate::log::Log;
use crate::report::ImportReport;
use crate::time;
use crate::usage::Meters;
use crate::words::{EventKind, ExecutionStatus};

/// The steps of a V1 log.
pub(crate) fn read(log: &Log, blobs: &mut Blobs, report: &mut ImportReport) -> (Setting, Vec<Item>) {
    let mut reader = Reader {
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
    };
    for (index, event) in log.events.iter().enumerate() {
        reader.event(index, event);
    }
    if reader.usage.is_some() {
        reader.report.leave_out("usage after the last answer");
    }
    (reader.setting, reader.items)
}

/// The agent, the model and the directory in `base_state.json`.
fn setting(state: &Value) -> Setting {
    let llm = &state["agent"]["llm"];
    Setting {
        agent: json::text(&state["agent"], "kind").to_owned(),
        model: json::text(llm, "model").to_owned(),
        context_window: Some(json::count(llm, "max_input_tokens")).filter(|tokens| *tokens > 0),
        directory: json::text(&state["workspace"], "working_dir").to_owned(),
        title: json::text(state, "title").to_owned(),
        ..Setting::default()
    }
}

/// The places of the actions of each answer.
fn responses(events: &[Value]) -> BTreeMap<&str, Vec<usize>> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let id = json::text(event, "llm_response_id");
        if json::text(event, "kind") == "ActionEvent" && !id.is_empty() {
            found.entry(id).or_default().push(index);
        }
    }
    found
}

/// The place of the last report about each call of an ACP server; those before it are its progress.
fn last_acp(events: &[Value]) -> BTreeMap<&str, usize> {
    let reports = events
        .iter()
        .enumerate()
        .filter(|(_, event)| json::text(event, "kind") == "ACPToolCallEvent");
    reports
        .map(|(index, event)| (json::text(event, "tool_call_id"), index))
        .collect()
}

/// Reads events one after another.
struct Reader<'a> {
    events: &'a [Value],
    responses: BTreeMap<&'a str, Vec<usize>>,
    blobs: &'a mut Blobs,
    report: &'a mut ImportReport,
    setting: Setting,
    items: Vec<Item>,
    /// What actions say beside their calls, by the ids of the calls.
    details: BTreeMap<String, Value>,
    acp: BTreeMap<&'a str, usize>,
    meters: Meters,
    /// The usage that was reported since the last answer.
    usage: Option<Usage>,
}

impl<'a> Reader<'a> {
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
                    Step::Input {
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
                    Step::Stop {
                        reason: reason.to_owned(),
                        source: Source::User,
                    },
                );
            }
            K::StateUpdate => self.state_update(event),
            K::ConversationError => {
                let code = json::first_text(event, &["code"]).to_owned();
                let message = json::first_text(event, &["detail", "message", "code"]).to_owned();
                self.push(event, Step::Failure { code, message });
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

    fn push(&mut self, event: &Value, step: Step) {
        self.items.push(Item {
            at: time::read(json::text(event, "timestamp")),
            events: json::id(event, "id").into_iter().collect(),
            step,
        });
    }

    /// Contents as parts; pictures that cannot be read are counted.
    fn parts(&mut self, value: &Value) -> Vec<ContentPart> {
        let (parts, lost) = content::parts(value, self.blobs);
        (0..lost).for_each(|_| self.report.leave_out("picture that cannot be read"));
        parts
    }

    /// The first system prompt is the configuration; what changes from conversation to conversation follows it.
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
            let answer = Answer {
                message_id: json::id(event, "llm_response_id"),
                thinking: thinking(message, self.report),
                text: content::text_of(&message["content"]),
                usage: self.usage.take(),
                ..Answer::default()
            };
            return self.push(event, Step::Answer(answer));
        }
        let mut content = self.parts(&message["content"]);
        content.append(&mut self.parts(&event["extended_content"]));
        let source = match json::text(event, "source") {
            "user" => Source::User,
            _ => Source::Environment,
        };
        self.push(event, Step::Input { content, source });
    }

    /// An action: the first of its answer makes the whole answer.
    fn action(&mut self, index: usize, event: &'a Value) {
        let id = json::text(event, "llm_response_id");
        let mates = self.responses.get(id).cloned().unwrap_or_else(|| vec![index]);
        self.details
            .insert(json::text(event, "tool_call_id").to_owned(), said_beside(event));
        if mates.first() != Some(&index) {
            return;
        }
        let events = self.events;
        let answer = Answer {
            message_id: Some(id.to_owned()).filter(|id| !id.is_empty()),
            model: None,
            thinking: thinking(event, self.report),
            text: mates
                .iter()
                .map(|at| content::text_of(&events[*at]["thought"]))
                .collect(),
            calls: mates.iter().map(|at| call_of(*at, &events[*at])).collect(),
            usage: self.usage.take(),
        };
        self.push(event, Step::Answer(answer));
        if let Some(item) = self.items.last_mut() {
            item.events = mates
                .iter()
                .filter_map(|at| json::id(&events[*at], "id"))
                .collect();
        }
    }

    /// What became of a call.
    fn outcome(&mut self, event: &Value) {
        let observation = &event["observation"];
        let (mut content, status, kept) = match EventKind::read(json::text(event, "kind")) {
            EventKind::UserReject => {
                let text = format!("Action rejected: {}", json::text(event, "rejection_reason"));
                let kept = json!({ "rejection_source": event.get("rejection_source") });
                (vec![ContentPart::text(text)], ToolStatus::Denied, kept)
            }
            EventKind::AgentError => (
                vec![ContentPart::text(json::text(event, "error"))],
                ToolStatus::Failed,
                json!({}),
            ),
            _ => {
                let failed =
                    observation["is_error"] == true || exit_code(observation).is_some_and(|code| code > 0);
                let status = if observation["timeout"] == true {
                    ToolStatus::TimedOut
                } else if failed {
                    ToolStatus::Failed
                } else {
                    ToolStatus::Success
                };
                (self.observed(observation), status, without_content(observation))
            }
        };
        content.append(&mut self.parts(&event["extended_content"]));
        let call = json::text(event, "tool_call_id").to_owned();
        let mut beside = self.details.remove(&call).unwrap_or_else(|| json!({}));
        let (kept, cuts) = content::bounded(&kept);
        (0..cuts).for_each(|_| self.report.leave_out("end of a long text in an observation"));
        beside["observation"] = kept;
        let mut details = json!({ "openhands": beside });
        self.shorten(&mut content, &mut details);
        if let Some(code) = exit_code(observation) {
            details["exit_code"] = code.into();
        }
        let arguments = ["command", "path", "pattern", "url"];
        let known = arguments
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), observation.get(*key)?.clone())));
        let outcome = Outcome {
            call,
            name: json::text(event, "tool_name").to_owned(),
            input: Value::Object(known.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>()),
            content,
            status,
            details,
        };
        self.push(event, Step::Outcome(outcome));
    }

    /// The content of an observation, as the model read it.
    fn observed(&mut self, observation: &Value) -> Vec<ContentPart> {
        let mut parts = self.parts(&observation["content"]);
        if parts.is_empty() {
            // Versions before 1.1 had a field for it in each kind of observation.
            let text = json::first_text(observation, &["output", "error", "message", "text"]);
            parts = match text {
                "" if observation.get("content").is_none() => {
                    vec![ContentPart::text(without_content(observation).to_string())]
                }
                text => vec![ContentPart::text(text)],
            };
        }
        if observation["is_error"] == true {
            parts.insert(0, ContentPart::text("[An error occurred during execution.]\n"));
        }
        if let Some(metadata) = observation
            .get("metadata")
            .filter(|metadata| metadata.is_object())
        {
            let around = content::command_output("\u{0}", metadata);
            if let Some((before, after)) = around.split_once('\u{0}') {
                let mut around = vec![ContentPart::text(before)];
                around.append(&mut parts);
                around.push(ContentPart::text(after));
                parts = around;
            }
        }
        let is_there = |part: &ContentPart| part.as_text() != Some("");
        parts.into_iter().filter(is_there).collect()
    }

    /// Cuts overlong texts; the first of them is kept whole in a blob.
    fn shorten(&mut self, content: &mut [ContentPart], details: &mut Value) {
        for part in content {
            let ContentPart::Text(part) = part else { continue };
            let (shown, blob) = self.blobs.shorten(&part.text);
            part.text = shown;
            if let Some(blob) = blob.filter(|_| details.get("blob").is_none()) {
                details["blob"] = blob.as_str().into();
            }
        }
    }

    fn condensation(&mut self, event: &Value) {
        let forgotten = json::list(event, "forgotten_event_ids")
            .iter()
            .filter_map(|id| Some(id.as_str()?.to_owned()));
        let step = Step::Condensed {
            forgotten: forgotten.collect(),
            summary: json::text(event, "summary").to_owned(),
        };
        self.push(event, step);
    }

    /// The totals of a conversation come before the answer that was paid; other updates are counted.
    fn state_update(&mut self, event: &Value) {
        let key = json::text(event, "key");
        let value = &event["value"];
        let stats = if key == "full_state" {
            &value["stats"]
        } else {
            value
        };
        let meters = &stats["usage_to_metrics"];
        match (key, meters) {
            ("stats" | "full_state", Value::Object(meters)) => {
                for (name, metrics) in meters {
                    if name == "default" || self.setting.model.is_empty() {
                        json::first_text(metrics, &["model_name"]).clone_into(&mut self.setting.model);
                    }
                    if let Some(used) = self.meters.since_last(name, metrics) {
                        *self.usage.get_or_insert_default() += used;
                    }
                }
            }
            ("execution_status", Value::String(status)) => match ExecutionStatus::read(status) {
                ExecutionStatus::Unknown(word) => self.report.leave_out(&format!("unknown state {word}")),
                known => self.report.leave_out(&format!("state {}", known.word())),
            },
            _ => self.report.leave_out(&format!("change of {key}")),
        }
    }

    /// A call that an ACP server made: its last report is the call and its outcome.
    fn acp_call(&mut self, index: usize, event: &Value) {
        let id = json::text(event, "tool_call_id");
        if self.acp.get(id) != Some(&index) {
            return self.report.leave_out("progress of an ACPToolCallEvent");
        }
        let name = json::first_text(event, &["tool_kind", "title"]);
        let input = match &event["raw_input"] {
            input @ Value::Object(_) => input.clone(),
            Value::Null => json!({}),
            other => json!({ "input": other }),
        };
        let call = Call {
            id: id.to_owned(),
            name: if name.is_empty() {
                "acp".to_owned()
            } else {
                name.to_owned()
            },
            input,
            ends: None,
            delegate: None,
        };
        let answer = Answer {
            calls: vec![call],
            usage: self.usage.take(),
            ..Answer::default()
        };
        self.push(event, Step::Answer(answer));
        let text = match &event["raw_output"] {
            Value::Null => content::text_of(&event["content"]),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut content = vec![ContentPart::text(text)];
        let about =
            json!({ "title": event["title"], "status": event["status"], "content": event["content"] });
        let mut details = json!({ "openhands": content::bounded(&about).0 });
        self.shorten(&mut content, &mut details);
        let failed = event["is_error"] == true || json::text(event, "status") == "failed";
        let outcome = Outcome {
            call: id.to_owned(),
            name: name.to_owned(),
            input: json!({}),
            content,
            status: if failed {
                ToolStatus::Failed
            } else {
                ToolStatus::Success
            },
            details,
        };
        self.push(event, Step::Outcome(outcome));
    }
}

/// The text of a content, or of a plain string.
fn text_in(value: &Value) -> String {
    match value {
        Value::Object(_) => json::text(value, "text").to_owned(),
        other => content::text_of(other),
    }
}

/// The reasoning of an answer, in the clear. What only its provider can read is counted.
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

/// The call of an action. `tool_call` has it as the model made it.
fn call_of(index: usize, event: &Value) -> Call {
    let made = &event["tool_call"];
    let action = &event["action"];
    let written = made.get("arguments").unwrap_or(&made["function"]["arguments"]);
    let without_kind = || {
        let fields = action
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key != "kind");
        Value::Object(
            fields
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Map<_, _>>(),
        )
    };
    let id = json::text(event, "tool_call_id");
    let name = json::text(event, "tool_name");
    let is_last = name == "finish" || json::text(action, "kind") == "FinishAction";
    Call {
        id: if id.is_empty() {
            format!("oh_{}", index + 1)
        } else {
            id.to_owned()
        },
        name: if name.is_empty() {
            "unnamed".to_owned()
        } else {
            name.to_owned()
        },
        input: json::arguments(written).unwrap_or_else(without_kind),
        ends: is_last.then(|| json::text(action, "message").to_owned()),
        delegate: None,
    }
}

/// What an action says beside its call.
fn said_beside(event: &Value) -> Value {
    let mut kept = Map::new();
    for key in ["summary", "security_risk", "critic_result", "source"] {
        if let Some(value) = event.get(key).filter(|value| !value.is_null()) {
            kept.insert(key.to_owned(), content::bounded(value).0);
        }
    }
    Value::Object(kept)
}

/// An observation without what is in the result.
fn without_content(observation: &Value) -> Value {
    let fields = observation.as_object().into_iter().flatten();
    let others = fields.filter(|(key, value)| *key != "content" && !value.is_null());
    Value::Object(
        others
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Map<_, _>>(),
    )
}

fn exit_code(observation: &Value) -> Option<i64> {
    let code = observation.get("exit_code").filter(|code| !code.is_null());
    let code = code.or_else(|| observation["metadata"].get("exit_code"));
    code.and_then(Value::as_i64).filter(|code| *code != -1)
}
