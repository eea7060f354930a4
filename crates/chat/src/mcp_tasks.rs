//! Agents from files as tasks of `agentx mcp serve`: a task is a session whose first input has a special key,
//! and its id is that of the session.
//!
//! All that is known of a task is in its session's log. So a server that was started again answers for it
//! too: it reads the log, and opens the session if its run is not over, which goes on then. A question waits
//! in the session until the client answers it, or a person does (`agentx resume`). Of a task that another
//! living process runs, the state is known from the log too, with its questions; only that process takes
//! answers, and stops it.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx::config::Settings;
use agentx::mcp::{
    ClientAnswer, ServedTask, ServedTaskState, TASK_TTL_MS, TASKS_AT_ONCE, is_task_key, session_decision,
    session_question, task_key,
};
use agentx::runtime::{
    BoxFuture, Clock as _, Delivery, LogError, PendingApproval, Runtime, RuntimeError, Session, SessionFold,
    SessionInfo, SystemClock, ToolOutcome, UserInput, View,
};
use agentx::types::{EnvironmentEvent, RunId, RunStatus, SessionId, ToolStatus};
use tokio::sync::Mutex;

use crate::error::ChatError;
use crate::headless::RunOutcomeCollector;
use crate::place::Place;
use crate::place::follow::AnyFollower;
use crate::run_result::RunResult;
use crate::session_opening::{self, CommandLineOverrides};
use crate::sessions::sessions_here::SessionsHere;

/// The sessions of tasks that this process runs.
type OpenTasks = BTreeMap<SessionId, Arc<dyn Session>>;

/// A task whose run is not over.
enum LiveTask {
    /// This process runs it.
    Here(Arc<dyn Session>),
    /// The process with this number runs it.
    Elsewhere(u32),
}

/// The tasks of one server.
pub(crate) struct AgentTasks {
    runtime: Arc<dyn Runtime>,
    place: Place,
    settings: Settings,
    sessions: SessionsHere,
    open: Mutex<OpenTasks>,
}

impl AgentTasks {
    pub(crate) fn new(runtime: Arc<dyn Runtime>, settings: Settings) -> Self {
        Self {
            place: Place::of_process(runtime.clone()),
            runtime,
            sessions: SessionsHere::of(&settings),
            settings,
            open: Mutex::default(),
        }
    }

    /// Begins a task with a prompt, in the session that is opened for it.
    pub(crate) async fn begin(
        &self,
        opening: BoxFuture<'_, Result<Arc<dyn Session>, ChatError>>,
        prompt: &str,
    ) -> Result<ServedTask, ChatError> {
        let mut open = self.open.lock().await;
        make_room(&mut open).await?;
        let session = opening.await?;
        let id = session.id().clone();
        session
            .send(UserInput::text(prompt).key(Some(task_key(None))))
            .await?;
        open.insert(id.clone(), session);
        let info = self.runtime.info(&id).await?;
        Ok(served(&info, ServedTaskState::Working))
    }

    /// Returns a task; `None` if there is none with this id.
    pub(crate) async fn task(&self, id: &str) -> Result<Option<ServedTask>, ChatError> {
        let mut open = self.open.lock().await;
        let Some((info, run)) = self.found(id).await? else {
            return Ok(None);
        };
        // A client asks every second, and the log of a run may be long.
        let is_under_way = info.status.is_some_and(|status| !status.is_final());
        let is_known = is_under_way && open.contains_key(&info.session_id);
        if !is_known && let Some(state) = self.ended(&info.session_id, &run).await? {
            if let Some(session) = open.remove(&info.session_id) {
                session.close().await;
            }
            return Ok(Some(served(&info, state)));
        }
        let waiting = match self.running(&mut open, &info.session_id).await? {
            LiveTask::Here(session) => session.state().await?.pending_approvals,
            LiveTask::Elsewhere(_) => self.recorded_questions(&info.session_id).await?,
        };
        let state = if waiting.is_empty() {
            ServedTaskState::Working
        } else {
            ServedTaskState::Asks(waiting.iter().map(session_question).collect())
        };
        Ok(Some(served(&info, state)))
    }

