//! Makes the facts of a session: it drives the fold of sessions with the steps of a log. The fold asks for a
//! model call, and the next answer of the log is its outcome; it asks for a tool, and the observation is its
//! outcome. So the facts are those that a live session would have recorded, and the fold accepts them.
//!
//! Two things are held back until the next step is known. The last outcome of a round is, because with it the
//! fold asks the model again, and an input that the log has before that answer has to come first. Inputs
//! without a run are, because the log may have several before the answer, and each alone would open a run.

use std::collections::{BTreeMap, BTreeSet};

use agentx_session::{SessionFold, consequence};
use agentx_types::{
    Action, ActionBody, AgentStateId, CommandRan, ContentPart, ContextCondensed, Envelope, EnvironmentEvent,
    ErrorOccurred, EventDraft, InputMode, InterruptRequested, MessageId, SessionTitled, Source, StopReason,
    StreamEnd, StreamStart, TextChunk, ThinkingChunk, Timestamp, ToolCall, ToolCallId, ToolResult,
    ToolStatus, UsageReport, UserMessage,
};
use serde_json::{Value, json};

use crate::item::{Answer, Call, Item, Outcome, Step};
use crate::report::ImportReport;

/// The input of a run whose log has none.
const GOES_ON: &str = "[The log continues here without an input.]";
/// The input of the first run of such a log.
const BEGINS: &str = "[The log begins without an input.]";
/// The result of a call whose log has none.
const NO_OUTCOME: &str = "[The log has no observation of this call.]";

/// An input that waits for its place.
struct Waiting {
    content: Vec<ContentPart>,
    source: Source,
    events: Vec<String>,
    at: Timestamp,
}

/// A call that the fold has handed to its tool.
struct OpenCall {
    action: Action,
    /// For a call that ends the run: the text of its result.
    ends: Option<String>,
}

/// Records the facts of one session.
pub(crate) struct Recorder<'a> {
    fold: SessionFold,
    facts: Vec<Envelope<EnvironmentEvent>>,
    report: &'a mut ImportReport,
    /// The agents that work, each for the one before it.
    agents: Vec<AgentStateId>,
    /// The model call that each agent waits for.
    model_calls: BTreeMap<AgentStateId, Action>,
    /// Calls without an outcome, in their order.
    open: Vec<(ToolCallId, OpenCall)>,
    /// The session's id of each call, by its id in the log: logs use ids again.
    calls: BTreeMap<String, ToolCallId>,
    /// Calls that gave work to a child, by the child.
    delegated: BTreeMap<AgentStateId, ToolCallId>,
    used_calls: BTreeSet<ToolCallId>,
    used_messages: BTreeSet<MessageId>,
    /// The last outcome of a round, until the next step is known.
    held: Option<(Outcome, ToolCallId, Timestamp, Vec<String>)>,
    inputs: Vec<Waiting>,
    stop: Option<(String, Source)>,
    /// The first and the last fact of each event of the log.
    seqs: BTreeMap<String, (u64, u64)>,
    at: Timestamp,
    /// The events of the log that the next facts are made of.
    events: Vec<String>,
}

impl<'a> Recorder<'a> {
    /// Opens the session with its first fact.
    pub(crate) fn open(
        fold: SessionFold,
        opened: EventDraft<EnvironmentEvent>,
        at: Timestamp,
        report: &'a mut ImportReport,
    ) -> Self {
        let root = opened.agent_state_id.clone();
        let mut recorder = Self {
            fold,
            facts: Vec::new(),
            report,
            agents: root.into_iter().collect(),
            model_calls: BTreeMap::new(),
            open: Vec::new(),
            calls: BTreeMap::new(),
            delegated: BTreeMap::new(),
            used_calls: BTreeSet::new(),
            used_messages: BTreeSet::new(),
            held: None,
            inputs: Vec::new(),
            stop: None,
            seqs: BTreeMap::new(),
            at,
            events: Vec::new(),
        };
        recorder.record(opened);
        recorder
    }

    /// Records the title of the session.
    pub(crate) fn title(&mut self, title: &str) {
        let title = title.to_owned();
        self.record(EventDraft::new(
            Source::System,
            None,
            SessionTitled { title, by: None },
        ));
    }

    /// Records the next step of the log.
    pub(crate) fn item(&mut self, item: Item) {
        self.at = self.at.max(item.at.unwrap_or(self.at));
        self.events = item.events;
        match item.step {
            Step::Input { content, source } => {
                let events = std::mem::take(&mut self.events);
                self.inputs.push(Waiting {
                    content,
                    source,
                    events,
                    at: self.at,
                });
            }
            Step::Answer(answer) => self.answer(answer),
            Step::Outcome(outcome) => self.outcome(outcome),
            Step::Command { command, output, how } => {
                let ran = CommandRan {
                    command,
                    output,
                    how,
                    by: None,
                };
                self.record_for_agent(Source::User, ran);
            }
            Step::Condensed { forgotten, summary } => self.condensed(&forgotten, summary),
            Step::Stop { reason, source } => self.stopped(reason, source),
            Step::Failure { code, message } => self.failure(code, message),
        }
    }

