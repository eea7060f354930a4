//! The journal of one running call: it records the steps of the call, and returns those that were recorded
//! before a crash. A call that uses it can be run again from its start and does nothing twice.
//!
//! For each step that touches the world: first [`Journal::recorded`]; if the log has the outcome, the step
//! returns it and does nothing. Otherwise [`Journal::begin`], then the step, then [`Journal::end`]. A step
//! that had begun but not ended when the program died is in `recorded` without an outcome: its kind decides
//! whether it may be repeated (decision 019 in `issues/`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_agent::approval::is_outside_workspace;
use agentx_types::{
    Action, ActionBody, ActionId, AgentConfig, AgentStateId, CallModel, CallTool, CallingAgent, EffectEnded,
    EffectOutcome, EffectStarted, EnvironmentEvent, EventDraft, InnerCallAsked, ModelRequest, NestedDecision,
    RecordedEffect, RecordedEffects, RunId, ScriptValues, SessionId, Source, ToolCallId, ToolSpec,
};
use serde_json::Value;

use crate::effects::effect::{CommitResult, EventSink};
use crate::effects::nested_calls::Pauses;
use crate::tools::call_approver::{CallApprover, CallInQuestion};
use crate::tools::listener::AgentListener;
use crate::tools::step_record::{StartingStep, StepMetadata};

/// The journal of one call. Clones refer to the same journal. Outside of a session ([`Journal::discard`])
/// everything is allowed and nothing is recorded.
#[derive(Clone, Debug)]
pub struct Journal {
    /// The sink for facts of the call; `None` outside of a session.
    events: Option<EventSink>,
    tool_call_id: ToolCallId,
    /// The steps that the log has of the call, and of calls within it.
    recorded: Arc<RecordedEffects>,
    /// The agent that calls.
    caller: Arc<CallingAgent>,
    /// The values that scripts keep with the calling agent, with the changes of this call and of the calls
    /// that it made.
    kept: Arc<Mutex<Arc<ScriptValues>>>,
    /// Ears to the other agents of the session.
    listener: Option<AgentListener>,
    /// The depth of this call in others, from 1.
    depth: u32,
    /// The time for which the model's call has waited for people.
    pauses: Pauses,
    /// Whether a person agreed in advance to calls that would need a decision. It applies outside of a
    /// session, where nobody can be asked.
    allows_asked: bool,
    /// Whom calls outside of a session ask about calls that they want to make.
    approver: Option<Arc<dyn CallApprover>>,
}

impl Journal {
    /// The journal of a call, which writes its steps to `events`. `listener` hears the other agents of the
    /// session.
    pub fn of_call(events: EventSink, call: &CallTool, listener: Option<AgentListener>) -> Self {
        Self {
            events: Some(events),
            tool_call_id: call.tool_call_id.clone(),
            recorded: call.recorded.clone(),
            listener,
            ..Self::discard_for(call.caller.clone())
        }
    }

    /// A journal that keeps nothing, for calls outside of a session.
    pub fn discard() -> Self {
        Self::discard_for(Arc::default())
    }

    /// A journal that keeps nothing, for calls of this agent outside of a session.
    pub fn discard_for(caller: Arc<CallingAgent>) -> Self {
        Self {
            events: None,
            tool_call_id: ToolCallId::new(""),
            recorded: Arc::default(),
            kept: Arc::new(Mutex::new(caller.kept.clone())),
            caller,
            listener: None,
            depth: 1,
            pauses: Pauses::default(),
            allows_asked: false,
            approver: None,
        }
    }

    /// Sets whether a person agreed in advance to calls that would need a decision.
    #[must_use]
    pub fn with_answer_to_questions(self, allows_asked: bool) -> Self {
        Self { allows_asked, ..self }
    }

    /// Sets whom calls outside of a session ask about calls that they want to make.
    #[must_use]
    pub fn with_approver(self, approver: Option<Arc<dyn CallApprover>>) -> Self {
        Self { approver, ..self }
    }

    /// Asks the caller about a call that this one wants to make outside of a session; one at a time, as
    /// [`ask`](Self::ask) does. `None` if nobody can be asked.
    pub async fn ask_caller(&self, call: CallInQuestion) -> Option<NestedDecision> {
        let approver = self.approver.as_ref()?;
        let _turn = self.pauses.turn().await;
        let _pause = self.pauses.begin();
        let config = self.config_now();
        let is_outside = |config: &Arc<AgentConfig>| is_outside_workspace(config, &call.tool, &call.input);
        let outside_workspace = config.as_ref().is_some_and(is_outside);
        let refused = format!(
            "{} is refused: {}, and the caller did not allow it",
            call.tool.name, call.reason
        );
        Some(if approver.approve(call).await {
            NestedDecision::Allowed {
                outside_workspace,
                answer: None,
            }
        } else {
            NestedDecision::Refused { reason: refused }
        })
    }

