//! The other side: the driver's events, and what upstream's machine made of them, with the defects of the
//! list repaired to compare messages and states.

use std::collections::BTreeSet;

use agentx_types::{RuntimeEvent, StopReason, Usage, Vocabulary as _};
use serde_json::Value;

use crate::ours::as_text;
use crate::{Part, Seen};

/// An event of upstream's driver.
pub(crate) struct DriverEvent {
    name: String,
    pub(crate) delay_ms: i64,
    pub(crate) data: Value,
}

impl DriverEvent {
    fn new(value: &Value) -> Self {
        Self {
            name: value["type"].as_str().unwrap().to_owned(),
            delay_ms: value["delay"].as_i64().unwrap_or(0),
            data: value["data"].clone(),
        }
    }

    /// Its name in the newer of the two vocabularies.
    pub(crate) fn kind(&self) -> &str {
        match self.name.as_str() {
            "tool_use_content_block_start" => "tool_use_start",
            "tool_use_content_block_stop" => "tool_use_stop",
            "text_content_block_start" => "text_block_start",
            "text_content_block_stop" => "text_block_stop",
            name => name,
        }
    }

    fn text_of(&self, keys: [&str; 2]) -> String {
        let value = keys.iter().find_map(|key| self.data.pointer(key)?.as_str());
        value
            .unwrap_or_else(|| panic!("{} has none of {keys:?}", self.name))
            .to_owned()
    }

    pub(crate) fn message_id(&self) -> String {
        self.text_of(["/messageId", "/message/id"])
    }

    pub(crate) fn model(&self) -> String {
        self.text_of(["/model", "/message/model"])
    }

    pub(crate) fn call_id(&self) -> String {
        let id = ["/toolCallId", "/toolUseId", "/id"]
            .iter()
            .find_map(|key| self.data.pointer(key)?.as_str());
        id.unwrap_or_else(|| panic!("{} names no call", self.name))
            .to_owned()
    }

    pub(crate) fn call_name(&self) -> String {
        self.text_of(["/toolName", "/name"])
    }

    pub(crate) fn result_text(&self) -> String {
        as_text(&self.data["result"])
    }

    pub(crate) fn stop_reason(&self) -> StopReason {
        match self.data["stopReason"].as_str() {
            Some("end_turn") => StopReason::EndTurn,
            Some("tool_use") => StopReason::ToolUse,
            Some("max_tokens") => StopReason::MaxTokens,
            Some("stop_sequence") => StopReason::StopSequence,
            Some("content_filter") => StopReason::Refusal,
            _ => StopReason::Other,
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        let tokens = |key: &str| self.data["usage"][key].as_u64().unwrap_or(0);
        Usage {
            input_tokens: tokens("inputTokens"),
            output_tokens: tokens("outputTokens"),
            ..Usage::default()
        }
    }
}

/// The tools that a trace calls.
pub(crate) fn tool_names(events: &[DriverEvent]) -> BTreeSet<String> {
    events
        .iter()
        .filter(|event| event.kind() == "tool_use_start")
        .map(DriverEvent::call_name)
        .collect()
}

/// The state that an event of the State layer leads to, by upstream's own table.
fn state_after(tag: &str) -> Option<&'static str> {
    Some(match tag {
        "conversation_start" | "conversation_thinking" => "thinking",
        "conversation_responding" => "responding",
        "conversation_end" | "conversation_interrupted" => "idle",
        "tool_planned" => "planning_tool",
        "tool_executing" => "awaiting_tool_result",
        "tool_completed" | "tool_failed" => "responding",
        _ => return None,
    })
}

/// The states that our events lead to, each change once.
pub(crate) fn tool_states(events: &[RuntimeEvent]) -> Vec<String> {
    changes(events.iter().filter_map(|event| state_after(event.tag())))
}

fn changes<'a>(states: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = states.map(str::to_owned).collect();
    all.dedup();
    all
}

/// The result of upstream's machine for one event.
struct Step {
    outputs: Vec<(String, Value)>,
    state: String,
}

/// A trace.
pub(crate) struct Theirs {
    /// The output of the driver.
    pub(crate) events: Vec<DriverEvent>,
    steps: Vec<Step>,
}

impl Theirs {
    pub(crate) fn new(recording: &Value, expected: &Value) -> Self {
        let list = |value: &Value| value.as_array().unwrap().clone();
        let step = |value: &Value| Step {
            outputs: list(&value["out"])
                .iter()
                .map(|out| (out["type"].as_str().unwrap().to_owned(), out["data"].clone()))
                .collect(),
            state: value["state"].as_str().unwrap().to_owned(),
        };
        let events: Vec<DriverEvent> = list(&recording["events"]).iter().map(DriverEvent::new).collect();
        let steps: Vec<Step> = list(&expected["trace"]).iter().map(step).collect();
        assert_eq!(events.len(), steps.len(), "a step an event");
        Self { events, steps }
    }

    /// The data of every output of this type.
    pub(crate) fn outputs<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Value> {
        let all = self.steps.iter().flat_map(|step| &step.outputs);
        all.filter(move |(output, _)| output == name)
            .map(|(_, data)| data)
    }

    /// Returns the number of the driver's events of this name, as written.
    pub(crate) fn inputs(&self, name: &str) -> usize {
        self.events.iter().filter(|event| event.name == name).count()
    }

    pub(crate) fn results(&self) -> usize {
        self.inputs("tool_result")
    }

    /// Arguments of all calls that were answered, in order.
    pub(crate) fn arguments(&self) -> Vec<Value> {
        let stops = self.events.iter().filter(|event| event.kind() == "tool_use_stop");
        stops
            .filter_map(|event| event.data.get("input").cloned())
            .collect()
    }

