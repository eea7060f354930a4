//! A handle to an agent: its session, and the runtime that writes the session.

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Reactor, ReactorId, Restart};
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{
    ApprovalInput, Delivery, OpenRequest, PendingApproval, Runtime, RuntimeError, Session, SessionState,
    SystemBus, UserInput, View,
};
use agentx_types::{AgentStateId, ApprovalDecision, InputMode, SessionId, ToolCallId};

use crate::error::AgentError;
use crate::tool::AskValues;

/// A handle to an agent. Clones refer to the same agent.
///
/// Dropping the last clone leaves the session [as it is](AgentHandle::suspend); [`AgentHandle::close`] stops
/// the current work first.
#[derive(Clone)]
pub struct AgentHandle {
    inner: Arc<HandleInner>,
}

struct HandleInner {
    session: Arc<dyn Session>,
    runtime: Arc<dyn Runtime>,
    /// The runtime, if this agent owns it.
    own: Option<Arc<NodeRuntime>>,
    asks: Arc<AskValues>,
}

impl Drop for HandleInner {
    fn drop(&mut self) {
        let session = self.session.clone();
        // Without a tokio runtime the process is about to end, which has the same effect.
        if let Ok(tokio) = tokio::runtime::Handle::try_current() {
            tokio.spawn(async move {
                session.suspend().await;
            });
        }
    }
}

impl AgentHandle {
    pub(crate) fn new(
        session: Arc<dyn Session>,
        (runtime, own): (Arc<dyn Runtime>, Option<Arc<NodeRuntime>>),
        asks: Arc<AskValues>,
    ) -> Self {
        Self {
            inner: Arc::new(HandleInner {
                session,
                runtime,
                own,
                asks,
            }),
        }
    }

    /// The session's id, by which another process [resumes](crate::AgentBuilder::resume) it.
    pub fn id(&self) -> &SessionId {
        self.inner.session.id()
    }

    /// Returns the session, for functions that the handle does not have.
    pub fn session(&self) -> &Arc<dyn Session> {
        &self.inner.session
    }

    /// Returns the id of the session's first agent, the one that gets the inputs, for functions that need an
    /// agent, such as [its own output](agentx_runtime::AgentView::events).
    ///
    /// # Errors
    /// Returns an error if the session cannot be read.
    pub async fn root(&self) -> Result<AgentStateId, AgentError> {
        let mut facts = self.inner.session.subscribe(0, View::Environment).await?;
        while let Some(delivery) = facts.next().await {
            if let Delivery::Environment(fact) = delivery
                && let Some(agent) = &fact.agent_state_id
            {
                return Ok(agent.clone());
            }
        }
        Err(AgentError::Runtime(RuntimeError::Gone {
            session: self.id().clone(),
            why: "it has no agent".to_owned(),
        }))
    }

