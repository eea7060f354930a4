//! A session as front ends have it, and one agent of it as seen from inside.

use std::future::ready;
use std::sync::Arc;

use agentx_bus::{BusSubscription as Heard, Filter, Queue};
use agentx_session::{SessionState, View, WaitingInputs};
use agentx_types::{AgentStateId, ConfigChange, InputMode, MessageId, OwnerId, SessionId};

use super::error::RuntimeError;
use super::request_key::RequestKey;
use super::requests::{ApprovalInput, ContextRequest, Subscription, UserInput};
use crate::future::BoxFuture;
use crate::log_error::LogError;
use crate::system_events::{AgentEvent, AgentEventBus};
use agentx_session::SharingFact;

/// Maximum number of agent events that wait for a listener; beyond it the oldest is dropped and counted.
const HEARD: usize = 4_096;

/// An open session, written by this process or by a server.
pub trait Session: Send + Sync {
    /// The id of the session.
    fn id(&self) -> &SessionId;

    /// Returns the current state of the session.
    fn state(&self) -> BoxFuture<'_, Result<SessionState, RuntimeError>>;

    /// Sends an input to the agent. Returns the `seq` of the input once it is committed.
    ///
    /// # Errors
    /// Returns an error if it could not be committed.
    fn send(&self, input: UserInput) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// The `seq` of this input, if it came before by its key. A session that is not written here cannot tell.
    ///
    /// # Errors
    /// Returns the error `key_reused` if another input came with its key, and an error if the session cannot
    /// continue.
    fn sent_before<'a>(&'a self, input: &'a UserInput) -> BoxFuture<'a, Result<Option<u64>, RuntimeError>> {
        let _ = input;
        Box::pin(ready(Ok(None)))
    }

