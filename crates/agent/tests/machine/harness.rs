//! A session in memory: it mints `seq`, keeps the log, and turns the agent's actions into the facts with
//! which effectors would answer. Every step is taken twice: by the agent, and by a copy of it that was
//! serialized and read back.

use std::collections::BTreeSet;

use agentx_agent::{Agent, HeardBy, ReactAgent, StepContext, Transition, fixtures};
use agentx_types::*;
use serde_json::{Value, json};

pub(crate) use crate::facts::*;

/// The versions of the rules of the oldest logs, and of a session that is opened today. [`fixtures::config`]
/// has the oldest ones.
pub(crate) const OLDEST_AND_NEWEST: [u32; 2] = [0, RULES_VERSION];

/// The actions that are requested and not answered yet.
pub(crate) struct Session {
    pub(crate) agent: Agent,
    pub(crate) first: Agent,
    pub(crate) log: Vec<Envelope<Event>>,
    pub(crate) transitions: Vec<Transition>,
    /// Actions that wait to be performed by hand: model calls, tools, timers, and others while `by_hand`.
    pub(crate) open: Vec<Action>,
    pub(crate) cancelled: Vec<ActionId>,
    /// Whether answers and reports are left to the test as well.
    pub(crate) by_hand: bool,
    /// Whether a serialized and restored copy takes each step too.
    pub(crate) copies: bool,
    /// Microseconds.
    pub(crate) now: i64,
    seen: BTreeSet<ActionId>,
    /// The agent, serialized and read back before each step.
    copy: Agent,
}

impl Session {
    pub(crate) fn new(config: AgentConfig) -> Self {
        let agent = Agent::new("agt_1".into(), config);
        Self {
            first: agent.clone(),
            copy: agent.clone(),
            agent,
            log: Vec::new(),
            transitions: Vec::new(),
            open: Vec::new(),
            cancelled: Vec::new(),
            by_hand: false,
            copies: true,
            now: 1_000_000,
            seen: BTreeSet::new(),
        }
    }

    pub(crate) fn plain() -> Self {
        Self::new(fixtures::config())
    }

    pub(crate) fn with(change: impl FnOnce(&mut AgentConfig)) -> Self {
        let mut config = fixtures::config();
        change(&mut config);
        Self::new(config)
    }

    /// A session with the input "go" of a person.
    pub(crate) fn started(change: impl FnOnce(&mut AgentConfig)) -> Self {
        let mut session = Self::with(change);
        session.say("go");
        session
    }

    /// The same as [`Self::with`], under this version of the rules.
    pub(crate) fn with_rules(version: u32, change: impl FnOnce(&mut AgentConfig)) -> Self {
        Self::with(|config| {
            config.rules_version = version;
            change(config);
        })
    }

    /// The same as [`Self::started`], under this version of the rules.
    pub(crate) fn started_with_rules(version: u32, change: impl FnOnce(&mut AgentConfig)) -> Self {
        Self::started(|config| {
            config.rules_version = version;
            change(config);
        })
    }

    pub(crate) fn react(&self) -> &ReactAgent {
        self.agent.react().unwrap()
    }

    // Facts.

    /// Applies a fact and its immediate consequences.
    pub(crate) fn fact(&mut self, cause: Option<&ActionId>, run: Option<RunId>, event: impl Into<Event>) {
        let mut draft = EventDraft::<Event>::new(Source::Environment, Some("agt_1".into()), event.into());
        draft.cause = cause.cloned();
        draft.run_id = run;
        self.take(draft);
    }

    pub(crate) fn happens(&mut self, event: impl Into<Event>) {
        self.fact(None, None, event);
    }

    fn take(&mut self, draft: EventDraft<Event>) {
        let seq = self.log.len() as u64 + 1;
        self.now += 1_000;
        let fact = draft.into_envelope("ses_1".into(), seq, Timestamp(self.now));
        let transition = if self.copies {
            self.step_twice(&fact)
        } else {
            self.agent.step(&fact, &StepContext::default())
        };
        let read: Envelope<Event> = serde_json::from_str(&serde_json::to_string(&fact).unwrap()).unwrap();
        self.log.push(read);
        let actions = transition.actions.clone();
        self.transitions.push(transition);
        for action in &actions {
            assert!(
                self.seen.insert(action.action_id.clone()),
                "{} twice",
                action.action_id
            );
            if let ActionBody::CallModel(call) = &action.body {
                check_request(&call.request);
            }
        }
        actions.into_iter().for_each(|action| self.begin(action));
    }

