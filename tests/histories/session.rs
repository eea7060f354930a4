//! A session in memory: facts get their `seq` and are folded, and facts that must follow at once are
//! recorded, as a driver does. Choices simulate the rest of the world.

use std::collections::{BTreeMap, VecDeque};

use agentx_agent::fixtures;
use agentx_runtime::SessionFold;
use agentx_types::*;
use serde_json::json;

/// One thing that happens: what, and two choices about it.
pub(crate) type Op = (u8, u8, u8);

type Event = EnvironmentEvent;

/// The session and the world around it.
pub(crate) struct Session {
    /// The fold of the log.
    pub(crate) fold: SessionFold,
    /// All facts.
    pub(crate) log: Vec<Envelope<Event>>,
    /// All that was derived, in order.
    pub(crate) frames: Vec<Envelope<RuntimeEvent>>,
    /// The same without envelopes.
    pub(crate) events: Vec<RuntimeEvent>,
    /// The number of times that each call of a non-repeatable tool was performed.
    pub(crate) performed: BTreeMap<ToolCallId, usize>,
    at: Timestamp,
    model: Option<ModelCall>,
    tools: Vec<(Action, bool)>,
    timers: Vec<Action>,
    calls: u32,
    epoch: u64,
}

/// A model call that is under way.
struct ModelCall {
    action: Action,
    streaming: bool,
    cancelled: bool,
    attempt: u32,
}

impl Session {
    pub(crate) fn open() -> Self {
        let mut session = Self {
            fold: SessionFold::new("ses_1".into()),
            log: vec![],
            frames: vec![],
            events: vec![],
            performed: BTreeMap::new(),
            at: Timestamp(0),
            model: None,
            tools: vec![],
            timers: vec![],
            calls: 0,
            epoch: 1,
        };
        let limits = Limits {
            max_iterations: Some(6),
            max_wall_ms: Some(60_000),
            ..Limits::default()
        };
        let config = AgentConfig {
            approval: ApprovalMode::Ask,
            limits,
            agents: Vec::new(),
            routing: None,
            ..fixtures::config()
        };
        session.say(SessionOpened {
            owner: "own_1".into(),
            config: Box::new(config),
            program: "test".into(),
        });
        session
    }

    /// A branch of a session, from where `fold` is: what is under way there is the other branch's. Its log
    /// and what is derived begin here.
    pub(crate) fn branch(fold: SessionFold, at: Timestamp) -> Self {
        let epoch = 1_000;
        let mut session = Self {
            fold,
            log: vec![],
            frames: vec![],
            events: vec![],
            performed: BTreeMap::new(),
            at,
            model: None,
            tools: vec![],
            timers: vec![],
            calls: 1_000,
            epoch,
        };
        session.die(0);
        session
    }

    /// The last events, for a failure.
    pub(crate) fn tail(&self) -> Vec<String> {
        let from = self.log.len().saturating_sub(25);
        let line = |fact: &Envelope<Event>| {
            format!(
                "{} {:?} {}",
                fact.seq,
                fact.run_id,
                serde_json::to_string(&fact.event).unwrap()
            )
        };
        self.log[from..]
            .iter()
            .map(line)
            .map(|line| line.chars().take(160).collect())
            .collect()
    }

    fn say(&mut self, event: impl Into<Event>) {
        self.commit(EventDraft::new(Source::User, Some("agt_1".into()), event));
    }

    fn answer(&mut self, action: &Action, event: impl Into<Event>) {
        let mut draft = EventDraft::new(Source::Environment, Some("agt_1".into()), event);
        draft.run_id = action.run_id.clone();
        draft.cause = Some(action.action_id.clone());
        self.commit(draft);
    }

