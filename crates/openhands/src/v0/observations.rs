//! Reads observations: outcomes of calls and commands, and messages of the environment itself.

use agentx_types::{ContentPart, Source, ToolStatus};
use serde_json::{Map, Value, json};

use super::calls::PendingAction;
use super::{V0Reader, fields};
use crate::content;
use crate::item::{LogStep, LoggedOutcome};
use crate::json;
use crate::words::{AgentState, ObservationType};

/// Extras of an observation that reveal the arguments of a lost call.
const ARGUMENTS: [&str; 8] = [
    "command",
    "code",
    "path",
    "url",
    "name",
    "arguments",
    "task_list",
    "agent",
];

impl V0Reader<'_> {
    pub(super) fn observation(&mut self, event: &Value, word: &str) {
        use ObservationType as O;
        let kind = O::read(word);
        let extras = fields(event, "extras");
        match kind {
            O::AgentStateChanged => return self.state(event, &extras),
            O::Chat => return self.say(event, json::text(event, "content"), Source::User),
            O::LoopDetection => {
                let reason = json::text(event, "content").to_owned();
                return self.push(
                    event,
                    LogStep::Stop {
                        reason,
                        source: Source::System,
                    },
                );
            }
            _ => {}
        }
        if let Some(call) = self.take_call(event, word) {
            let outcome = self.outcome(event, &kind, &extras, call);
            return self.push(event, LogStep::Outcome(outcome));
        }
        let of_person = json::id(event, "cause").and_then(|cause| self.commands.remove(&cause));
        if let Some(command) = of_person {
            let code = exit_code(&extras).map_or("ended".to_owned(), |code| format!("exit {code}"));
            let output = json::text(event, "content").to_owned();
            return self.push(
                event,
                LogStep::Command {
                    command,
                    output,
                    how: code,
                },
            );
        }
        self.without_call(event, &kind, &extras);
    }

    /// Removes and returns the open call of an observation. It is found by the id of the call, by its cause,
    /// or, in logs without ids, as the first of its kind.
    fn take_call(&mut self, event: &Value, word: &str) -> Option<PendingAction> {
        let id = json::text(&event["tool_call_metadata"], "tool_call_id");
        let cause = json::id(event, "cause");
        let has_ids = json::id(event, "id").is_some() || cause.is_some();
        let by_call = |open: &PendingAction| !id.is_empty() && open.call == id;
        let by_cause =
            |open: &PendingAction| cause.as_ref().is_some_and(|cause| open.actions.contains(cause));
        let by_kind =
            |open: &PendingAction| open.word == word || (word == "mcp" && open.word == "call_tool_mcp");
        let position = self
            .open
            .iter()
            .position(by_call)
            .or_else(|| self.open.iter().position(by_cause));
        let position = position.or_else(|| {
            let first = || self.open.iter().position(by_kind);
            let any = || {
                matches!(word, "error" | "user_rejected" | "null").then(|| self.open.len().checked_sub(1))?
            };
            if has_ids { None } else { first().or_else(any) }
        });
        position.map(|at| self.open.remove(at))
    }

    fn outcome(
        &mut self,
        event: &Value,
        kind: &ObservationType,
        extras: &Value,
        call: PendingAction,
    ) -> LoggedOutcome {
        let mut details = call.details;
        let (kept, cuts) = content::bounded(&without_pictures(extras));
        (0..cuts).for_each(|_| {
            self.report
                .leave_out("end of a long text in an observation's extras")
        });
        details["extras"] = kept;
        if let Some(message) = event.get("message").filter(|message| message.is_string()) {
            details["observed"] = content::bounded(message).0;
        }
        let mut details = json!({ "openhands": details });
        let (text, blob) = self.blobs.shorten(&text(event, kind, extras));
        if let Some(blob) = blob {
            details["blob"] = blob.as_str().into();
        }
        let code = exit_code(extras).filter(|_| *kind == ObservationType::Run);
        if let Some(code) = code {
            details["exit_code"] = code.into();
        }
        let mut content = vec![ContentPart::text(text)];
        content.extend(self.pictures(extras));
        LoggedOutcome {
            call: call.call,
            name: call.word,
            input: call.input,
            content,
            status: match kind {
                ObservationType::Error => ToolStatus::Failed,
                ObservationType::UserRejected => ToolStatus::Denied,
                _ if code.is_some_and(|code| code > 0) => ToolStatus::Failed,
                _ => ToolStatus::Success,
            },
            details,
        }
    }

    /// Returns the pictures of a result: of a page, or those that a cell has drawn.
    fn pictures(&mut self, extras: &Value) -> Vec<ContentPart> {
        let page = json::first_text(extras, &["set_of_marks", "screenshot"]);
        let drawn = json::list(extras, "image_urls").iter().filter_map(Value::as_str);
        let mut found = Vec::new();
        for url in std::iter::once(page).chain(drawn).filter(|url| !url.is_empty()) {
            match self.blobs.picture(url) {
                Some(picture) => found.push(picture),
                None => self.report.leave_out("picture that cannot be read"),
            }
        }
        found
    }

    /// Reads an observation for which no call is open.
    fn without_call(&mut self, event: &Value, kind: &ObservationType, extras: &Value) {
        use ObservationType as O;
        match kind {
            O::Null => self.report.leave_out("observation null"),
            O::Recall => {
                let text = recalled(extras);
                if text.is_empty() {
                    return self.report.leave_out("observation recall without a word");
                }
                self.say(event, &text, Source::Environment);
            }
            O::Read | O::Write | O::Edit | O::Browse | O::Run | O::RunIpython | O::Mcp | O::Download => {
                self.lost_call(event, kind, extras);
            }
            _ => {
                let said = text(event, kind, extras);
                if said.trim().is_empty() {
                    return self
                        .report
                        .leave_out(&format!("observation {} without a word", kind.word()));
                }
                if matches!(kind, O::Unknown(_)) {
                    self.report
                        .add(&format!("input of the unknown observation {}", kind.word()));
                }
                self.say(event, &said, Source::Environment);
            }
        }
    }

    /// Records the result of a call that the log lacks. The call is derived from its result.
    fn lost_call(&mut self, event: &Value, kind: &ObservationType, extras: &Value) {
        let own = ARGUMENTS
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), extras.get(*key)?.clone())));
        let number = json::id(event, "id").unwrap_or_else(|| self.items.len().to_string());
        let name = json::text(&event["tool_call_metadata"], "function_name");
        let call = PendingAction {
            call: format!("oh_lost_{number}"),
            actions: Vec::new(),
            word: if name.is_empty() {
                kind.word().to_owned()
            } else {
                name.to_owned()
            },
            input: Value::Object(own.collect::<Map<_, _>>()),
            details: json!({}),
        };
        let outcome = self.outcome(event, kind, extras, call);
        self.push(event, LogStep::Outcome(outcome));
    }

    fn say(&mut self, event: &Value, text: &str, source: Source) {
        let content = vec![ContentPart::text(text)];
        self.push(event, LogStep::Input { content, source });
    }

    /// Reads a change of the controller's state.
    fn state(&mut self, event: &Value, extras: &Value) {
        let word = json::text(extras, "agent_state");
        let reason = json::first_text(extras, &["reason"]).to_owned();
        let reason = if reason.is_empty() {
            json::text(event, "content").to_owned()
        } else {
            reason
        };
        match AgentState::read(word) {
            AgentState::Paused | AgentState::Stopped => {
                let reason = if reason.is_empty() {
                    word.to_owned()
                } else {
                    reason
                };
                self.push(
                    event,
                    LogStep::Stop {
                        reason,
                        source: Source::User,
                    },
                );
            }
            AgentState::Error => {
                let message = if reason.is_empty() {
                    "the agent failed".to_owned()
                } else {
                    reason
                };
                self.push(
                    event,
                    LogStep::Failure {
                        code: "openhands_error".into(),
                        message,
                    },
                );
            }
            AgentState::Unknown(_) => self.report.leave_out(&format!("unknown state {word}")),
            _ => self.report.leave_out(&format!("state {word}")),
        }
    }
}