    /// Returns the driver's reports for all messages.
    pub(crate) fn usage(&self) -> Usage {
        self.events
            .iter()
            .filter(|event| event.kind() == "message_delta")
            .fold(Usage::default(), |mut sum, event| {
                sum += event.usage();
                sum
            })
    }

    /// Returns the cost of each turn according to upstream: input tokens, output tokens.
    pub(crate) fn turn_usages(&self) -> Vec<(u64, u64)> {
        let tokens = |data: &Value, key: &str| data["usage"][key].as_u64().unwrap();
        self.outputs("turn_response")
            .map(|data| (tokens(data, "inputTokens"), tokens(data, "outputTokens")))
            .collect()
    }

    pub(crate) fn speaks_in_content_blocks(&self) -> bool {
        self.events
            .iter()
            .any(|event| event.name.contains("_content_block_"))
    }

    pub(crate) fn runs_tools_inside_a_message(&self) -> bool {
        let mut open = false;
        self.events.iter().any(|event| {
            match event.kind() {
                "message_start" => open = true,
                "message_stop" => open = false,
                _ => {}
            }
            open && event.kind() == "tool_result"
        })
    }

    pub(crate) fn results_come_before_their_calls(&self) -> bool {
        let messages = self.messages_as_they_are();
        let first = messages
            .iter()
            .position(|seen| matches!(seen, Seen::Result { .. }));
        let answer = messages
            .iter()
            .position(|seen| matches!(seen, Seen::Answer(parts) if parts.iter().any(is_call)));
        first < answer
    }

    /// The texts of all results.
    pub(crate) fn result_texts(&self) -> Vec<String> {
        self.outputs("tool_result_message")
            .map(|data| as_text(&data["toolResult"]["output"]["value"]))
            .collect()
    }

    fn messages_as_they_are(&self) -> Vec<Seen> {
        let all = self.steps.iter().flat_map(|step| &step.outputs);
        all.filter_map(|(name, data)| match name.as_str() {
            "assistant_message" => Some(Seen::Answer(
                data["content"].as_array().unwrap().iter().map(part).collect(),
            )),
            "tool_result_message" => Some(result(data)),
            _ => None,
        })
        .collect()
    }

    /// Answers and results, in order, with each answer cut at the point at which the model was asked again,
    /// and results after their calls.
    pub(crate) fn messages(&self) -> Vec<Seen> {
        let mut repaired = Vec::new();
        let mut early: Vec<Seen> = Vec::new();
        let mut called = BTreeSet::new();
        for seen in self.messages_as_they_are() {
            match seen {
                Seen::Result { ref id, .. } if called.contains(id) => repaired.push(seen),
                Seen::Result { .. } => early.push(seen),
                Seen::Answer(parts) => cut(parts, &mut early, &mut called, &mut repaired),
            }
        }
        repaired.extend(early);
        repaired
    }

    /// The states, with what the missing and the hasty tool events would have led to.
    pub(crate) fn states(&self) -> Vec<String> {
        let mut open = 0usize;
        let mut states: Vec<&str> = Vec::new();
        for (event, step) in self.events.iter().zip(&self.steps) {
            match event.kind() {
                // tool_executing comes before the arguments: until they are complete, the call is planned.
                "tool_use_start" => {
                    open += 1;
                    states.push("planning_tool");
                }
                "input_json_delta" | "tool_use_stop" | "text_block_start" | "text_block_stop"
                | "message_delta" => {}
                "message_stop" if open > 0 => states.push("awaiting_tool_result"),
                // tool_completed is missing, and so is the model call that follows the last result.
                "tool_result" => {
                    open = open.saturating_sub(1);
                    states.extend(["awaiting_tool_result", "responding"]);
                    if open == 0 {
                        states.push("thinking");
                    }
                }
                _ => states.push(&step.state),
            }
        }
        changes(states.into_iter())
    }
}

/// Cuts an answer after the calls that were answered before it was complete.
fn cut(parts: Vec<Part>, early: &mut Vec<Seen>, called: &mut BTreeSet<String>, out: &mut Vec<Seen>) {
    let mut current = Vec::new();
    for part in parts {
        let call = if let Part::Call { id, .. } = &part {
            Some(id.clone())
        } else {
            None
        };
        current.push(part);
        let Some(call) = call else { continue };
        called.insert(call.clone());
        let answered = early
            .iter()
            .position(|seen| matches!(seen, Seen::Result { id, .. } if *id == call));
        if let Some(at) = answered {
            out.push(Seen::Answer(std::mem::take(&mut current)));
            out.push(early.remove(at));
        }
    }
    if !current.is_empty() {
        out.push(Seen::Answer(current));
    }
}

fn is_call(part: &Part) -> bool {
    matches!(part, Part::Call { .. })
}

fn part(value: &Value) -> Part {
    let text = |key: &str| value[key].as_str().unwrap().to_owned();
    match value["type"].as_str() {
        Some("text") => Part::Text(text("text")),
        Some("tool-call") => Part::Call {
            id: text("id"),
            name: text("name"),
            input: value["input"].clone(),
        },
        other => panic!("no trace has a part {other:?}"),
    }
}

fn result(data: &Value) -> Seen {
    let result = &data["toolResult"];
    let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let output = &result["output"];
    Seen::Result {
        id: text("id"),
        name: text("name"),
        text: as_text(&output["value"]),
        is_error: output["type"]
            .as_str()
            .is_some_and(|kind| kind.starts_with("error")),
    }
}