    /// A batch: the fact, and what stands behind it at once. Actions are performed when all of it is
    /// committed.
    fn commit(&mut self, draft: EventDraft<Event>) {
        let mut queue = VecDeque::from([draft]);
        let mut perform = Vec::new();
        while let Some(draft) = queue.pop_front() {
            let fact = self.fold.mint(draft, self.at);
            let mut derived = self.fold.apply(&fact);
            self.events
                .extend(derived.events.iter().map(|frame| frame.event.clone()));
            self.frames.append(&mut derived.events);
            self.log.push(fact);
            for draft in derived.actions.iter().rev().filter_map(consequence) {
                queue.push_front(draft);
            }
            perform.append(&mut derived.actions);
        }
        perform.into_iter().for_each(|action| self.perform(action));
    }

    fn perform(&mut self, action: Action) {
        match &action.body {
            ActionBody::CallModel(_) => {
                assert!(self.model.is_none(), "two model calls at once: {:?}", self.tail());
                self.model = Some(ModelCall {
                    action,
                    streaming: false,
                    cancelled: false,
                    attempt: 1,
                });
            }
            ActionBody::CallTool(call) => {
                if !call.idempotent {
                    *self.performed.entry(call.tool_call_id.clone()).or_default() += 1;
                }
                self.tools.push((action, false));
            }
            ActionBody::StartTimer(_) => self.timers.push(action),
            ActionBody::Cancel(cancel) => {
                let is_it = |action: &Action| action.action_id == cancel.action_id;
                self.timers.retain(|action| !is_it(action));
                if let Some(model) = self.model.as_mut().filter(|model| is_it(&model.action)) {
                    model.cancelled = true;
                }
                for (_, cancelled) in self.tools.iter_mut().filter(|(action, _)| is_it(action)) {
                    *cancelled = true;
                }
            }
            ActionBody::AnswerCall(_) | ActionBody::Report(_) => {}
            of_agents => panic!("these sessions have one agent: {of_agents:?}"),
        }
    }

    /// Lets one thing happen.
    pub(crate) fn step(&mut self, (what, a, b): Op) {
        self.at.0 += i64::from(b) * 10_000;
        match what % 16 {
            0 if b >= 192 => self.revise(a, b),
            0 | 1 => self.input(a),
            2 => self.say(InterruptRequested {
                reason: None,
                hold: a.is_multiple_of(3),
                by: None,
            }),
            3..=8 => self.model_goes_on(a, b),
            9..=11 => self.tool_goes_on(a, b),
            12 => self.decide(a),
            13 => self.time_passes(a),
            14 if a == 0 && b < 128 => self.say(AgentClosed {
                agent_state_id: "agt_1".into(),
                reason: "done".into(),
            }),
            14 => self.change(a),
            _ => self.die(a),
        }
    }

    fn input(&mut self, a: u8) {
        let mode = [InputMode::Queue, InputMode::Steer, InputMode::Interrupt][usize::from(a) % 3];
        let message_id = MessageId::with_suffix(self.fold.next_seq());
        let content = vec![ContentPart::text("hello")];
        self.say(UserMessage {
            message_id,
            content,
            mode,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        });
    }

    /// Something else becomes of an input, whether it waits or not.
    fn revise(&mut self, a: u8, b: u8) {
        let waiting = self.fold.state().map(|state| state.queued).unwrap_or_default();
        let message_id = match waiting.get(usize::from(b) % waiting.len().max(1)) {
            Some((id, _)) => id.clone(),
            None => MessageId::with_suffix(u64::from(a)),
        };
        let modes = [
            None,
            Some(InputMode::Queue),
            Some(InputMode::Steer),
            Some(InputMode::Interrupt),
        ];
        let mode = modes[usize::from(a) % 4];
        self.say(InputRevised {
            message_id,
            mode,
            by: None,
        });
    }

