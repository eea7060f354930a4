//! Records the facts of a session by driving the fold of sessions with the steps of a log. When the fold asks
//! for a model call, the next answer of the log is the outcome; when it asks for a tool, the outcome is the
//! observation. So the facts are those that a live session would have recorded, and the fold accepts them.
//!
//! Two things are held back until the next step is known. The first is the last outcome of a round: it makes
//! the fold call the model again, and an input that precedes that answer in the log has to come first. The
//! second are inputs outside a run: the log may have several before the answer, and each alone would open a
//! run.
//!
//! | file | what it records |
//! | --- | --- |
//! | `answers` | answers of the model, with the calls in them |
//! | `outcomes` | what became of calls, and of agents that were given work |
//! | `runs` | inputs, stops, failures, summaries |

mod answers;
mod outcomes;
mod runs;

use std::collections::{BTreeMap, BTreeSet};

use agentx_session::{SessionFold, consequence};
use agentx_types::{
    Action, ActionBody, AgentStateId, CommandRan, ContentPart, Envelope, EnvironmentEvent, EventDraft,
    MessageId, SessionTitled, Source, Timestamp, ToolCallId,
};

use crate::item::{LogItem, LogStep, LoggedOutcome};
use crate::report::ImportReport;

/// An input that waits for its place.
struct WaitingStep {
    content: Vec<ContentPart>,
    source: Source,
    events: Vec<String>,
    at: Timestamp,
}

/// A call that the fold has passed to its tool.
struct HandedCall {
    action: Action,
    /// For a call that ends the run: its result.
    ends: Option<String>,
}

/// Records the facts of one session.
pub(crate) struct SessionRecorder<'a> {
    fold: SessionFold,
    facts: Vec<Envelope<EnvironmentEvent>>,
    report: &'a mut ImportReport,
    /// The working agents, each one started by the one before it.
    agents: Vec<AgentStateId>,
    /// The pending model call of each agent.
    model_calls: BTreeMap<AgentStateId, Action>,
    /// Calls without an outcome, in order.
    open: Vec<(ToolCallId, HandedCall)>,
    /// The session's id of each call, by its id in the log. Logs use ids more than once.
    calls: BTreeMap<String, ToolCallId>,
    /// Calls that delegated to a child, by the child.
    delegated: BTreeMap<AgentStateId, ToolCallId>,
    used_calls: BTreeSet<ToolCallId>,
    used_messages: BTreeSet<MessageId>,
    /// The last outcome of a round, until the next step is known.
    held: Option<(LoggedOutcome, ToolCallId, Timestamp, Vec<String>)>,
    inputs: Vec<WaitingStep>,
    stop: Option<(String, Source)>,
    /// The first and the last fact of each event of the log.
    seqs: BTreeMap<String, (u64, u64)>,
    at: Timestamp,
    /// The log's events from which the next facts are made.
    events: Vec<String>,
}

impl<'a> SessionRecorder<'a> {
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
    pub(crate) fn item(&mut self, item: LogItem) {
        self.at = self.at.max(item.at.unwrap_or(self.at));
        self.events = item.events;
        match item.step {
            LogStep::Input { content, source } => {
                let events = std::mem::take(&mut self.events);
                self.inputs.push(WaitingStep {
                    content,
                    source,
                    events,
                    at: self.at,
                });
            }
            LogStep::Answer(answer) => self.answer(answer),
            LogStep::Outcome(outcome) => self.outcome(outcome),
            LogStep::Command { command, output, how } => {
                let ran = CommandRan {
                    command,
                    output,
                    how,
                    by: None,
                };
                self.record_for_agent(Source::User, ran);
            }
            LogStep::Condensed { forgotten, summary } => self.condensed(&forgotten, summary),
            LogStep::Stop { reason, source } => self.stopped(reason, source),
            LogStep::Failure { code, message } => self.failure(code, message),
        }
    }

    /// Records what was held back, ends the log, and returns the facts.
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

    /// Returns the agent that is working.
    fn agent(&self) -> Option<AgentStateId> {
        self.agents.last().cloned()
    }

    /// Records a fact and, directly after it, the facts that follow from it.
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

    /// Remembers an action for which the fold expects an outcome.
    fn note_action(&mut self, action: Action) {
        match &action.body {
            ActionBody::CallModel(_) => {
                self.model_calls.insert(action.agent_state_id.clone(), action);
            }
            ActionBody::CallTool(call) => {
                let id = call.tool_call_id.clone();
                self.open.push((id, HandedCall { action, ends: None }));
            }
            ActionBody::SpawnAgent(spawn) => {
                self.agents.push(spawn.agent_state_id.clone());
            }
            _ => {}
        }
    }

    /// Records a fact about the working agent.
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
}
