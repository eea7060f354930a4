//! Reads actions of the agent that call a tool, and the answers that they are part of.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{V0Reader, thought};
use crate::content;
use crate::item::{LogStep, LoggedAnswer, LoggedCall};
use crate::json;
use crate::usage;
use crate::words::ActionType;

/// Arguments that describe how an action was handled, not what it does.
const HANDLING: [&str; 4] = ["thought", "confirmation_state", "is_confirmed", "security_risk"];

/// A call without an outcome.
pub(super) struct PendingAction {
    /// The call's id in the log, or one derived from the action's place.
    pub(super) call: String,
    /// The ids of its actions: a call that a person confirmed has two.
    pub(super) actions: Vec<String>,
    /// The kind of its action.
    pub(super) word: String,
    /// The arguments, which identify the second action.
    pub(super) input: Value,
    /// Details for its result.
    pub(super) details: Value,
}

/// Returns the places of the actions of each answer that has an id.
pub(super) fn responses(events: &[Value]) -> BTreeMap<&str, Vec<usize>> {
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let id = response_id(event);
        if event.get("action").is_some() && !id.is_empty() {
            found.entry(id).or_default().push(index);
        }
    }
    found
}

fn response_id(event: &Value) -> &str {
    json::text(&event["tool_call_metadata"]["model_response"], "id")
}

impl<'a> V0Reader<'a> {
    /// Reads an action that calls a tool. The first action of an answer creates the whole answer.
    pub(super) fn call(&mut self, index: usize, event: &'a Value, word: &ActionType, args: &Value) {
        if self.merge_confirmed(event, word, args) {
            return;
        }
        let mates = self
            .responses
            .get(response_id(event))
            .cloned()
            .unwrap_or_else(|| vec![index]);
        if mates.first() == Some(&index) {
            self.answer(event, word, args, &mates);
        }
        let call = self.call_of(index, event, word, args);
        if let Some((_, task)) = &call.delegate {
            self.task = Some(task.clone());
        }
        self.open.push(PendingAction {
            call: call.id,
            actions: json::id(event, "id").into_iter().collect(),
            word: word.word().to_owned(),
            input: arguments_of(args),
            details: details(event, args),
        });
    }

    /// Adds an action to the open one that it repeats, if a person has confirmed that one: V0 records it
    /// again with a new id and without its thought. Returns whether it is a repetition.
    fn merge_confirmed(&mut self, event: &Value, word: &ActionType, args: &Value) -> bool {
        let id = json::text(&event["tool_call_metadata"], "tool_call_id");
        let input = arguments_of(args);
        let same = |open: &&mut PendingAction| {
            let by_id = !id.is_empty() && open.call == id;
            let state = json::text(args, "confirmation_state");
            by_id
                || (id.is_empty()
                    && state == "confirmed"
                    && open.word == word.word()
                    && open.input == input
                    && json::text(&open.details, "confirmation_state") == "awaiting_confirmation")
        };
        let Some(open) = self.open.iter_mut().find(same) else {
            return false;
        };
        open.actions.extend(json::id(event, "id"));
        open.details["confirmation_state"] = args.get("confirmation_state").cloned().unwrap_or_default();
        true
    }

    /// Creates the model's answer whose first action is `event`.
    fn answer(&mut self, event: &'a Value, word: &ActionType, args: &Value, mates: &[usize]) {
        let response = &event["tool_call_metadata"]["model_response"];
        let message = &response["choices"][0]["message"];
        let (thought, reasoning) = thought(args);
        let mut text = content::text_of(&message["content"]);
        // The call of a `think` action has the thought as its argument, if the log has the call.
        let is_argument = *word == ActionType::Think && !response.is_null();
        if text.trim().is_empty() && !is_argument {
            text = thought;
        }
        let said = json::first_text(message, &["reasoning_content", "reasoning", "thinking"]);
        let metered = self.meters.since_last("", &event["llm_metrics"]);
        let mut used = usage::of_response(&response["usage"]).or(metered);
        if let (Some(used), Some(metered)) = (&mut used, metered) {
            used.reported_cost = metered.reported_cost;
        }
        let model = json::text(response, "model");
        if self.setting.model.is_empty() {
            self.setting.model = model.to_owned();
        }
        let calls = mates.iter().map(|at| {
            let event = &self.events[*at];
            let word = ActionType::read(json::text(event, "action"));
            self.call_of(*at, event, &word, &super::fields(event, "args"))
        });
        let answer = LoggedAnswer {
            message_id: Some(json::text(response, "id").to_owned()).filter(|id| !id.is_empty()),
            model: Some(model.to_owned()).filter(|model| !model.is_empty()),
            thinking: if said.is_empty() {
                reasoning
            } else {
                said.to_owned()
            },
            text,
            calls: calls.collect(),
            usage: used,
        };
        self.push(event, LogStep::Answer(answer));
        let ids = mates.iter().filter_map(|at| json::id(&self.events[*at], "id"));
        let ids: Vec<String> = ids.collect();
        if let Some(item) = self.items.last_mut() {
            item.events = ids;
        }
    }

    /// Returns the call that an action makes.
    fn call_of(&self, index: usize, event: &Value, word: &ActionType, args: &Value) -> LoggedCall {
        let metadata = &event["tool_call_metadata"];
        let id = json::text(metadata, "tool_call_id");
        let name = json::text(metadata, "function_name");
        let calls = json::list(&metadata["model_response"]["choices"][0]["message"], "tool_calls");
        let made = calls.iter().find(|call| json::text(call, "id") == id);
        let input = made.and_then(|call| json::arguments(&call["function"]["arguments"]));
        let number = json::id(event, "id").unwrap_or_else(|| (index + 1).to_string());
        LoggedCall {
            id: if id.is_empty() {
                format!("oh_{number}")
            } else {
                id.to_owned()
            },
            name: if name.is_empty() {
                word.word().to_owned()
            } else {
                name.to_owned()
            },
            input: input.unwrap_or_else(|| arguments_of(args)),
            ends: matches!(word, ActionType::Finish | ActionType::Reject).then(|| last_words(args)),
            delegate: (*word == ActionType::Delegate).then(|| order(args)),
        }
    }
}

/// Returns those arguments of an action that are the tool's.
fn arguments_of(args: &Value) -> Value {
    let all = args.as_object().into_iter().flatten();
    let own = all.filter(|(key, value)| !HANDLING.contains(&key.as_str()) && !value.is_null());
    Value::Object(
        own.map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Map<_, _>>(),
    )
}

/// Returns the fields of an action besides its arguments.
fn details(event: &Value, args: &Value) -> Value {
    let mut kept = Map::new();
    for (from, key) in [
        (event, "message"),
        (event, "source"),
        (event, "timeout"),
        (args, "confirmation_state"),
        (args, "security_risk"),
    ] {
        if let Some(value) = from.get(key).filter(|value| !value.is_null() && **value != "") {
            kept.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(kept)
}

/// Returns the last message of a run.
fn last_words(args: &Value) -> String {
    let (thought, _) = thought(args);
    let outputs = &args["outputs"];
    for text in [
        json::text(args, "final_thought"),
        json::first_text(outputs, &["content", "reason"]),
        &thought,
    ] {
        if !text.trim().is_empty() {
            return text.to_owned();
        }
    }
    String::new()
}

/// Returns the name of the agent to delegate to, and its task.
fn order(args: &Value) -> (String, String) {
    let inputs = &args["inputs"];
    let task = match json::first_text(inputs, &["task", "content", "goal"]) {
        "" => inputs.to_string(),
        task => task.to_owned(),
    };
    (json::text(args, "agent").to_owned(), task)
}