    fn model_goes_on(&mut self, a: u8, b: u8) {
        let Some(model) = &mut self.model else { return };
        let action = model.action.clone();
        if model.cancelled && b.is_multiple_of(2) {
            return self.model_ends(&action, StopReason::Interrupted);
        }
        if !model.streaming {
            self.model_begins(&action, a);
            return;
        }
        match a % 8 {
            0 | 1 => self.answer(&action, TextChunk { text: "word ".into() }),
            2 => self.answer(
                &action,
                UsageReport {
                    usage: Usage {
                        output_tokens: 1,
                        ..Usage::default()
                    },
                },
            ),
            3 | 4 => self.model_calls(&action, b),
            5 if b.is_multiple_of(4) => {
                model.streaming = false;
                self.answer(
                    &action,
                    StreamEnd {
                        stop_reason: StopReason::Broken,
                        raw: None,
                    },
                );
            }
            5 if b % 4 == 1 => self.model_fails(&action),
            _ => {
                use StopReason as S;
                let reasons = [
                    S::EndTurn,
                    S::ToolUse,
                    S::EndTurn,
                    S::MaxTokens,
                    S::PauseTurn,
                    S::ContextWindow,
                    S::Other,
                ];
                self.model_ends(&action, reasons[usize::from(b) % reasons.len()]);
            }
        }
    }

    fn model_begins(&mut self, action: &Action, a: u8) {
        let Some(model) = &mut self.model else { return };
        let attempt = model.attempt;
        model.attempt += 1;
        model.streaming = !matches!(a % 8, 0 | 1);
        match a % 8 {
            0 => {
                let (code, message) = ("overloaded".into(), "Overloaded".into());
                self.answer(
                    action,
                    AttemptFailed {
                        attempt,
                        code,
                        message,
                        status: None,
                        retry_in_ms: Some(1),
                        gives_up_in_ms: None,
                        overflow: None,
                        refused: None,
                        longest_answer: None,
                        most_media: None,
                        no_thinking: false,
                        refused_place: None,
                    },
                );
            }
            1 => self.model_fails(action),
            _ => {
                let message_id = MessageId::new(format!("{}_{attempt}", action.action_id));
                self.answer(
                    action,
                    StreamStart {
                        message_id,
                        model: "m".into(),
                        attempt,
                    },
                );
            }
        }
    }

    fn model_calls(&mut self, action: &Action, b: u8) {
        self.calls += 1;
        let tool_call_id = ToolCallId::new(format!("c{}", self.calls));
        let name = ["look", "change", "finish", "change", "nonsense"][usize::from(b) % 5];
        if b < 200 {
            self.answer(
                action,
                ToolCallStart {
                    tool_call_id: tool_call_id.clone(),
                    name: name.into(),
                },
            );
        }
        if b < 240 {
            self.answer(
                action,
                ToolCall {
                    tool_call_id,
                    name: name.into(),
                    input: json!({"path": "a"}),
                    invalid: None,
                },
            );
        }
    }

    fn model_ends(&mut self, action: &Action, stop_reason: StopReason) {
        self.model = None;
        self.answer(
            action,
            StreamEnd {
                stop_reason,
                raw: None,
            },
        );
    }

    fn model_fails(&mut self, action: &Action) {
        self.model = None;
        let (code, message) = ("reset".into(), "connection reset".into());
        self.answer(
            action,
            ErrorOccurred {
                code,
                message,
                recoverable: true,
            },
        );
    }

    fn tool_goes_on(&mut self, a: u8, b: u8) {
        if self.tools.is_empty() {
            return;
        }
        let at = usize::from(a) % self.tools.len();
        let (action, cancelled) = self.tools[at].clone();
        let ActionBody::CallTool(call) = &action.body else {
            return;
        };
        let tool_call_id = call.tool_call_id.clone();
        if !cancelled && b.is_multiple_of(3) {
            let output = ToolOutputChunk {
                tool_call_id,
                channel: OutputChannel::Stdout,
                text: "out".into(),
            };
            return self.answer(&action, output);
        }
        self.tools.remove(at);
        let status = match (cancelled, b % 3) {
            (true, _) => ToolStatus::Interrupted,
            (false, 1) => ToolStatus::Success,
            (false, _) => ToolStatus::Failed,
        };
        let result = vec![ContentPart::text("result")];
        let is_error = status != ToolStatus::Success;
        self.answer(
            &action,
            ToolResult {
                tool_call_id,
                result,
                is_error,
                status,
                details: None,
            },
        );
    }

