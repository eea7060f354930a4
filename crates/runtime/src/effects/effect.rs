//! Connects actions and the environment: effectors perform actions, and sinks return their events.

use std::sync::Arc;

use agentx_session::FactPermit;
use agentx_types::{
    Action, ActionId, AgentConfig, AgentStateId, EnvironmentEvent, EventDraft, InnerCallAsked, LeftRunning,
    NestedDecision, RunId, SessionId, Source, ToolCallId,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::effects::call_slots::CallSlots;
use crate::effects::nested_calls::{CurrentConfig, Decisions};
use crate::future::BoxFuture;

/// Performs actions of one kind on the environment.
///
/// An effector emits events through the sink. Each action that it performs emits exactly one terminal event;
/// the effector must emit nothing after it:
///
/// | action | events before the end | terminal event |
/// | --- | --- | --- |
/// | `call_model` | a stream, and `attempt_failed` for each attempt that fails; `stream_end` with `broken` is not terminal | `stream_end` with any other reason, or `error` |
/// | `condense` | `attempt_failed` if another attempt follows | `context_condensed` or `condensing_failed` |
/// | `build_context` | nothing | `context_built` |
/// | `assess_risk` | nothing | `risk_assessed` |
/// | `propose_memories` | nothing | `memories_proposed` |
/// | `call_tool` | `tool_output_chunk`, and steps | `tool_result` |
/// | `start_timer` | nothing | `timer_fired` |
/// | any other, and each that it does not perform | nothing | none: the future ends at once |
///
/// A session refuses all other events, and all after the terminal one. The exceptions: a tool may create
/// agents below the one that calls it, and direct them ([`Journal::record_for`](crate::Journal::record_for));
/// and it may report `job_ended` at any time.
///
/// When `cancel` fires, the effector stops its work within a second and still emits the terminal event; a
/// timer emits nothing.
///
/// If the future ends without a terminal event, the session records one: the model or the condenser failed
/// with `no_answer`, the context has a `problem`, the risk is unknown, or the tool failed. So an action that
/// reaches an effector of another kind is settled like any other. A timer gets no such event, because nobody
/// waits for it.
pub trait Effector: Send + Sync {
    /// Performs `action`; the future completes after the last event. See [the contract](Self).
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()>;

    /// Ends the pause before the next retry in this session.
    fn retry_now(&self, session: &SessionId) {
        let _ = session;
    }

    /// Called when this process takes over the session from another one, which may have been killed: ends the
    /// commands that the other one left running. `open` are the calls that were cut off. Called before
    /// anything is performed for the session.
    fn session_taken_over(
        &self,
        session: &SessionId,
        open: Vec<ToolCallId>,
    ) -> BoxFuture<'static, Vec<LeftRunning>> {
        let _ = (session, open);
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Called when the session is closed: ends its background commands before the future completes.
    fn session_closed(&self, session: &SessionId) -> BoxFuture<'static, ()> {
        let _ = session;
        Box::pin(std::future::ready(()))
    }
}

/// The result of a commit: the `seq` of the last event when it is in the log, or the reason why it was
/// refused.
pub type CommitResult = Result<u64, String>;

/// Events that an effector emits at once: they are committed together.
#[derive(Debug)]
pub struct FactBatch {
    /// The events, in the order in which they are committed.
    pub drafts: Vec<EventDraft<EnvironmentEvent>>,
    /// The sender that notifies the effector of the commit; dropped if the session ends first.
    pub committed: Option<oneshot::Sender<CommitResult>>,
    /// Whether the effector has already gathered related events, so that the commit need not wait for more.
    pub gathered: bool,
}