    /// Returns whether calls that would need a decision may be made although nobody can be asked.
    pub fn allows_asked(&self) -> bool {
        self.allows_asked
    }

    /// The journal of the nested call that step `step` of this one makes. The current rules apply to it.
    #[must_use]
    pub fn inner(&self, step: u64) -> Self {
        let tool_call_id = self.tool_call_id.inner(step);
        let mut recorded = self
            .recorded
            .inner
            .get(&tool_call_id)
            .cloned()
            .unwrap_or_default();
        let deeper = self
            .recorded
            .inner
            .iter()
            .filter(|(id, _)| id.is_inside(&tool_call_id));
        let deeper: BTreeMap<_, _> = deeper
            .map(|(id, recorded)| (id.clone(), recorded.clone()))
            .collect();
        if !deeper.is_empty() {
            Arc::make_mut(&mut recorded).inner = deeper;
        }
        Self {
            events: self.events.clone(),
            tool_call_id,
            recorded,
            caller: self.caller_now(),
            kept: self.kept.clone(),
            listener: self.listener.clone(),
            depth: self.depth.saturating_add(1),
            pauses: self.pauses.clone(),
            allows_asked: self.allows_asked,
            approver: self.approver.clone(),
        }
    }

    /// Returns the journal for a call of `tool`, even if the agent does not offer `tool`: path rules look its
    /// spec up among the agent's tools.
    #[must_use]
    pub fn calling(mut self, tool: &ToolSpec) -> Self {
        let Some(config) = self.caller.config.as_deref() else {
            return self;
        };
        if config.tools.iter().any(|known| known.name == tool.name) {
            return self;
        }
        let mut config = config.clone();
        config.tools = config.tools.iter().chain([tool]).cloned().collect();
        self.caller = Arc::new(CallingAgent {
            config: Some(Arc::new(config)),
            ..(*self.caller).clone()
        });
        self
    }

    /// The id of the call.
    pub fn tool_call_id(&self) -> &ToolCallId {
        &self.tool_call_id
    }

    /// The id of the calling agent, which distinguishes the agents of a session; `None` in a journal that
    /// keeps nothing.
    pub fn agent_state_id(&self) -> Option<&AgentStateId> {
        self.events.as_ref().map(EventSink::agent)
    }

    /// The agent that calls, as it was when the call began.
    pub fn caller(&self) -> &CallingAgent {
        &self.caller
    }

    /// The configuration that the agent has now: rules may have changed since the model's call began.
    pub fn config_now(&self) -> Option<Arc<AgentConfig>> {
        let now = self.events.as_ref().and_then(EventSink::config_now);
        now.or_else(|| self.caller.config.clone())
    }

    /// The agent that calls, with the configuration that it has now. Nobody decided about the calls inside.
    fn caller_now(&self) -> Arc<CallingAgent> {
        match self.config_now() {
            Some(config) => Arc::new(CallingAgent {
                config: Some(config),
                approved: false,
                ..(*self.caller).clone()
            }),
            None => self.caller.clone(),
        }
    }

    /// Returns the values that scripts keep with the calling agent: as they were when a model's call began,
    /// with the later changes of that call and of the calls that it made.
    pub fn kept(&self) -> Arc<ScriptValues> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the time for which the model's call has waited for people.
    pub fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    /// Asks about a call that this one wants to make: records the question and waits for a person's decision.
    /// Only one of all calls that a call of the model wants to make is asked about at a time. `None` if the
    /// session is gone, or there is none.
    pub async fn ask(&self, asked: InnerCallAsked) -> Option<NestedDecision> {
        let events = self.events.as_ref()?;
        let _turn = self.pauses.turn().await;
        let _pause = self.pauses.begin();
        events.ask(asked).await
    }

