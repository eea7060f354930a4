//! Reads actions: answers of the model that call tools, and calls that an ACP server made.

use std::collections::BTreeMap;

use agentx_types::{ContentPart, ToolStatus};
use serde_json::{Map, Value, json};

use super::{V1Reader, thinking};
use crate::content;
use crate::item::{LogStep, LoggedAnswer, LoggedCall, LoggedOutcome};
use crate::json;

impl<'a> V1Reader<'a> {
    /// Reads an action. The first action of an answer creates the whole answer.
    pub(super) fn action(&mut self, index: usize, event: &'a Value) {
        let id = json::text(event, "llm_response_id");
        let mates = self.responses.get(id).cloned().unwrap_or_else(|| vec![index]);
        self.details
            .insert(json::text(event, "tool_call_id").to_owned(), said_beside(event));
        if mates.first() != Some(&index) {
            return;
        }
        let events = self.events;
        let answer = LoggedAnswer {
            message_id: Some(id.to_owned()).filter(|id| !id.is_empty()),
            model: None,
            thinking: thinking(event, self.report),
            text: mates
                .iter()
                .map(|at| content::text_of(&events[*at]["thought"]))
                .collect(),
            calls: mates.iter().map(|at| call_of(*at, &events[*at])).collect(),
            usage: self.usage_of(json::text(event, "llm_response_id")),
        };
        self.push(event, LogStep::Answer(answer));
        if let Some(item) = self.items.last_mut() {
            item.events = mates
                .iter()
                .filter_map(|at| json::id(&events[*at], "id"))
                .collect();
        }
    }

    /// Reads a call that an ACP server made. Its last report has both the call and the outcome.
    pub(super) fn acp_call(&mut self, index: usize, event: &Value) {
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
        let call = LoggedCall {
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
        let answer = LoggedAnswer {
            calls: vec![call],
            usage: self.usage_of(json::text(event, "llm_response_id")),
            ..LoggedAnswer::default()
        };
        self.push(event, LogStep::Answer(answer));
        let outcome = self.acp_outcome(event, name);
        self.push(event, LogStep::Outcome(outcome));
    }

    /// Returns the outcome of a call that an ACP server made.
    fn acp_outcome(&mut self, event: &Value, name: &str) -> LoggedOutcome {
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
        LoggedOutcome {
            call: json::text(event, "tool_call_id").to_owned(),
            name: name.to_owned(),
            input: json!({}),
            content,
            status: if failed {
                ToolStatus::Failed
            } else {
                ToolStatus::Success
            },
            details,
        }
    }
}

/// Returns the call of an action. `tool_call` has it as the model made it.
fn call_of(index: usize, event: &Value) -> LoggedCall {
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
    LoggedCall {
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

/// Returns the fields of an action besides its call.
fn said_beside(event: &Value) -> Value {
    let mut kept = Map::new();
    for key in ["summary", "security_risk", "critic_result", "source"] {
        if let Some(value) = event.get(key).filter(|value| !value.is_null()) {
            kept.insert(key.to_owned(), content::bounded(value).0);
        }
    }
    Value::Object(kept)
}

/// Returns the places of the actions of each answer.
pub(super) fn responses(events: &[Value]) -> BTreeMap<&str, Vec<usize>> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let id = json::text(event, "llm_response_id");
        if json::text(event, "kind") == "ActionEvent" && !id.is_empty() {
            found.entry(id).or_default().push(index);
        }
    }
    found
}

/// Returns the place of the last report about each call of an ACP server. Earlier reports show only progress.
pub(super) fn last_acp(events: &[Value]) -> BTreeMap<&str, usize> {
    let reports = events
        .iter()
        .enumerate()
        .filter(|(_, event)| json::text(event, "kind") == "ACPToolCallEvent");
    reports
        .map(|(index, event)| (json::text(event, "tool_call_id"), index))
        .collect()
}