/// Carries events to the sequencer of one session, in order, under one action's id. Sending waits while the
/// sequencer's queue is full: a slow disk slows its sources, and nothing is dropped.
///
/// | | returns when |
/// | --- | --- |
/// | [`emit`](Self::emit), [`emit_all`](Self::emit_all), [`emit_gathered`](Self::emit_gathered) | it has its place in the queue |
/// | [`commit`](Self::commit) | it is in the log, or refused |
/// | [`commit_later`](Self::commit_later) | it has its place; the returned receiver tells when it is in the log |
///
/// In a session the sink passes on only the facts by which a responder may answer its action
/// ([`FactPermit`]); the others are refused at once, together with those that were emitted with them. The
/// sequencer decides whether to accept the rest. It rejects every event of a lost action, for example after
/// its reactor was detached, because the outcome is recorded without it. It also rejects every event after
/// the final one of the action, except the end of a background command. What is refused is a warning in the
/// trace of the program.
#[derive(Clone, Debug)]
pub struct EventSink {
    /// The sequencer's queue.
    queue: mpsc::Sender<FactBatch>,
    agent_state_id: AgentStateId,
    run_id: Option<RunId>,
    cause: ActionId,
    /// The facts that the responder of the action may record in a session.
    permit: FactPermit,
    /// `None` outside of a session.
    session: Option<SessionScope>,
    /// Fires when the action is lost: later events are refused.
    over: Option<CancellationToken>,
}

/// The session that an action is performed in, as its sink knows it.
#[derive(Clone, Debug)]
pub struct SessionScope {
    session_id: SessionId,
    /// The slots that the action occupies while it runs.
    slots: CallSlots,
    /// The decisions about calls that the action's tool wants to make.
    pub(crate) decisions: Decisions,
    /// The agent's present configuration, if a driver reports it.
    pub(crate) config_now: CurrentConfig,
}

impl SessionScope {
    /// An action of this session, which occupies these slots while it runs.
    pub fn new(session_id: SessionId, slots: CallSlots) -> Self {
        Self {
            session_id,
            slots,
            decisions: Decisions::default(),
            config_now: CurrentConfig::default(),
        }
    }
}

impl EventSink {
    /// A sink for the events that answer `action`, outside of a session.
    pub fn for_action(queue: mpsc::Sender<FactBatch>, action: &Action) -> Self {
        Self::of(queue, action, None)
    }

    /// A sink for the events that answer `action` in a session.
    pub fn in_session(queue: mpsc::Sender<FactBatch>, action: &Action, session: SessionScope) -> Self {
        Self::of(queue, action, Some(session))
    }

    fn of(queue: mpsc::Sender<FactBatch>, action: &Action, session: Option<SessionScope>) -> Self {
        Self {
            queue,
            agent_state_id: action.agent_state_id.clone(),
            run_id: action.run_id.clone(),
            cause: action.action_id.clone(),
            permit: FactPermit::of(action),
            session,
            over: None,
        }
    }

    /// A sink of the same action that passes nothing on after `over` has fired.
    #[must_use]
    pub(crate) fn closed_by(&self, over: CancellationToken) -> Self {
        Self {
            over: Some(over),
            ..self.clone()
        }
    }

    /// The slots that the action occupies while it runs; `None` outside of a session.
    pub fn slots(&self) -> Option<&CallSlots> {
        self.session.as_ref().map(|session| &session.slots)
    }

    /// The configuration that the action's agent has now; `None` outside of a session.
    pub(crate) fn config_now(&self) -> Option<Arc<AgentConfig>> {
        self.session.as_ref()?.config_now.get()
    }

    /// The session that its events go to; `None` outside of one.
    pub fn session_id(&self) -> Option<&SessionId> {
        self.session.as_ref().map(|session| &session.session_id)
    }

    /// The agent of the action that its events answer.
    pub fn agent(&self) -> &AgentStateId {
        &self.agent_state_id
    }

    /// The run that its events belong to.
    pub fn run(&self) -> Option<&RunId> {
        self.run_id.as_ref()
    }

    /// The action that its events answer.
    pub fn cause(&self) -> &ActionId {
        &self.cause
    }

    /// Emits `event`. Returns `false` if the session is gone, the action is lost, or its responder may not
    /// record the event.
    pub async fn emit(&self, event: impl Into<EnvironmentEvent>) -> bool {
        self.emit_all(vec![event.into()]).await
    }