    /// Applies a step of this call to the kept values: see [`ScriptValues::note`]. Recorded steps are applied
    /// already.
    pub fn keep(&self, kind: &str, input: &Value) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut kept).note(kind, input);
    }

    /// Ears to the other agents of the session; `None` outside of one.
    pub fn listener(&self) -> Option<&AgentListener> {
        self.listener.as_ref()
    }

    /// Returns the depth of calls inside each other: 1 for one that a model makes.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the record of a step. Steps are counted from 0 in the order in which the call begins them.
    pub fn recorded(&self, step: u64) -> Option<&RecordedEffect> {
        self.recorded.steps.get(&step)
    }

    /// All events in the log.
    pub fn all(&self) -> &RecordedEffects {
        &self.recorded
    }

    /// The agent that the call belongs to; `None` outside of a session.
    pub fn agent(&self) -> Option<&AgentStateId> {
        self.events.as_ref().map(EventSink::agent)
    }

    /// The action with which a step of the call asks a model.
    pub fn model_call(&self, request: Arc<ModelRequest>) -> Arc<Action> {
        Arc::new(Action {
            action_id: ActionId::with_suffix(&self.tool_call_id),
            agent_state_id: self.agent().cloned().unwrap_or_else(|| AgentStateId::new("")),
            run_id: None,
            body: ActionBody::CallModel(CallModel {
                request,
                taken: Arc::default(),
            }),
        })
    }

    /// The run that the call belongs to; `None` outside of a session.
    pub fn run(&self) -> Option<&RunId> {
        self.events.as_ref()?.run()
    }

    /// The session that the call belongs to; `None` outside of one.
    pub fn session(&self) -> Option<&SessionId> {
        self.events.as_ref()?.session_id()
    }

    /// Records the beginning of a step that touches the world, and returns when that is in the log; the step
    /// must not begin before. Returns `false` if the session is gone and nothing may be done any more.
    pub async fn begin(&self, step: u64, kind: &str, input: Value) -> bool {
        match self.begin_later(step, kind, input).await {
            Some(begun) => begun.committed().await,
            None => false,
        }
    }

    /// Records the beginning of a step that touches the world, in two parts: returns when the record is
    /// queued before all later events. The step must not begin before [`StartingStep::committed`]. `None` if
    /// the session is gone.
    pub async fn begin_later(&self, step: u64, kind: &str, input: Value) -> Option<StartingStep> {
        let started = EffectStarted {
            tool_call_id: self.tool_call_id.clone(),
            step,
            kind: kind.to_owned(),
            input,
        };
        match &self.events {
            Some(events) => events
                .commit_later(started)
                .await
                .map(|at| StartingStep(Some(at))),
            None => Some(StartingStep(None)),
        }
    }

    /// Records the end of a step. `input` is the input of the step if [`Self::begin`] did not record it. The
    /// record is in the log before anything that the call begins later. Returns `false` if the session is
    /// gone.
    pub async fn end(
        &self,
        step: u64,
        kind: &str,
        input: Option<Value>,
        outcome: EffectOutcome,
        also: StepMetadata,
    ) -> bool {
        let ended = EffectEnded {
            tool_call_id: self.tool_call_id.clone(),
            step,
            kind: kind.to_owned(),
            input: input.map(Box::new),
            outcome: Box::new(outcome),
            bill: also.bill.map(Box::new),
            details: also.details.map(Box::new),
        };
        match &self.events {
            Some(events) => events.emit(ended).await,
            None => true,
        }
    }

    /// Records the end of a step, and returns when that is in the log, so that nothing that follows can
    /// happen before. Returns `false` if the session is gone.
    pub async fn end_committed(&self, step: u64, kind: &str, outcome: EffectOutcome) -> bool {
        let ended = EffectEnded {
            tool_call_id: self.tool_call_id.clone(),
            step,
            kind: kind.to_owned(),
            input: None,
            outcome: Box::new(outcome),
            bill: None,
            details: None,
        };
        match &self.events {
            Some(events) => events.commit(ended).await.is_some(),
            None => true,
        }
    }

    /// Records a fact about another agent of the session, with this call as its cause: that it comes into
    /// being, an input for it, that it is to stop. Returns its `seq` when it is in the log, or why the
    /// session does not take it; `None` if the session is gone or there is none.
    pub async fn record_for(
        &self,
        to: &AgentStateId,
        event: impl Into<EnvironmentEvent>,
    ) -> Option<CommitResult> {
        let events = self.events.as_ref()?;
        let mut draft = EventDraft::<EnvironmentEvent>::new(Source::Agent, Some(to.clone()), event);
        draft.cause = Some(events.cause().clone());
        events.commit_draft(draft).await
    }
}