    fn decide(&mut self, a: u8) {
        let Some(pending) = self
            .fold
            .state()
            .and_then(|state| state.pending_approvals.into_iter().next())
        else {
            return;
        };
        let decisions = [
            ApprovalDecision::Once,
            ApprovalDecision::Deny,
            ApprovalDecision::Session,
        ];
        let decision = decisions[usize::from(a) % 3];
        self.say(Approval {
            tool_call_id: pending.tool_call_id,
            decision,
            note: None,
            rule: None,
            by: None,
            limited: false,
        });
    }

    fn time_passes(&mut self, a: u8) {
        if let Some(action) = (!self.timers.is_empty() && a.is_multiple_of(4)).then(|| self.timers.remove(0))
        {
            self.at.0 += 60_000_000;
            self.answer(
                &action,
                TimerFired {
                    timer: Timer::RunLimit,
                },
            );
        }
    }

    fn change(&mut self, a: u8) {
        let change = match a % 4 {
            0 => ConfigChange::Limits(Limits {
                max_iterations: Some(u32::from(a)),
                ..Limits::default()
            }),
            1 => ConfigChange::Approval(ApprovalMode::Auto),
            2 => ConfigChange::Approval(ApprovalMode::Ask),
            _ => ConfigChange::Tools(fixtures::config().tools),
        };
        self.say(ConfigChanged { change, by: None });
    }

    /// The process dies with all that it was performing, and another one takes over; sometimes of a fork.
    fn die(&mut self, a: u8) {
        self.model = None;
        self.tools.clear();
        self.timers.clear();
        if a.is_multiple_of(3) {
            let at_seq = self.fold.last_seq();
            self.commit(EventDraft::new(
                Source::System,
                None,
                SessionForked {
                    parent: "ses_0".into(),
                    at_seq,
                    hold: true,
                },
            ));
        }
        self.epoch += 1;
        let attached = WriterAttached {
            epoch: self.epoch,
            program: "test".into(),
            process: 1,
            ended: Vec::new(),
            serves: false,
            cut_off: Vec::new(),
        };
        self.commit(EventDraft::new(Source::System, None, attached));
    }

    /// Answers all that is open until nothing is.
    pub(crate) fn settle(&mut self) {
        for _ in 0..2_000 {
            if let Some(action) = self.model.as_ref().map(|model| model.action.clone()) {
                self.model_ends(&action, StopReason::EndTurn);
            } else if !self.tools.is_empty() {
                self.tool_goes_on(0, 1);
            } else if self.fold.is_busy() {
                self.decide(1);
            } else {
                return;
            }
        }
        panic!("it never comes to rest: {:?}", self.tail());
    }
}

/// Returns the facts that a driver records for an action at once.
fn consequence(action: &Action) -> Option<EventDraft<Event>> {
    let started = |tool_call_id| ActionStarted {
        kind: action.body.kind(),
        tool_call_id,
        due_at: None,
    };
    let event: Event = match &action.body {
        ActionBody::CallModel(_) | ActionBody::StartTimer(_) => started(None).into(),
        ActionBody::CallTool(call) => started(Some(call.tool_call_id.clone())).into(),
        ActionBody::AnswerCall(answer) => {
            let (tool_call_id, result, status) =
                (answer.tool_call_id.clone(), answer.content.clone(), answer.status);
            let is_error = status != ToolStatus::Success;
            ToolResult {
                tool_call_id,
                result,
                is_error,
                status,
                details: None,
            }
            .into()
        }
        ActionBody::Report(Report::Interrupted { reason }) => Interrupted {
            reason: reason.clone(),
        }
        .into(),
        ActionBody::Report(Report::Fallback(asked)) => asked.clone().into(),
        ActionBody::Report(Report::Error { code, message }) => ErrorOccurred {
            code: code.clone(),
            message: message.clone(),
            recoverable: true,
        }
        .into(),
        ActionBody::Cancel(_) => return None,
        of_agents => panic!("these sessions have one agent: {of_agents:?}"),
    };
    let mut draft = EventDraft::new(Source::System, Some(action.agent_state_id.clone()), event);
    draft.run_id = action.run_id.clone();
    draft.cause = Some(action.action_id.clone());
    Some(draft)
}
