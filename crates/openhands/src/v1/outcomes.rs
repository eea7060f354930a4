//! Reads outcomes of calls: observations, rejections, errors.

use agentx_types::{ContentPart, ToolStatus};
use serde_json::{Map, Value, json};

use super::V1Reader;
use crate::content;
use crate::item::{LogStep, LoggedOutcome};
use crate::json;
use crate::words::EventKind;

impl V1Reader<'_> {
    /// Reads the outcome of a call.
    pub(super) fn outcome(&mut self, event: &Value) {
        let observation = &event["observation"];
        let (mut content, status, kept) = self.result(event);
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
        let outcome = LoggedOutcome {
            call,
            name: json::text(event, "tool_name").to_owned(),
            input: Value::Object(known.filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>()),
            content,
            status,
            details,
        };
        self.push(event, LogStep::Outcome(outcome));
    }

    /// Returns the result as the model read it, the status of the call, and the further details in the log.
    fn result(&mut self, event: &Value) -> (Vec<ContentPart>, ToolStatus, Value) {
        let observation = &event["observation"];
        match EventKind::read(json::text(event, "kind")) {
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
        }
    }

    /// Returns the content of an observation, as the model read it.
    pub(super) fn observed(&mut self, observation: &Value) -> Vec<ContentPart> {
        let mut parts = self.parts(&observation["content"]);
        if parts.is_empty() {
            // Versions before 1.1 had a separate field in each kind of observation.
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

    /// Cuts overlong texts. The first of them is kept whole in a blob.
    pub(super) fn shorten(&mut self, content: &mut [ContentPart], details: &mut Value) {
        for part in content {
            let ContentPart::Text(part) = part else { continue };
            let (shown, blob) = self.blobs.shorten(&part.text);
            part.text = shown;
            if let Some(blob) = blob.filter(|_| details.get("blob").is_none()) {
                details["blob"] = blob.as_str().into();
            }
        }
    }
}

/// Returns an observation without the parts that are in the result.
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