    /// Returns the inputs that wait for the agent. A session that is not written here cannot know them.
    ///
    /// # Errors
    /// Returns an error if the session cannot continue.
    fn waiting(&self) -> BoxFuture<'_, Result<WaitingInputs, RuntimeError>> {
        Box::pin(ready(Ok(WaitingInputs::default())))
    }

    /// Withdraws a waiting input, or changes its mode.
    ///
    /// # Errors
    /// Returns an error if it no longer waits, or the request could not be committed.
    fn revise(&self, input: MessageId, mode: Option<InputMode>) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Condenses the conversation, removes a summary, or pins an input.
    ///
    /// # Errors
    /// Returns an error if there is no summary to remove, or the request could not be committed.
    fn context(&self, wish: ContextRequest) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let _ = wish;
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not condense conversations",
        ))))
    }

    /// Stops the current run; the session continues.
    ///
    /// # Errors
    /// Returns an error if it could not be committed.
    fn interrupt(&self, reason: Option<String>) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Ends the pause between two attempts, for example after an overloaded model or an unreachable server.
    /// After a run that ended without an answer, begins a new run that calls the model again. Otherwise does
    /// nothing. Returns the `seq` of the request, or of the input that begins the run.
    ///
    /// # Errors
    /// Returns an error if the request could not be committed.
    fn retry(&self) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(ready(Err(RuntimeError::not_offered("does not retry on request"))))
    }

    /// Stops the current run and holds back queued inputs, for a person who is about to leave. In a session
    /// of a server it is the same as [`Session::interrupt`], because others may wait for their queued inputs.
    ///
    /// # Errors
    /// Returns an error if it could not be committed.
    fn halt(&self, reason: Option<String>) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        self.interrupt(reason)
    }

    /// Decides about a tool call.
    ///
    /// # Errors
    /// Returns an error if no decision is awaited for this call.
    fn approve(&self, decision: ApprovalInput) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Changes the agent's configuration from now on.
    ///
    /// # Errors
    /// Returns an error if it could not be committed.
    fn change(&self, change: ConfigChange) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Records the driver, or a person's role, from now on.
    ///
    /// # Errors
    /// Returns an error if it could not be committed.
    fn record_sharing(&self, note: SharingFact) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Sets the title of the session.
    ///
    /// # Errors
    /// Returns an error if it could not be committed.
    fn rename(&self, title: String) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Returns the events after `after_seq`, then live events, without gaps or duplicates.
    fn subscribe(&self, after_seq: u64, view: View) -> BoxFuture<'_, Result<Subscription, RuntimeError>>;

    /// Stops the current run, commits its last facts and releases the session, which can be opened again. A
    /// run that only waits for a time is not stopped: the next process that opens the session ends its wait.
    /// Queued inputs are held back until somebody sends an input or revises one of them.
    ///
    /// If the log accepts no more facts, running work is still stopped, but that is not recorded, and the
    /// next process that opens the session resumes it. [`Session::failure`] then returns the error.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Returns the same session for a person who does not own it: everything that they cause through it is
    /// recorded as theirs, even if a request names somebody else. `None` if the session does not distinguish
    /// people; a session that runs elsewhere leaves this to its server.
    fn as_person(&self, person: &OwnerId) -> Option<Arc<dyn Session>> {
        let _ = person;
        None
    }

    /// The same session for one request that may come twice: the first fact that is recorded through it is
    /// recorded with this key. A request whose key is known already is not carried out again, and has the
    /// answer of the first one. `None` if the session keeps no keys, as one that runs elsewhere.
    fn once(&self, key: &RequestKey) -> Option<Arc<dyn Session>> {
        let _ = key;
        None
    }

    /// The event that the request with this key became, if it was carried out ([`Session::once`]). A session
    /// that is not written here cannot tell.
    ///
    /// # Errors
    /// Returns the error `key_reused` if another request came with the key, and an error if the session
    /// cannot continue.
    fn done_before<'a>(&'a self, key: &'a RequestKey) -> BoxFuture<'a, Result<Option<u64>, RuntimeError>> {
        let _ = key;
        Box::pin(ready(Ok(None)))
    }

    /// The error of the log that ended this session; `None` while it is open, if it was closed normally, and
    /// if it runs elsewhere.
    fn failure(&self) -> Option<LogError> {
        None
    }

    /// The bus for events of its agents inside their own boundaries; `None` if it runs elsewhere.
    /// [`agent`](AgentView) gives access to one of them.
    fn agent_bus(&self) -> Option<AgentEventBus> {
        None
    }

    /// Releases the session in its current state, as a death of this process would; an open question stays
    /// open.
    fn suspend(&self) -> BoxFuture<'_, ()> {
        self.close()
    }
}

impl dyn Session {
    /// Returns a view of one agent of the session.
    pub fn agent(&self, agent: &AgentStateId) -> AgentView {
        AgentView {
            bus: self.agent_bus(),
            session: self.id().clone(),
            agent: agent.clone(),
        }
    }
}

/// A view of one agent of a session, with the events inside its boundary.
#[derive(Clone, Debug)]
pub struct AgentView {
    bus: Option<AgentEventBus>,
    session: SessionId,
    agent: AgentStateId,
}

impl AgentView {
    /// Returns the events of the agent inside its own boundary from now on: the Stream, State, Message and
    /// Turn layers, each with the `seq` of the fact that it follows from. They are published after that fact
    /// is committed. A listener that falls behind by more than 4,096 events gets the number of dropped ones;
    /// all of them can be derived again from the log.
    ///
    /// # Errors
    /// Returns an error if the session runs elsewhere (a mirror has its facts and derives the same), or if
    /// its runtime is gone.
    pub fn events(&self) -> Result<Heard<AgentEvent>, RuntimeError> {
        let elsewhere = "does not provide agent outputs: they are only available where the agent runs";
        let bus = self
            .bus
            .as_ref()
            .ok_or_else(|| RuntimeError::not_offered(elsewhere))?;
        let filter = Filter::all()
            .session(self.session.as_str())
            .agent_state(self.agent.as_str());
        let heard = bus.subscribe("inside an agent", filter, Queue::lag(HEARD));
        heard.map_err(|closed| RuntimeError::Gone {
            session: self.session.clone(),
            why: closed.to_string(),
        })
    }
}