/// Returns the text of an observation, as the model read it.
fn text(event: &Value, kind: &ObservationType, extras: &Value) -> String {
    let content = content::text_of(&event["content"]);
    match kind {
        ObservationType::Run => {
            let old = json!({ "exit_code": extras.get("exit_code") });
            content::command_output(&content, extras.get("metadata").unwrap_or(&old))
        }
        ObservationType::Delegate if content.trim().is_empty() => extras["outputs"].to_string(),
        _ => content,
    }
}

/// Returns the extras except those that are in the result.
fn without_pictures(extras: &Value) -> Value {
    let mut kept = extras.clone();
    if let Some(fields) = kept.as_object_mut() {
        fields.retain(|key, _| !["set_of_marks", "screenshot", "image_urls"].contains(&key.as_str()));
    }
    kept
}

fn exit_code(extras: &Value) -> Option<i64> {
    let code = extras["metadata"]
        .get("exit_code")
        .or_else(|| extras.get("exit_code"));
    code.and_then(Value::as_i64).filter(|code| *code != -1)
}

/// Returns the recalled items, one on each line.
fn recalled(extras: &Value) -> String {
    let mut lines = Vec::new();
    for (key, value) in extras.as_object().into_iter().flatten() {
        match value {
            Value::String(text) if !text.trim().is_empty() && key != "recall_type" => {
                lines.push(format!("{key}: {text}"))
            }
            Value::Object(map) if !map.is_empty() => lines.push(format!("{key}: {value}")),
            Value::Array(list) => {
                let knowledge = list
                    .iter()
                    .map(|known| format!("{}: {}", json::text(known, "name"), json::text(known, "content")));
                lines.extend(knowledge);
            }
            _ => {}
        }
    }
    lines.join("\n")
}