    /// Ends the log: what was held back is recorded. Returns the facts.
    pub(crate) fn finish(mut self, last: Option<EnvironmentEvent>) -> Vec<Envelope<EnvironmentEvent>> {
        self.events = Vec::new();
        if let Some((outcome, id, at, events)) = self.held.take() {
            self.steer();
            self.record_outcome(outcome, &id, at, events);
        }
        self.end_calls();
        self.halt();
        self.open_run(false);
        if let Some(last) = last {
            self.record(EventDraft::new(
                Source::System,
                self.agents.first().cloned(),
                last,
            ));
        }
        self.facts
    }

    /// The agent that works now.
    fn agent(&self) -> Option<AgentStateId> {
        self.agents.last().cloned()
    }

    /// Records a fact, and directly after it those that follow from it.
    fn record(&mut self, draft: EventDraft<EnvironmentEvent>) {
        let fact = self.fold.mint(draft, self.at);
        for id in &self.events {
            self.seqs.entry(id.clone()).or_insert((fact.seq, fact.seq)).1 = fact.seq;
        }
        let derived = self.fold.apply(&fact);
        if let EnvironmentEvent::AgentClosed(closed) = &fact.event {
            self.agents.retain(|agent| *agent != closed.agent_state_id);
        }
        self.facts.push(fact);
        for action in derived.actions {
            let follows = consequence(&action);
            self.note_action(action);
            if let Some(follows) = follows {
                self.record(follows);
            }
        }
    }

    /// Remembers what the fold waits for.
    fn note_action(&mut self, action: Action) {
        match &action.body {
            ActionBody::CallModel(_) => {
                self.model_calls.insert(action.agent_state_id.clone(), action);
            }
            ActionBody::CallTool(call) => {
                let id = call.tool_call_id.clone();
                self.open.push((id, OpenCall { action, ends: None }));
            }
            ActionBody::SpawnAgent(spawn) => {
                self.agents.push(spawn.agent_state_id.clone());
            }
            _ => {}
        }
    }

    /// Records a fact that concerns the agent that works now.
    fn record_for_agent(&mut self, source: Source, event: impl Into<EnvironmentEvent>) {
        let draft = EventDraft::new(source, self.agent(), event);
        self.record(draft);
    }

    /// Records a fact that answers an action.
    fn record_for_action(&mut self, source: Source, action: &Action, event: impl Into<EnvironmentEvent>) {
        self.record(EventDraft {
            source,
            agent_state_id: Some(action.agent_state_id.clone()),
            run_id: action.run_id.clone(),
            cause: Some(action.action_id.clone()),
            event: event.into(),
        });
    }

    /// Records an answer of the model: before it, everything that makes the fold ask for it.
    fn answer(&mut self, answer: Answer) {
        let events = std::mem::take(&mut self.events);
        self.settle();
        let Some(action) = self.agent().and_then(|agent| self.model_calls.remove(&agent)) else {
            return self.report.leave_out("answer that no model call waits for");
        };
        self.events = events;
        let message_id = self.message_id(answer.message_id, &action);
        let start = StreamStart {
            message_id,
            model: answer.model.unwrap_or_else(|| model_of(&action)),
            attempt: 1,
        };
        self.record_for_action(Source::Environment, &action, start);
        if !answer.thinking.is_empty() {
            let text = answer.thinking;
            self.record_for_action(Source::Environment, &action, ThinkingChunk { text });
        }
        if !answer.text.trim().is_empty() {
            let text = answer.text;
            self.record_for_action(Source::Environment, &action, TextChunk { text });
        }
        let calls: Vec<(ToolCallId, Call)> = answer
            .calls
            .into_iter()
            .map(|call| (self.call_id(&call.id), call))
            .collect();
        for (id, call) in &calls {
            let call = tool_call(id.clone(), call);
            self.record_for_action(Source::Environment, &action, call);
        }
        if let Some(usage) = answer.usage {
            self.record_for_action(Source::Environment, &action, UsageReport { usage });
        }
        let stop_reason = if calls.is_empty() {
            StopReason::EndTurn
        } else {
            StopReason::ToolUse
        };
        let agents = self.agents.len();
        self.record_for_action(
            Source::Environment,
            &action,
            StreamEnd {
                stop_reason,
                raw: None,
            },
        );
        for (id, call) in calls {
            if let Some((_, open)) = self.open.iter_mut().find(|(open, _)| *open == id) {
                open.ends = call.ends;
            } else if call.delegate.is_some() && self.agents.len() > agents {
                if let Some(child) = self.agent() {
                    self.delegated.insert(child, id);
                }
            }
        }
    }