    fn step_twice(&mut self, fact: &Envelope<Event>) -> Transition {
        let tag = fact.event.tag();
        self.copy = serde_json::from_str(&written(&self.copy)).unwrap();
        let unheard = [HeardBy::Above, HeardBy::Nobody].map(|heard_by| (heard_by, self.copy.clone()));
        let context = StepContext::default();
        let transition = self.agent.step(fact, &context);
        assert_eq!(
            self.copy.step(fact, &context),
            transition,
            "the copy's step on {tag}"
        );
        assert!(self.copy == self.agent, "the copy after {tag}");
        for (heard_by, mut agent) in unheard {
            let context = StepContext { heard_by, ..context };
            check_unheard(&agent.step(fact, &context), &transition, heard_by);
            assert!(
                agent == self.agent,
                "heard by {heard_by:?}: the state after {tag}"
            );
        }
        transition
    }

    /// Records the immediate fact of an action, as a driver does.
    fn begin(&mut self, action: Action) {
        let started = |tool_call_id| ActionStarted {
            kind: action.body.kind(),
            tool_call_id,
            due_at: None,
        };
        match &action.body {
            ActionBody::Cancel(cancel) => {
                self.open.retain(|open| {
                    open.action_id != cancel.action_id || !matches!(open.body, ActionBody::StartTimer(_))
                });
                self.cancelled.push(cancel.action_id.clone());
                return;
            }
            ActionBody::AnswerCall(_) | ActionBody::Report(_) | ActionBody::CheckAnswer(_)
                if !self.by_hand =>
            {
                return self.perform(&action);
            }
            _ if self.by_hand => {}
            ActionBody::CallTool(call) => {
                let event = started(Some(call.tool_call_id.clone()));
                self.fact(Some(&action.action_id), action.run_id.clone(), event);
            }
            ActionBody::StartTimer(timer) => {
                let wait = timer.wait.as_ref();
                let event = ActionStarted {
                    kind: action.body.kind(),
                    tool_call_id: wait.map(|wait| wait.tool_call_id.clone()),
                    due_at: wait.map(|wait| wait.due_at),
                };
                self.fact(Some(&action.action_id), action.run_id.clone(), event);
            }
            _ => self.fact(Some(&action.action_id), action.run_id.clone(), started(None)),
        }
        self.open.push(action);
    }

    /// The whole outcome of an action that touches nothing outside.
    pub(crate) fn perform(&mut self, action: &Action) {
        let event: Event = match &action.body {
            ActionBody::AnswerCall(answer) => ToolResult {
                tool_call_id: answer.tool_call_id.clone(),
                result: answer.content.clone(),
                is_error: answer.status != ToolStatus::Success,
                status: answer.status,
                details: None,
            }
            .into(),
            ActionBody::Report(Report::Interrupted { reason }) => Interrupted {
                reason: reason.clone(),
            }
            .into(),
            ActionBody::Report(Report::Error { code, message }) => error_event(code, message),
            ActionBody::Report(Report::Fallback(asked)) => asked.clone().into(),
            // No answer is checked against a schema here; a schema with an unknown type is unusable.
            ActionBody::CheckAnswer(check) => AnswerChecked {
                attempt: check.attempt,
                problems: match serde_json::from_str::<Value>(&check.text) {
                    Err(error) if check.answer_schema.schema["type"] == "array" => vec![error.to_string()],
                    _ => Vec::new(),
                },
                invalid_schema: check.answer_schema.schema["type"] == "nonsense",
            }
            .into(),
            other => panic!("not performed at once: {other:?}"),
        };
        self.fact(Some(&action.action_id), action.run_id.clone(), event);
    }

    // People.

    pub(crate) fn say(&mut self, text: &str) {
        self.say_as(text, InputMode::Queue);
    }

