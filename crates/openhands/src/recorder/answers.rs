//! Records answers of the model, with the calls in them.

use agentx_types::{
    Action, ActionBody, EnvironmentEvent, MessageId, Source, StopReason, StreamEnd, StreamStart, TextChunk,
    ThinkingChunk, ToolCall, ToolCallId, UsageReport,
};

use super::SessionRecorder;
use crate::item::{LoggedAnswer, LoggedCall};

impl SessionRecorder<'_> {
    /// Records an answer of the model, after everything that makes the fold ask for it.
    pub(super) fn answer(&mut self, answer: LoggedAnswer) {
        let events = std::mem::take(&mut self.events);
        self.settle();
        let Some(action) = self.agent().and_then(|agent| self.model_calls.remove(&agent)) else {
            return self.report.leave_out("answer that no model call waits for");
        };
        self.events = events;
        let (words, calls) = self.words_of(answer, &action);
        for event in words {
            self.record_for_action(Source::Environment, &action, event);
        }
        let stop_reason = match calls[..] {
            [] => StopReason::EndTurn,
            _ => StopReason::ToolUse,
        };
        let agents = self.agents.len();
        let end = StreamEnd {
            stop_reason,
            raw: None,
        };
        self.record_for_action(Source::Environment, &action, end);
        // If several agents were created together, the first one works first. An answer may also have ended
        // its agent.
        let mut made = self.agents.split_off(agents.min(self.agents.len()));
        made.reverse();
        self.agents.extend(made.iter().cloned());
        for (id, call) in calls {
            if let Some((_, open)) = self.open.iter_mut().find(|(open, _)| *open == id) {
                open.ends = call.ends;
            } else if call.delegate.is_some()
                && let Some(child) = made.pop()
            {
                self.delegated.insert(child, id);
            }
        }
    }

    /// Returns the facts of an answer before its end, and its calls with their ids in the session.
    fn words_of(
        &mut self,
        answer: LoggedAnswer,
        action: &Action,
    ) -> (Vec<EnvironmentEvent>, Vec<(ToolCallId, LoggedCall)>) {
        let start = StreamStart {
            message_id: self.message_id(answer.message_id, action),
            model: answer.model.unwrap_or_else(|| model_of(action)),
            attempt: 1,
        };
        let mut words: Vec<EnvironmentEvent> = vec![start.into()];
        if !answer.thinking.is_empty() {
            let text = answer.thinking;
            words.push(ThinkingChunk { text }.into());
        }
        if !answer.text.trim().is_empty() {
            let text = answer.text;
            words.push(TextChunk { text }.into());
        }
        let mut calls = Vec::new();
        for call in answer.calls {
            let id = self.call_id(&call.id);
            words.push(tool_call(id.clone(), &call).into());
            calls.push((id, call));
        }
        words.extend(answer.usage.map(|usage| UsageReport { usage }.into()));
        (words, calls)
    }

    /// Returns the provider's id of an answer if it is new, otherwise one derived from the action.
    pub(super) fn message_id(&mut self, wanted: Option<String>, action: &Action) -> MessageId {
        let wanted = wanted
            .map(MessageId::new)
            .filter(|id| !self.used_messages.contains(id));
        let own = || {
            MessageId::with_suffix(format_args!(
                "{}_1",
                action.action_id.as_str().trim_start_matches("act_")
            ))
        };
        let id = wanted.unwrap_or_else(own);
        self.used_messages.insert(id.clone());
        id
    }

    /// Returns a new id for a call: the log's own, unless an earlier call has it.
    pub(super) fn call_id(&mut self, logged: &str) -> ToolCallId {
        let stem = if logged.is_empty() { "oh_call" } else { logged };
        let mut id = ToolCallId::new(stem);
        let mut number = 1;
        while self.used_calls.contains(&id) {
            number += 1;
            id = ToolCallId::new(format!("{stem}_{number}"));
        }
        self.used_calls.insert(id.clone());
        self.calls.insert(logged.to_owned(), id.clone());
        id
    }
}

fn model_of(action: &Action) -> String {
    match &action.body {
        ActionBody::CallModel(call) => call.request.model.id.clone(),
        _ => String::new(),
    }
}

/// Returns the call as the model would make it in AgentX.
fn tool_call(tool_call_id: ToolCallId, call: &LoggedCall) -> ToolCall {
    let mut input = call.input.clone();
    if let (Some((agent, task)), Some(fields)) = (&call.delegate, input.as_object_mut()) {
        fields.insert("agent".into(), agent.as_str().into());
        fields.insert("input".into(), task.as_str().into());
    }
    ToolCall {
        tool_call_id,
        name: crate::tools::name_here(call),
        input,
        invalid: None,
    }
}