    /// Gives answers to questions of a task; returns whether there is such a task. If another process runs
    /// it, that is an error: the answers are not taken.
    pub(crate) async fn answer(
        &self,
        id: &str,
        answers: &BTreeMap<String, ClientAnswer>,
    ) -> Result<bool, ChatError> {
        let mut open = self.open.lock().await;
        let session = match self.unfinished(&mut open, id).await? {
            Some(LiveTask::Here(session)) => session,
            Some(LiveTask::Elsewhere(process)) => {
                return Err(elsewhere(id, process, "the answers were not taken; answer there"));
            }
            None => return Ok(self.found(id).await?.is_some()),
        };
        for asked in session.state().await?.pending_approvals {
            let answer = answers.get(asked.tool_call_id.as_str());
            if let Some(decision) = answer.and_then(|answer| session_decision(&asked, answer)) {
                session.approve(decision).await?;
            }
        }
        Ok(true)
    }

    /// Stops a task; returns whether there is such a task. If another process runs it, that is an error.
    pub(crate) async fn cancel(&self, id: &str) -> Result<bool, ChatError> {
        let mut open = self.open.lock().await;
        let session = match self.unfinished(&mut open, id).await? {
            Some(LiveTask::Here(session)) => session,
            Some(LiveTask::Elsewhere(process)) => {
                return Err(elsewhere(id, process, "it was not cancelled; cancel it there"));
            }
            None => return Ok(self.found(id).await?.is_some()),
        };
        session
            .interrupt(Some("the client cancelled the task".into()))
            .await?;
        Ok(true)
    }

    /// Stops following the tasks. A task continues when a client asks for it again.
    pub(crate) async fn end(&self) {
        for session in std::mem::take(&mut *self.open.lock().await).into_values() {
            session.suspend().await;
        }
    }

    /// A task whose run is not over; `None` if it is over, or there is no such task.
    async fn unfinished(&self, open: &mut OpenTasks, id: &str) -> Result<Option<LiveTask>, ChatError> {
        let Some((info, run)) = self.found(id).await? else {
            return Ok(None);
        };
        if self.ended(&info.session_id, &run).await?.is_some() {
            return Ok(None);
        }
        self.running(open, &info.session_id).await.map(Some)
    }