    pub(crate) fn say_as(&mut self, text: &str, mode: InputMode) {
        self.happens(UserMessage {
            message_id: MessageId::with_suffix(text),
            content: vec![ContentPart::text(text)],
            mode,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        });
    }

    pub(crate) fn interrupt(&mut self) {
        self.happens(InterruptRequested {
            reason: None,
            hold: false,
            by: None,
        });
    }

    /// The program is about to leave.
    pub(crate) fn halt(&mut self) {
        self.happens(InterruptRequested {
            reason: None,
            hold: true,
            by: None,
        });
    }

    pub(crate) fn decide(&mut self, id: &str, decision: ApprovalDecision) {
        self.happens(Approval {
            tool_call_id: id.into(),
            decision,
            note: None,
            rule: None,
            by: None,
            limited: false,
        });
    }

    pub(crate) fn change(&mut self, change: ConfigChange) {
        self.happens(ConfigChanged { change, by: None });
    }

    // The model.

    /// The open model call, which is at most one.
    pub(crate) fn asked(&self) -> Option<Action> {
        let is_call = |action: &&Action| matches!(action.body, ActionBody::CallModel(_));
        let calls: Vec<&Action> = self.open.iter().filter(is_call).collect();
        assert!(calls.len() <= 1, "two open model calls");
        calls.first().map(|action| (*action).clone())
    }

    pub(crate) fn request(&self) -> std::sync::Arc<ModelRequest> {
        match self.asked().expect("a model call is open").body {
            ActionBody::CallModel(call) => call.request,
            _ => unreachable!("asked() gives model calls"),
        }
    }

    /// Events of the open model call.
    pub(crate) fn model(&mut self, events: Vec<Event>) {
        let action = self.asked().expect("a model call is open");
        for event in events {
            let last = match &event {
                Event::StreamEnd(end) => end.stop_reason != StopReason::Broken,
                Event::ErrorOccurred(_) => true,
                _ => false,
            };
            if last {
                self.open.retain(|open| open.action_id != action.action_id);
            }
            self.fact(Some(&action.action_id), action.run_id.clone(), event);
        }
    }

    /// A complete answer of words.
    pub(crate) fn answer(&mut self, text: &str) {
        self.model(stream([words(text)], StopReason::EndTurn));
    }

    /// A complete answer of calls.
    pub(crate) fn calls(&mut self, calls: &[(&str, &str, Value)]) {
        let calls = calls
            .iter()
            .map(|(id, name, input)| call(id, name, input.clone()));
        self.model(stream(calls, StopReason::ToolUse));
    }

    /// An answer with one call of `look` inside the workspace.
    pub(crate) fn looks(&mut self, id: &str) {
        self.calls(&[(id, "look", json!({"path": "a"}))]);
    }

    // Tools.

    pub(crate) fn running(&self) -> Vec<Action> {
        let is_tool = |action: &&Action| matches!(action.body, ActionBody::CallTool(_));
        self.open.iter().filter(is_tool).cloned().collect()
    }

    pub(crate) fn running_ids(&self) -> Vec<String> {
        self.running()
            .iter()
            .map(|action| call_id(action).to_string())
            .collect()
    }

    /// The tool that performs this call ends.
    pub(crate) fn result(&mut self, id: &str, text: &str) {
        self.ends(id, text, ToolStatus::Success);
    }

    pub(crate) fn ends(&mut self, id: &str, text: &str, status: ToolStatus) {
        let action = self
            .running()
            .into_iter()
            .find(|action| call_id(action).as_str() == id);
        let action = action.unwrap_or_else(|| panic!("{id} does not run, but {:?}", self.running_ids()));
        self.open.retain(|open| open.action_id != action.action_id);
        self.fact(
            Some(&action.action_id),
            action.run_id,
            result_event(id, text, status),
        );
    }

    /// Lets the timer fire after this many more milliseconds.
    pub(crate) fn time_passes(&mut self, millis: i64) {
        self.now += millis * 1_000;
    }

    pub(crate) fn timers(&self) -> Vec<(ActionId, u64)> {
        let timer = |action: &Action| match &action.body {
            ActionBody::StartTimer(timer) => Some((action.action_id.clone(), timer.after_ms)),
            _ => None,
        };
        self.open.iter().filter_map(timer).collect()
    }