    /// Emits `events` in this order; they are committed together. Returns `false` if the session is gone, the
    /// action is lost, or its responder may not record one of the events.
    pub async fn emit_all(&self, events: Vec<EnvironmentEvent>) -> bool {
        self.emit_at_once(events, false).await
    }

    /// Emits stream chunks that the caller has already batched; they are committed without further delay.
    /// Returns `false` like [`emit_all`](Self::emit_all).
    pub async fn emit_gathered(&self, events: Vec<EnvironmentEvent>) -> bool {
        self.emit_at_once(events, true).await
    }

    async fn emit_at_once(&self, events: Vec<EnvironmentEvent>, gathered: bool) -> bool {
        if events.is_empty() {
            return true;
        }
        let drafts = events.into_iter().map(|event| self.draft(event)).collect();
        let said = FactBatch {
            drafts,
            committed: None,
            gathered,
        };
        self.forward(said).await.is_some()
    }

    /// Emits `event` and waits until it is in the log. Returns its `seq`; `None` if the session is gone, the
    /// action is lost, or the event is refused.
    pub async fn commit(&self, event: impl Into<EnvironmentEvent>) -> Option<u64> {
        self.commit_draft(self.draft(event.into())).await?.ok()
    }

    /// Emits `event` in two parts: returns as soon as its place in the queue, before all later events, is
    /// fixed; the receiver yields its `seq` once it is in the log, or the reason why it was refused. `None`
    /// if the session is gone.
    pub async fn commit_later(
        &self,
        event: impl Into<EnvironmentEvent>,
    ) -> Option<oneshot::Receiver<CommitResult>> {
        let (committed, done) = oneshot::channel();
        let said = FactBatch {
            drafts: vec![self.draft(event.into())],
            committed: Some(committed),
            gathered: false,
        };
        self.forward(said).await?;
        Some(done)
    }

    /// Emits an event about another agent of the session, and waits until it is in the log. Returns the
    /// reason if it is refused; `None` if the session is gone.
    pub(crate) async fn commit_draft(&self, draft: EventDraft<EnvironmentEvent>) -> Option<CommitResult> {
        let (committed, done) = oneshot::channel();
        let said = FactBatch {
            drafts: vec![draft],
            committed: Some(committed),
            gathered: false,
        };
        self.forward(said).await?;
        done.await.ok()
    }

    /// Asks about a call that the action's tool wants to make, and waits until it is decided, for as long as
    /// a person takes. Returns `None` if the session is gone or the sink has no session. If the run is being
    /// stopped, it never returns; the action is then cancelled.
    pub async fn ask(&self, asked: InnerCallAsked) -> Option<NestedDecision> {
        let decided = self.session.as_ref()?.decisions.wait(&asked.tool_call_id);
        self.commit(asked).await?;
        decided.await.ok()
    }

    /// Adds a batch to the queue. If the responder may not record one of its events, the batch is refused:
    /// the waiter for its commit gets the reason. `None` if nobody waits for a refused batch, the action is
    /// lost or the session is gone.
    async fn forward(&self, said: FactBatch) -> Option<()> {
        if self.over.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return None;
        }
        let Err(why) = self.check(&said) else {
            return self.queue.send(said).await.ok();
        };
        tracing::warn!(session = ?self.session_id(), action = %self.cause, why, "refused events of a responder");
        // Ignore the error: the receiver is gone.
        let _ = said.committed?.send(Err(why));
        Some(())
    }

    /// Checks that the responder may record these events. A sink outside of a session records nothing, so it
    /// passes on everything.
    fn check(&self, said: &FactBatch) -> Result<(), String> {
        if self.session.is_none() {
            return Ok(());
        }
        said.drafts.iter().try_for_each(|draft| self.permit.check(draft))
    }

    /// The event with the context of this sink.
    fn draft(&self, event: EnvironmentEvent) -> EventDraft<EnvironmentEvent> {
        EventDraft {
            source: Source::Environment,
            agent_state_id: Some(self.agent_state_id.clone()),
            run_id: self.run_id.clone(),
            cause: Some(self.cause.clone()),
            event,
        }
    }
}