    /// The runtime that has the session: its log, its list of sessions, its models.
    pub fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.inner.runtime
    }

    /// Attaches a reactor to the agent's runtime: it gets committed events, and serves tools or models. An
    /// agent with [all tools](crate::AgentBuilder::all_tools) gets its tools between two runs. A reactor that
    /// fails is not restarted.
    ///
    /// # Errors
    /// Returns an error if the reactor cannot start, or if the runtime is not the agent's own: attach it
    /// there.
    pub async fn attach(&self, reactor: impl Reactor<SystemBus>) -> Result<ReactorId, AgentError> {
        let own = self.inner.own.as_ref().ok_or_else(|| {
            AgentError::Setup("attach reactors to the agent's runtime, not here".to_owned())
        })?;
        let attached = own.attach(reactor, Restart::Never).await;
        attached.map_err(|failed| AgentError::Setup(failed.to_string()))
    }

    /// Stops a reactor. It completes its requests, and is dropped if that takes longer than `within`. Returns
    /// whether it was attached.
    pub async fn detach(&self, reactor: ReactorId, within: Duration) -> bool {
        match &self.inner.own {
            Some(own) => own.detach(reactor, within).await,
            None => false,
        }
    }

    /// Sends `text` into the current run: the model reads it before its next answer. If nothing is in
    /// progress, it is an ordinary input. Returns its `seq`.
    ///
    /// # Errors
    /// Returns an error if it cannot be committed.
    pub async fn steer(&self, text: impl Into<String>) -> Result<u64, AgentError> {
        Ok(self.say(text.into(), InputMode::Steer).await?)
    }

    async fn say(&self, text: String, mode: InputMode) -> Result<u64, RuntimeError> {
        self.send(UserInput::text(text).mode(mode)).await
    }

    pub(crate) async fn send(&self, input: UserInput) -> Result<u64, RuntimeError> {
        self.inner.session.send(input).await
    }

    /// Checks that the values of an ask reach the tools, which they do only in this process.
    ///
    /// # Errors
    /// Returns an error with the remedy if the agent is on another runtime.
    pub(crate) fn takes_values(&self) -> Result<(), AgentError> {
        match self.inner.own {
            Some(_) => Ok(()),
            None => Err(AgentError::Setup(
                "`.with(value)` cannot be combined with `.remote(..)` and `.runtime(..)`: the agent's tools \
                 run elsewhere and do not get the value. Put it into the message, or give it to the tools \
                 there"
                    .to_owned(),
            )),
        }
    }

    pub(crate) fn asks(&self) -> &Arc<AskValues> {
        &self.inner.asks
    }

    /// Stops the current run: the model, tools, and the agents that this one created. The session continues.
    ///
    /// # Errors
    /// Returns an error if it cannot be committed.
    pub async fn interrupt(&self) -> Result<(), AgentError> {
        self.inner.session.interrupt(None).await?;
        Ok(())
    }

    /// The state of the session.
    ///
    /// # Errors
    /// Returns an error if the session has ended.
    pub async fn state(&self) -> Result<SessionState, AgentError> {
        Ok(self.inner.session.state().await?)
    }

    /// The calls that wait for a decision.
    ///
    /// # Errors
    /// Returns an error if the session has ended.
    pub async fn pending(&self) -> Result<Vec<PendingApproval>, AgentError> {
        Ok(self.state().await?.pending_approvals)
    }

    /// Approves a call once.
    ///
    /// # Errors
    /// Returns an error if no decision about it is awaited.
    pub async fn approve(&self, call: &ToolCallId) -> Result<(), AgentError> {
        self.decide(call, ApprovalDecision::Once, None).await
    }

    /// Refuses a call; the model reads why.
    ///
    /// # Errors
    /// Returns an error if no decision about it is awaited.
    pub async fn deny(&self, call: &ToolCallId, why: impl Into<String>) -> Result<(), AgentError> {
        self.decide(call, ApprovalDecision::Deny, Some(why.into())).await
    }

    async fn decide(
        &self,
        call: &ToolCallId,
        decision: ApprovalDecision,
        note: Option<String>,
    ) -> Result<(), AgentError> {
        let decision = ApprovalInput::new(call.clone(), decision).note(note);
        self.inner.session.approve(decision).await?;
        Ok(())
    }

    /// The `seq` of the last event: a point to [fork at](AgentHandle::fork_at).
    ///
    /// # Errors
    /// Returns an error if the session has ended.
    pub async fn seq(&self) -> Result<u64, AgentError> {
        Ok(self.state().await?.last_seq)
    }

    /// Creates another session that begins with all of this one. Both continue independently.
    ///
    /// # Errors
    /// Returns an error if the log refuses it.
    pub async fn fork(&self) -> Result<Self, AgentError> {
        self.branch(None).await
    }

    /// Creates another session that begins with this one up to the event `seq`. Work in progress at that
    /// event is not continued.
    ///
    /// # Errors
    /// Returns an error if the event does not exist, or the log refuses it.
    pub async fn fork_at(&self, seq: u64) -> Result<Self, AgentError> {
        self.branch(Some(seq)).await
    }

    async fn branch(&self, at: Option<u64>) -> Result<Self, AgentError> {
        let inner = &self.inner;
        let id = inner.runtime.fork(self.id(), at).await?;
        let session = inner.runtime.open(OpenRequest::Resume(id, Vec::new())).await?;
        let runtimes = (inner.runtime.clone(), inner.own.clone());
        Ok(Self::new(session, runtimes, inner.asks.clone()))
    }

    /// Leaves the session as it is, as if the process had died: resuming it continues the run in progress,
    /// and an open question stays open.
    pub async fn suspend(self) {
        self.inner.session.suspend().await;
    }

    /// Stops the current work and closes the session. Queued inputs stay queued. After the session is
    /// resumed, they begin in order with the next input.
    pub async fn close(self) {
        self.inner.session.close().await;
    }
}

impl std::fmt::Debug for AgentHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AgentHandle").field(self.id()).finish()
    }
}