    /// The session of a task, opened if need be and no other process has it open.
    async fn running(&self, open: &mut OpenTasks, id: &SessionId) -> Result<LiveTask, ChatError> {
        if let Some(session) = open.get(id) {
            return Ok(LiveTask::Here(session.clone()));
        }
        make_room(open).await?;
        let nothing = CommandLineOverrides::default();
        let opened = session_opening::resume(&self.place, &self.settings, &nothing, id.clone(), false).await;
        match opened {
            Ok(session) => {
                open.insert(id.clone(), session.clone());
                Ok(LiveTask::Here(session))
            }
            Err(ChatError::Runtime(RuntimeError::Log(LogError::Busy { process, .. }))) => {
                Ok(LiveTask::Elsewhere(process))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the open questions of a session according to its log.
    async fn recorded_questions(&self, id: &SessionId) -> Result<Vec<PendingApproval>, ChatError> {
        let runtime = self.runtime.clone();
        let mut facts = AnyFollower::watching(runtime, id.clone(), 0, View::Environment).await?;
        let mut fold = SessionFold::new(id.clone());
        while let Some(delivery) = facts.next().await? {
            match delivery {
                Delivery::Environment(fact) => fold.advance(&fact),
                Delivery::CaughtUp(_) => break,
                Delivery::Runtime(_) | Delivery::CutOff(_) => {}
            }
        }
        Ok(fold
            .state()
            .map(|state| state.pending_approvals)
            .unwrap_or_default())
    }

    /// Finds the session of a task of this folder, and its run.
    async fn found(&self, id: &str) -> Result<Option<(SessionInfo, RunId)>, ChatError> {
        let id = SessionId::new(id);
        let info = match self.runtime.info(&id).await {
            Ok(info) if self.sessions.has(&info) => info,
            _ => return Ok(None),
        };
        if SystemClock.now().millis_since(info.created_at) > TASK_TTL_MS {
            return Ok(None);
        }
        let runtime = self.runtime.clone();
        let mut facts = AnyFollower::watching(runtime, id, 0, View::Environment).await?;
        while let Some(delivery) = facts.next().await? {
            match delivery {
                Delivery::Environment(fact) => {
                    if let EnvironmentEvent::UserMessage(first) = &fact.event {
                        let is_task = first.idempotency_key.as_deref().is_some_and(is_task_key);
                        return Ok(is_task.then(|| (info, RunId::of_input(fact.seq))));
                    }
                }
                Delivery::CaughtUp(_) => break,
                Delivery::Runtime(_) | Delivery::CutOff(_) => {}
            }
        }
        Ok(None)
    }

    /// Returns how the run of a task ended; `None` if it did not.
    async fn ended(&self, id: &SessionId, run: &RunId) -> Result<Option<ServedTaskState>, ChatError> {
        let runtime = self.runtime.clone();
        let mut events = AnyFollower::watching(runtime, id.clone(), 0, View::Runtime).await?;
        let mut ending = RunOutcomeCollector::new(run.clone());
        while let Some(delivery) = events.next().await? {
            match delivery {
                Delivery::Runtime(envelope) => {
                    if envelope.run_id.as_ref().is_none_or(|of| of == run) {
                        ending.event(&envelope.event);
                    }
                }
                Delivery::CaughtUp(_) => break,
                Delivery::Environment(_) | Delivery::CutOff(_) => {}
            }
            if ending.is_over() {
                break;
            }
        }
        if !ending.is_over() {
            return Ok(None);
        }
        let result = ending.into_result(None);
        Ok(Some(match result.status {
            Some(RunStatus::Interrupted) => ServedTaskState::Cancelled,
            _ => ServedTaskState::Ended(outcome(result, id)),
        }))
    }
}

/// The error about a request that only the process takes which runs the task.
fn elsewhere(id: &str, process: u32, what: &str) -> ChatError {
    let why =
        format!("another AgentX (process {process}) runs the task {id}: {what}, or end that process first");
    RuntimeError::Refused(why).into()
}

/// The outcome of an agent's run, for a client.
pub(crate) fn outcome(result: RunResult, session: &SessionId) -> ToolOutcome {
    match result.error {
        Some(error) => ToolOutcome::failed(ToolStatus::Failed, format!("{error}\n{}", result.text)),
        None => ToolOutcome::success(format!("{}\n\n[session {session}]", result.text)),
    }
}

/// Makes room for one more task: those whose run is over are closed.
async fn make_room(open: &mut OpenTasks) -> Result<(), ChatError> {
    if open.len() < TASKS_AT_ONCE {
        return Ok(());
    }
    let mut over = Vec::new();
    for (id, session) in &*open {
        let run = session.state().await?.run;
        if run.is_none_or(|run| run.status.is_final()) {
            over.push(id.clone());
        }
    }
    for id in over {
        if let Some(session) = open.remove(&id) {
            session.close().await;
        }
    }
    if open.len() < TASKS_AT_ONCE {
        return Ok(());
    }
    let why = RuntimeError::Refused(format!(
        "{TASKS_AT_ONCE} tasks run already; wait for one, or cancel it"
    ));
    Err(why.into())
}

fn served(info: &SessionInfo, state: ServedTaskState) -> ServedTask {
    ServedTask {
        id: info.session_id.to_string(),
        created: info.created_at,
        updated: info.updated_at,
        ttl_ms: TASK_TTL_MS,
        state,
    }
}