    /// A provider's id of an answer, if it is new, else one of its action.
    fn message_id(&mut self, wanted: Option<String>, action: &Action) -> MessageId {
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

    /// A new id for a call: the log's own, unless an earlier call has it.
    fn call_id(&mut self, logged: &str) -> ToolCallId {
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

    /// Records the outcome of a call, or holds it back if it is the last one of its round.
    fn outcome(&mut self, outcome: Outcome) {
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

    /// The result of a call that the log does not have, or of one that has its result: an answer with such a
    /// call is added.
    fn outcome_without_call(&mut self, outcome: Outcome) {
        self.report.add("call of an observation without its action");
        let logged = format!("{}_again", outcome.call);
        let call = Call {
            id: if outcome.call.is_empty() {
                String::new()
            } else if self.calls.contains_key(&outcome.call) {
                logged
            } else {
                outcome.call.clone()
            },
            name: outcome.name.clone(),
            input: outcome.input.clone(),
            ends: None,
            delegate: None,
        };
        let events = self.events.clone();
        let id = call.id.clone();
        self.answer(Answer {
            calls: vec![call],
            ..Answer::default()
        });
        self.events = events;
        if let Some(id) = self
            .calls
            .get(&id)
            .cloned()
            .filter(|id| self.open.iter().any(|(open, _)| open == id))
        {
            self.held = Some((outcome, id, self.at, std::mem::take(&mut self.events)));
        }
    }

    /// The agent that a call gave work to has ended: what it did not answer is answered with what its parent
    /// heard. Returns whether it was such a call.
    fn delegate_ended(&mut self, call: &ToolCallId, outcome: &Outcome) -> bool {
        let Some(child) = self
            .delegated
            .iter()
            .find(|(_, made)| *made == call)
            .map(|(child, _)| child.clone())
        else {
            return false;
        };
        self.delegated.remove(&child);
        let text: String = outcome.content.iter().filter_map(ContentPart::as_text).collect();
        while self.agents.contains(&child) {
            if let Some((_, open)) = self
                .open
                .iter_mut()
                .find(|(_, open)| open.ends.as_ref().is_some_and(String::is_empty))
            {
                open.ends = Some(text.clone());
            }
            let before = self.facts.len();
            self.settle_ended();
            if self.agents.contains(&child) {
                self.report.add("answer of an agent that was given work");
                self.answer(Answer {
                    text: if text.trim().is_empty() {
                        "(no answer)".into()
                    } else {
                        text.clone()
                    },
                    ..Answer::default()
                });
            }
            if self.facts.len() == before {
                break;
            }
        }
        true
    }

    fn record_outcome(&mut self, outcome: Outcome, id: &ToolCallId, at: Timestamp, events: Vec<String>) {
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

    /// Brings the agent to the point where it waits for the model.
    fn settle(&mut self) {
        self.settle_ended();
        self.halt();
        self.open_run(true);
    }

    /// Gives every call of the agent that works its outcome.
    fn settle_ended(&mut self) {
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

    fn unknown_outcome(&mut self, id: &ToolCallId) -> Outcome {
        self.report.add("unknown outcome of a call");
        Outcome {
            call: id.to_string(),
            name: String::new(),
            input: Value::Null,
            content: vec![ContentPart::text(NO_OUTCOME)],
            status: ToolStatus::Unknown,
            details: json!({}),
        }
    }

    /// Records the results of calls that end the run and that the log has no observation of.
    fn end_calls(&mut self) {
        let agent = self.agent();
        let of_agent =
            |call: &OpenCall| call.ends.is_some() && Some(&call.action.agent_state_id) == agent.as_ref();
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
            let outcome = Outcome {
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

    /// Records waiting inputs so that they join the run in progress.
    fn steer(&mut self) {
        for input in std::mem::take(&mut self.inputs) {
            self.record_input(input, InputMode::Steer);
        }
    }

    /// Opens a run with the waiting inputs as one, if the agent waits for none. `needed`: without an input,
    /// one is added.
    fn open_run(&mut self, needed: bool) {
        let asks = self
            .agent()
            .is_some_and(|agent| self.model_calls.contains_key(&agent));
        if asks {
            return self.steer();
        }
        let mut inputs = std::mem::take(&mut self.inputs).into_iter();
        let Some(mut first) = inputs.next() else {
            if needed {
                self.report.add("input of a run without one");
                let is_first = self.used_messages.is_empty();
                let content = vec![ContentPart::text(if is_first { BEGINS } else { GOES_ON })];
                let at = self.at;
                self.record_input(
                    Waiting {
                        content,
                        source: Source::System,
                        events: Vec::new(),
                        at,
                    },
                    InputMode::Queue,
                );
            }
            return;
        };
        for next in inputs {
            // Texts of one message follow each other directly.
            first.content.push(ContentPart::text("\n\n"));
            first.content.extend(next.content);
            first.events.extend(next.events);
            if next.source == Source::User {
                first.source = Source::User;
            }
        }
        self.record_input(first, InputMode::Queue);
    }

    fn record_input(&mut self, input: Waiting, mode: InputMode) {
        let later = std::mem::replace(&mut self.events, input.events);
        self.at = self.at.max(input.at);
        let message = UserMessage {
            message_id: MessageId::with_suffix(self.fold.next_seq()),
            content: input.content,
            mode,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        self.used_messages.insert(message.message_id.clone());
        self.record_for_agent(input.source, message);
        self.events = later;
    }

    /// Stops the run, if a stop waits and there is one.
    fn halt(&mut self) {
        let Some((reason, source)) = self.stop.take() else {
            return;
        };
        if !self.fold.is_busy() {
            return self.report.leave_out("stop between two runs");
        }
        // A stop reaches the agent that people talk to, and from there those that work for it.
        let root = self.agents.first().cloned();
        let requested = InterruptRequested {
            reason: Some(reason),
            hold: false,
            by: None,
        };
        self.record(EventDraft::new(source, root, requested));
        for action in std::mem::take(&mut self.model_calls).into_values() {
            if self.fold.is_open(&action.action_id) {
                self.record_for_action(
                    Source::System,
                    &action,
                    StreamEnd {
                        stop_reason: StopReason::Interrupted,
                        raw: None,
                    },
                );
            }
        }
        for (id, call) in std::mem::take(&mut self.open) {
            let result = ToolResult {
                tool_call_id: id,
                result: vec![ContentPart::text("Stopped.")],
                is_error: true,
                status: ToolStatus::Interrupted,
                details: None,
            };
            self.record_for_action(Source::System, &call.action, result);
        }
    }

    /// Stops the run: at once, or, if calls are open, once the log has said what became of them.
    fn stopped(&mut self, reason: String, source: Source) {
        self.stop.get_or_insert((reason, source));
        let is_held = |id: &ToolCallId| self.held.as_ref().is_some_and(|(_, held, ..)| held == id);
        if self
            .open
            .iter()
            .any(|(id, call)| call.ends.is_none() && !is_held(id))
        {
            return;
        }
        let stop = self.stop.take();
        self.settle_ended();
        self.open_run(false);
        self.stop = stop;
        self.halt();
    }

    /// Ends the run with an error.
    fn failure(&mut self, code: String, message: String) {
        let events = std::mem::take(&mut self.events);
        if self.held.is_some() || !self.inputs.is_empty() {
            self.settle();
        }
        self.events = events;
        let error = ErrorOccurred {
            code: if code.is_empty() {
                "openhands_error".into()
            } else {
                code
            },
            message,
            recoverable: true,
        };
        let call = self.agent().and_then(|agent| self.model_calls.remove(&agent));
        match call {
            Some(action) => self.record_for_action(Source::Environment, &action, error),
            None => {
                let run_id = self
                    .agent()
                    .and_then(|agent| Some(self.fold.agent(&agent)?.run()?.id.clone()));
                let mut draft = EventDraft::new(Source::Environment, self.agent(), error);
                draft.run_id = run_id;
                self.record(draft);
                self.settle_ended();
            }
        }
    }

    /// Replaces a part of the conversation by its summary.
    fn condensed(&mut self, forgotten: &[String], summary: String) {
        let ranges: Vec<(u64, u64)> = forgotten
            .iter()
            .filter_map(|id| self.seqs.get(id).copied())
            .collect();
        let (from, to) = (
            ranges.iter().map(|range| range.0).min(),
            ranges.iter().map(|range| range.1).max(),
        );
        let (Some(from_seq), Some(to_seq)) = (from, to) else {
            return self
                .report
                .leave_out("condensation of events that are not in the log");
        };
        let count = forgotten.len();
        let summary = if summary.trim().is_empty() {
            format!("({count} events were left out without a summary.)")
        } else {
            summary
        };
        let condensed = ContextCondensed {
            from_seq,
            to_seq,
            summary,
            kept: Vec::new(),
            bill: None,
        };
        self.record_for_agent(Source::System, condensed);
    }
}

fn model_of(action: &Action) -> String {
    match &action.body {
        ActionBody::CallModel(call) => call.request.model.id.clone(),
        _ => String::new(),
    }
}

/// The call as the model makes it here.
fn tool_call(tool_call_id: ToolCallId, call: &Call) -> ToolCall {
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