    pub(crate) fn timer_fires(&mut self) {
        let (id, after_ms) = self.timers().pop().expect("a timer is set");
        self.open.retain(|open| open.action_id != id);
        self.time_passes(after_ms as i64);
        self.fact(
            Some(&id),
            None,
            TimerFired {
                timer: Timer::RunLimit,
            },
        );
    }

    /// The process dies, and another one continues.
    pub(crate) fn restart(&mut self) {
        self.restart_with(Vec::new());
    }

    /// Another process takes over, and tells the recorded output of the calls that were cut off.
    pub(crate) fn restart_with(&mut self, cut_off: Vec<CutOffOutput>) {
        self.open.clear();
        self.happens(WriterAttached {
            epoch: 2,
            program: "test".into(),
            process: 1,
            ended: Vec::new(),
            serves: false,
            cut_off,
        });
    }

    pub(crate) fn fork(&mut self) {
        self.fork_as(true);
    }

    /// `hold` as in [`SessionForked`]; false in logs of earlier programs.
    pub(crate) fn fork_as(&mut self, hold: bool) {
        self.open.clear();
        self.happens(SessionForked {
            parent: "ses_0".into(),
            at_seq: self.log.len() as u64,
            hold,
        });
        self.restart();
    }

    // Observable results.

    pub(crate) fn status(&self) -> RunStatus {
        self.react().run().expect("a run").status
    }

    pub(crate) fn outputs(&self) -> impl Iterator<Item = &AgentOutput> {
        self.transitions.iter().flat_map(|transition| &transition.outputs)
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = &StateOutput> {
        self.outputs().filter_map(|output| match output {
            AgentOutput::State(state) => Some(state),
            _ => None,
        })
    }

    /// Returns the ends of the runs, in order, with the reason.
    pub(crate) fn ends_of_runs(&self) -> Vec<(RunStatus, Option<String>)> {
        let end = |state: &StateOutput| match state {
            StateOutput::RunFinished { status, reason, .. } => Some((*status, reason.clone())),
            _ => None,
        };
        self.states().filter_map(end).collect()
    }

    /// The whole conversation, one line per message: `user: go`, `assistant: [call c1 look]`, `tool: c1 =
    /// text`.
    pub(crate) fn conversation(&self) -> Vec<String> {
        self.react().messages().map(|message| line(message)).collect()
    }

    /// Returns the messages of the open model call, one line each.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.request()
            .messages
            .iter()
            .map(|message| line(message))
            .collect()
    }

    /// Returns the recorded reports and errors.
    pub(crate) fn reports(&self) -> Vec<&str> {
        let tags = self.log.iter().map(|fact| fact.event.tag());
        tags.filter(|tag| matches!(*tag, "interrupted" | "error"))
            .collect()
    }

    /// Replays the log with a fresh agent, and compares.
    pub(crate) fn check_replay(&self) {
        let mut agent = self.first.clone();
        for (fact, transition) in self.log.iter().zip(&self.transitions) {
            assert_eq!(
                agent.step(fact, &StepContext::default()),
                *transition,
                "replay at {} {}",
                fact.seq,
                fact.event.tag()
            );
        }
        assert_eq!(written(&agent), written(&self.agent));
        assert!(!self.copies || written(&self.copy) == written(&self.agent));
    }
}

/// Checks the rest of a step that nobody outside of the session's agents observes.
fn check_unheard(unheard: &Transition, whole: &Transition, heard_by: HeardBy) {
    let is_said = |output: &&AgentOutput| match heard_by {
        HeardBy::Everybody => true,
        HeardBy::Above => !matches!(output, AgentOutput::Stream(_)),
        HeardBy::Nobody => false,
    };
    let said = whole.outputs.iter().filter(is_said);
    assert!(
        unheard.outputs.iter().eq(said),
        "heard by {heard_by:?}: {unheard:?}"
    );
    assert_eq!(unheard.acted, whole.acted);
    assert_eq!(whole.acted.actions, whole.actions.len());
    assert!(unheard.actions.is_empty());
}

pub(crate) fn written(agent: &Agent) -> String {
    serde_json::to_string(agent).unwrap()
}
