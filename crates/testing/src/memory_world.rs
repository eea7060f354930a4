//! A runtime without a disk, a network or a clock: the driver of sessions over a log in memory and a scripted
//! model. Tests of the driver, of effectors and of reactors begin here.

use std::sync::Arc;

use agentx_runtime::{
    ActionDispatcher, Delivery, DriverParts, Effector, OpenRequest, RuntimeError, Session, SessionIds, View,
    open_session,
};
use agentx_types::{
    ActionKind, AgentConfig, EnvironmentEvent, RunStatus, RuntimeEvent, SessionId, Vocabulary as _,
};

use crate::{FaultyLog, ModelScript, ScriptedModel, SimulatedClock, fixture};

/// The parts of a session in memory. A test changes them before it opens the session.
#[derive(Clone)]
pub struct MemoryWorld {
    /// The log, with everything that was committed.
    pub log: FaultyLog,
    /// The model that performs the calls of models.
    pub model: ScriptedModel,
    /// The parts of the driver: the log, the model, a simulated clock and the tools of [`fixture::tools`].
    pub parts: DriverParts,
    /// The session that [`open`](Self::open) opens: that of every fixture.
    pub session_id: SessionId,
}

impl MemoryWorld {
    /// Creates a world with an empty log and a model with these answers.
    pub fn new(answers: impl IntoIterator<Item = ModelScript>) -> Self {
        Self::on(FaultyLog::new(), answers)
    }

    /// Creates a world with a log that another world has written: another process that continues.
    pub fn on(log: FaultyLog, answers: impl IntoIterator<Item = ModelScript>) -> Self {
        let model = ScriptedModel::new(answers);
        let actions = ActionDispatcher::new().with(ActionKind::CallModel, Arc::new(model.clone()));
        let clock = Arc::new(SimulatedClock::default());
        let parts = DriverParts {
            tools: fixture::tools().into(),
            program: "test".into(),
            ..DriverParts::new(Arc::new(log.clone()), actions, clock)
        };
        Self {
            log,
            model,
            parts,
            session_id: fixture::session_id(),
        }
    }

    /// Adds an effector that performs actions of a kind.
    pub fn with_effector(mut self, kind: ActionKind, effector: Arc<dyn Effector>) -> Self {
        self.parts.actions = self.parts.actions.with(kind, effector);
        self
    }

    /// Opens the session of this world.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`open_session`].
    pub async fn open(&self, request: OpenRequest) -> Result<Arc<dyn Session>, RuntimeError> {
        let ids = SessionIds {
            session_id: self.session_id.clone(),
            agent_state_id: fixture::agent_state_id(),
            owner: "own_test".into(),
        };
        let session = open_session(self.parts.clone(), ids, request).await?;
        Ok(session)
    }

    /// Opens the session of this world as a new one with this configuration.
    ///
    /// # Panics
    /// Panics if the session cannot be opened.
    pub async fn open_new(&self, config: AgentConfig) -> Arc<dyn Session> {
        match self.open(OpenRequest::New(Box::new(config))).await {
            Ok(session) => session,
            Err(error) => panic!("the session was not opened: {error}"),
        }
    }

    /// Returns the facts of the session, in order.
    pub fn facts(&self) -> Vec<EnvironmentEvent> {
        let facts = self.log.facts(&self.session_id);
        facts.iter().map(|fact| fact.event.clone()).collect()
    }

    /// Returns the tags of the session's facts, in order.
    pub fn tags(&self) -> Vec<String> {
        self.facts().iter().map(|fact| fact.tag().to_owned()).collect()
    }
}

/// Reads a session until a run has ended that ends after this event. Returns how it ended.
///
/// # Panics
/// Panics if the session ends first.
pub async fn run_ended(session: &dyn Session, after: u64) -> RunStatus {
    let mut events = match session.subscribe(after, View::Runtime).await {
        Ok(events) => events,
        Err(error) => panic!("the session cannot be read: {error}"),
    };
    while let Some(delivery) = events.next().await {
        if let Delivery::Runtime(event) = delivery
            && let RuntimeEvent::RunFinished(finished) = &event.event
        {
            return finished.status;
        }
    }
    panic!("the session ended first");
}
