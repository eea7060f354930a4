//! An agent that one can talk to: its session, and the runtime that the session is written by.

use std::sync::Arc;
use std::time::Duration;

use agentx_bus::{Reactor, ReactorId, Restart};
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{
    ApprovalInput, Delivery, OpenRequest, PendingApproval, Runtime, RuntimeError, Session, SessionState,
    SystemBus, UserInput, View,
};
use agentx_types::{AgentStateId, ApprovalDecision, InputMode, RunId, SessionId, ToolCallId};

use crate::tool::AskValues;
use crate::{AgentError, Answer, Answering, Ask};

/// An agent that one can talk to. Clones refer to the same agent.
///
/// With the last clone the session is left [as it stands](AgentHandle::suspend); [`AgentHandle::close`] stops
/// what runs first.
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
        // Without a tokio runtime the process is about to end, which comes to the same.
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

    /// The session itself, for what is not here.
    pub fn session(&self) -> &Arc<dyn Session> {
        &self.inner.session
    }

    /// The session's first agent, the one that is talked to: for what names an agent, as [what it says inside
    /// its own boundary](agentx_runtime::AgentView::events).
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

    /// Attaches a reactor to the agent's runtime while it runs: it hears what is committed, and serves tools
    /// or models. Tools that it brings reach an agent with [all tools](crate::AgentBuilder::all_tools),
    /// between two runs. It is not started again when it fails.
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

    /// Stops a reactor: it ends what it has, and is dropped where that takes longer than `within`. Returns
    /// whether it was there.
    pub async fn detach(&self, reactor: ReactorId, within: Duration) -> bool {
        match &self.inner.own {
            Some(own) => own.detach(reactor, within).await,
            None => false,
        }
    }

    /// Says `text` to the agent. Nothing happens before the result is awaited, for the answer, or
    /// [streamed](Ask::stream). While the agent is busy the input waits for its turn.
    pub fn ask(&self, text: impl Into<String>) -> Ask {
        Ask::new(self.clone(), text.into())
    }

    /// Says `text` to the agent and hears what it says and does on the way.
    ///
    /// # Errors
    /// Returns an error if the input cannot be committed.
    pub async fn stream(&self, text: impl Into<String>) -> Result<Answering, AgentError> {
        self.ask(text).stream().await
    }

    /// Says `text` in the middle of the current run: the model reads it before its next answer. Where nothing
    /// is in progress it is an input like any other. Returns its `seq`.
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

    /// Whether values of an ask reach tools: those that run where this handle is.
    ///
    /// # Errors
    /// Returns an error if the agent is elsewhere, with what to do.
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

    /// Stops what runs: the model, tools, and the agents that this one made. The session continues.
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

    /// The answer of the current run, or of the last one: after a decision, or in a process that continues
    /// with the session after another.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Ask`], and if no question was ever sent.
    pub async fn answer(&self) -> Result<Answer, AgentError> {
        self.follow().await?.await
    }

    /// Follows the current run, or the last one, from its beginning.
    ///
    /// # Errors
    /// Returns an error if nothing was ever asked.
    pub async fn follow(&self) -> Result<Answering, AgentError> {
        let run = self
            .state()
            .await?
            .run
            .ok_or_else(|| RuntimeError::Refused(format!("{} has no messages yet", self.id())))?;
        self.listen(run.run_id).await
    }

    /// Hears a run from its input on.
    pub(crate) async fn listen(&self, run: RunId) -> Result<Answering, AgentError> {
        let before = run.input().unwrap_or(1).saturating_sub(1);
        let events = self.inner.session.subscribe(before, View::Runtime).await?;
        Ok(Answering::new(self.clone(), run, events))
    }

    /// The `seq` of the last event: a point to [fork at](AgentHandle::fork_at).
    ///
    /// # Errors
    /// Returns an error if the session has ended.
    pub async fn seq(&self) -> Result<u64, AgentError> {
        Ok(self.state().await?.last_seq)
    }

    /// Another session that begins with all of this one. Both continue by themselves.
    ///
    /// # Errors
    /// Returns an error if the log says no.
    pub async fn fork(&self) -> Result<Self, AgentError> {
        self.branch(None).await
    }

    /// Another session that begins with this one up to the event `seq`. What was in progress there is not
    /// taken over.
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

    /// Gives the session back as it stands, as if the process had died: whoever resumes it continues with the
    /// run that was under way, and a question that was asked is still asked.
    pub async fn suspend(self) {
        self.inner.session.suspend().await;
    }

    /// Stops what runs and gives the session back. Inputs that wait begin nothing: they continue waiting, and
    /// whoever resumes the session has them begin, in order, with the next input.
    pub async fn close(self) {
        self.inner.session.close().await;
    }
}

impl std::fmt::Debug for AgentHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AgentHandle").field(self.id()).finish()
    }
}
