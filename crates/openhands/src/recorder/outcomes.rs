//! Records the outcomes of calls.

use agentx_types::{ContentPart, Source, Timestamp, ToolCallId, ToolResult, ToolStatus};
use serde_json::{Value, json};

use super::{HandedCall, SessionRecorder};
use crate::item::{LoggedAnswer, LoggedCall, LoggedOutcome};

/// The result of a call for which the log has none.
const NO_OUTCOME: &str = "[The log has no observation of this call.]";

impl SessionRecorder<'_> {
    /// Records the outcome of a call, or holds it back if it is the last one of its round.
    pub(super) fn outcome(&mut self, outcome: LoggedOutcome) {
        let known = self.calls.get(&outcome.call).cloned();
        if let Some(id) = &known
            && self.delegate_ended(id, &outcome)
        {
            return;
        }
        let is_open = |id: &ToolCallId| self.open.iter().any(|(open, _)| open == id);
        let is_held = |id: &ToolCallId| self.held.as_ref().is_some_and(|(_, held, ..)| held == id);
        let Some(id) = known.filter(|id| is_open(id) && !is_held(id)) else {
            return self.outcome_without_call(outcome);
        };
        let agent = self.agent();
        let others = self
            .open
            .iter()
            .filter(|(open, call)| *open != id && Some(&call.action.agent_state_id) == agent.as_ref());
        let ends = self
            .open
            .iter()
            .any(|(open, call)| *open == id && call.ends.is_some());
        if others.count() > 0 || ends {
            let (at, events) = (self.at, std::mem::take(&mut self.events));
            self.record_outcome(outcome, &id, at, events);
        } else {
            self.held = Some((outcome, id, self.at, std::mem::take(&mut self.events)));
        }
    }

    /// Records an outcome whose call is missing or already has a result, by adding an answer with such a
    /// call.
    fn outcome_without_call(&mut self, outcome: LoggedOutcome) {
        self.report.add("call of an observation without its action");
        let logged = if self.calls.contains_key(&outcome.call) {
            format!("{}_again", outcome.call)
        } else {
            outcome.call.clone()
        };
        let call = LoggedCall {
            id: logged.clone(),
            name: outcome.name.clone(),
            input: outcome.input.clone(),
            ends: None,
            delegate: None,
        };
        let events = self.events.clone();
        self.answer(LoggedAnswer {
            calls: vec![call],
            ..LoggedAnswer::default()
        });
        self.events = events;
        let is_open = |id: &ToolCallId| self.open.iter().any(|(open, _)| open == id);
        match self.calls.get(&logged).cloned().filter(is_open) {
            Some(id) => self.held = Some((outcome, id, self.at, std::mem::take(&mut self.events))),
            None => self.report.leave_out("observation whose call could not be made"),
        }
    }

    /// If the call delegated to an agent, ends that agent. Returns whether it did.
    fn delegate_ended(&mut self, call: &ToolCallId, outcome: &LoggedOutcome) -> bool {
        let made = self.delegated.iter().find(|(_, made)| *made == call);
        let Some(child) = made.map(|(child, _)| child.clone()) else {
            return false;
        };
        self.delegated.remove(&child);
        let text: String = outcome.content.iter().filter_map(ContentPart::as_text).collect();
        let text = if text.trim().is_empty() {
            "(no answer)"
        } else {
            &text
        };
        // Agents below it end first. Each iteration ends one, or records nothing.
        while self.agents.contains(&child) {
            let before = self.facts.len();
            self.end_agent(text);
            if self.facts.len() == before {
                break;
            }
        }
        true
    }

    /// Ends the run of the current agent, with its last message, or with the answer that its parent received.
    fn end_agent(&mut self, heard: &str) {
        let agents = self.agents.len();
        for (_, call) in &mut self.open {
            call.ends = call
                .ends
                .take()
                .map(|said| if said.is_empty() { heard.to_owned() } else { said });
        }
        self.settle_ended();
        if self.agents.len() == agents {
            self.report.add("answer of an agent that was given work");
            self.answer(LoggedAnswer {
                text: heard.to_owned(),
                ..LoggedAnswer::default()
            });
        }
    }

    pub(super) fn record_outcome(
        &mut self,
        outcome: LoggedOutcome,
        id: &ToolCallId,
        at: Timestamp,
        events: Vec<String>,
    ) {
        let Some(place) = self.open.iter().position(|(open, _)| open == id) else {
            return self.report.leave_out("observation of a call that was not made");
        };
        let (_, call) = self.open.remove(place);
        let later = std::mem::replace(&mut self.events, events);
        self.at = self.at.max(at);
        let result = ToolResult {
            tool_call_id: id.clone(),
            result: outcome.content,
            is_error: outcome.status != ToolStatus::Success,
            status: outcome.status,
            details: Some(outcome.details),
        };
        self.record_for_action(Source::Environment, &call.action, result);
        self.events = later;
    }

    /// Gives every call of the working agent its outcome.
    pub(super) fn settle_ended(&mut self) {
        let held = self.held.take();
        let agent = self.agent();
        let is_held = |id: &ToolCallId| held.as_ref().is_some_and(|(_, held, ..)| held == id);
        let left: Vec<ToolCallId> = self
            .open
            .iter()
            .filter(|(id, call)| {
                Some(&call.action.agent_state_id) == agent.as_ref() && call.ends.is_none() && !is_held(id)
            })
            .map(|(id, _)| id.clone())
            .collect();
        let ends = self
            .open
            .iter()
            .any(|(_, call)| call.ends.is_some() && Some(&call.action.agent_state_id) == agent.as_ref());
        let mut outcomes: Vec<_> = left
            .into_iter()
            .map(|id| (self.unknown_outcome(&id), id, self.at, Vec::new()))
            .collect();
        outcomes.extend(held);
        let count = outcomes.len();
        for (index, (outcome, id, at, events)) in outcomes.into_iter().enumerate() {
            if index + 1 == count && !ends && self.stop.is_none() {
                self.steer();
            }
            self.record_outcome(outcome, &id, at, events);
        }
        self.end_calls();
    }

    pub(super) fn unknown_outcome(&mut self, id: &ToolCallId) -> LoggedOutcome {
        self.report.add("unknown outcome of a call");
        LoggedOutcome {
            call: id.to_string(),
            name: String::new(),
            input: Value::Null,
            content: vec![ContentPart::text(NO_OUTCOME)],
            status: ToolStatus::Unknown,
            details: json!({}),
        }
    }

    /// Records the results of run-ending calls that have no observation in the log.
    pub(super) fn end_calls(&mut self) {
        let agent = self.agent();
        let of_agent =
            |call: &HandedCall| call.ends.is_some() && Some(&call.action.agent_state_id) == agent.as_ref();
        let ending: Vec<ToolCallId> = self
            .open
            .iter()
            .filter(|(_, call)| of_agent(call))
            .map(|(id, _)| id.clone())
            .collect();
        for id in ending {
            let text = self
                .open
                .iter()
                .find(|(open, _)| *open == id)
                .and_then(|(_, call)| call.ends.clone());
            let outcome = LoggedOutcome {
                call: id.to_string(),
                name: String::new(),
                input: Value::Null,
                content: vec![ContentPart::text(text.unwrap_or_default())],
                status: ToolStatus::Success,
                details: json!({}),
            };
            self.record_outcome(outcome, &id, self.at, Vec::new());
        }
    }
}
