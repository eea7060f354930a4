//! Agents of files as tasks of `/mcp`. A task is a session of the caller whose first input has a special key,
//! and has the id of that session. All that is known of it is in the session's log, so another connection and
//! a restarted server answer for it, too.
//!
//! A task ends with the token that began it, as calls do. The key of its first input names that token, so a
//! restarted server, which continues the task as any session, ends it too.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_mcp::{
    ClientAnswer, ServedTask, ServedTaskState, ServedTasks, TASK_TTL_MS, TASKS_AT_ONCE, TaskCall,
    is_task_key, session_decision, session_question, task_key, token_of_task,
};
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{
    BoxFuture, Delivery, LogError, Runtime as _, RuntimeError, SessionInfo, SessionState, View,
};
use agentx_types::wire::InterruptFrame;
use agentx_types::{EnvironmentEvent, OwnerId, RunId, RunStatus, SessionId};
use serde_json::Value;

use crate::auth::mcp_tokens::McpTokenLogin;
use crate::mcp::agents::{BegunRun, halt, words};
use crate::mcp::client_run::{ClientRun, ClientRunStep, RunEnd};
use crate::mcp::parts::CallerParts;
use crate::mcp::running_call::RunningToolCall;
use crate::state::{ServerState, SessionAccess};

/// A task, and the run that it is.
struct FoundTask {
    access: SessionAccess,
    info: SessionInfo,
    /// The `seq` of the input that began the run.
    input: u64,
    run: RunId,
}

/// A task that runs in this process: it counts as a tool of its person until its run is over, and is stopped
/// when its person is no longer let in.
struct TaskGuard {
    state: Arc<ServerState>,
    login: McpTokenLogin,
    running: RunningToolCall,
}

impl TaskGuard {
    /// Watches the task beside this caller.
    fn start(self, begun: BegunRun) {
        tokio::spawn(self.watch(begun));
    }

    async fn watch(self, begun: BegunRun) {
        let Self {
            state,
            login,
            mut running,
        } = self;
        let BegunRun { session, input } = begun;
        if !state.client_calls.guard_task(&session) {
            return running.end().await;
        }
        let mut run = ClientRun::new(state.clone(), session.clone(), input);
        loop {
            tokio::select! {
                step = run.next() => match step {
                    Ok(ClientRunStep::Event(_)) => {}
                    Ok(ClientRunStep::Ended(_)) | Err(_) => break,
                },
                () = running.stop().cancelled() => {
                    if let Some(why) = state.auth().closed_mcp(&login, state.now_ms()) {
                        halt(&state, &session, why).await;
                        break;
                    }
                    // Their money is used up: that ends the run of the session unless it waits for a person.
                    if !running.renew() {
                        break;
                    }
                }
                () = state.shutdown().cancelled() => break,
            }
        }
        state.client_calls.leave_task(&session);
        running.end().await;
    }
}

/// The input with which the session of a task began.
struct TaskInput {
    seq: u64,
    /// The id of the token with which the task ends, if it began with one.
    token: Option<String>,
}

/// Returns the input with which a session began, if it is a task.
async fn task_input(runtime: &NodeRuntime, id: &SessionId) -> Result<Option<TaskInput>, RuntimeError> {
    let mut facts = runtime.watch(id, 0, View::Environment, false).await?;
    while let Some(delivery) = facts.next().await {
        let Delivery::Environment(fact) = delivery else {
            continue;
        };
        if let EnvironmentEvent::UserMessage(first) = &fact.event {
            let key = first.idempotency_key.as_deref();
            return Ok(key.filter(|key| is_task_key(key)).map(|key| TaskInput {
                seq: fact.seq,
                token: token_of_task(key).map(str::to_owned),
            }));
        }
    }
    Ok(None)
}

fn is_run_live(now: &SessionState, run: &RunId) -> bool {
    let now = now.run.as_ref();
    now.is_some_and(|now| now.run_id == *run && !now.status.is_final())
}

/// Guards the task of a session that this process continues: it is stopped with the token that began it, at
/// once if that is gone. Other sessions, and tasks without a token of their own, continue.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub(crate) async fn guard_resumed_task(
    state: &Arc<ServerState>,
    session: &SessionId,
    owner: &OwnerId,
) -> Result<(), RuntimeError> {
    let input = task_input(&state.runtime_of(owner), session).await?;
    let Some(TaskInput {
        seq,
        token: Some(token),
    }) = input
    else {
        return Ok(());
    };
    let open = state.open(session).await?;
    if !is_run_live(&open.state().await?, &RunId::of_input(seq)) {
        return Ok(());
    }
    match state.auth().login_by_token(owner, &token, state.now_ms()) {
        Ok(login) => {
            let guard = TaskGuard {
                state: state.clone(),
                running: RunningToolCall::resume_task(state, owner, &login),
                login,
            };
            let begun = BegunRun {
                session: session.clone(),
                input: seq,
            };
            guard.start(begun);
        }
        Err(why) => halt(state, session, why).await,
    }
    Ok(())
}

impl ServedTasks for CallerParts {
    fn begin(&self, call: TaskCall) -> BoxFuture<'_, Result<Option<ServedTask>, String>> {
        Box::pin(async move { self.begin_task(&call).await.map_err(|error| words(&error)) })
    }

    fn task<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ServedTask>, String>> {
        Box::pin(async move { self.shown_task(id).await.map_err(|error| words(&error)) })
    }

    fn answer<'a>(
        &'a self,
        id: &'a str,
        answers: BTreeMap<String, ClientAnswer>,
    ) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let answered = self.answer_task(id, &answers).await;
            answered.map_err(|error| words(&error))
        })
    }

    fn cancel<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let cancelled = self.cancel_task(id).await;
            cancelled.map_err(|error| words(&error))
        })
    }
}

impl CallerParts {
    async fn begin_task(&self, call: &TaskCall) -> Result<Option<ServedTask>, RuntimeError> {
        let prompt = call.arguments.get("prompt").and_then(Value::as_str);
        // An invalid call gets its error without a task.
        let (Some(agent), Some(prompt)) = (self.agent_of(&call.tool), prompt) else {
            return Ok(None);
        };
        let (state, person) = (&self.state, &self.caller.person);
        let Some(running) = RunningToolCall::begin_task(state, person, &self.login) else {
            let why = format!("{TASKS_AT_ONCE} of your tasks run already; wait for one, or cancel it");
            return Err(RuntimeError::Refused(why));
        };
        // The operator and the approvers are asked about calls of members, whatever the client shows.
        let asked = call.can_be_asked || !self.caller.operator;
        let key = task_key(self.login.token_id());
        let begun = match self.begin_agent(agent, prompt, asked, Some(&key)).await {
            Ok(begun) => begun,
            Err(error) => {
                running.end().await;
                return Err(error);
            }
        };
        let session = begun.session.clone();
        let guard = TaskGuard {
            state: state.clone(),
            login: self.login.clone(),
            running,
        };
        guard.start(begun);
        let info = state.runtime_of(person).info(&session).await?;
        Ok(Some(served(&info, ServedTaskState::Working)))
    }

    /// Returns a task with its state; `None` if the caller has none with this id.
    async fn shown_task(&self, id: &str) -> Result<Option<ServedTask>, RuntimeError> {
        let Some((access, info)) = self.own_session(id).await? else {
            return Ok(None);
        };
        if let Some(end) = self.state.ended_tasks.find(&info) {
            return Ok(Some(served(&info, end)));
        }
        let Some(found) = self.task_in(access, info).await? else {
            return Ok(None);
        };
        let state = self.state_of(&found).await?;
        Ok(Some(served(&found.info, state)))
    }

    /// Finds a task of the caller; `None` if the caller has none with this id.
    async fn found_task(&self, id: &str) -> Result<Option<FoundTask>, RuntimeError> {
        match self.own_session(id).await? {
            Some((access, info)) => self.task_in(access, info).await,
            None => Ok(None),
        }
    }

    /// Finds a session of the caller that may still be a task; `None` if the caller has none with this id.
    async fn own_session(&self, id: &str) -> Result<Option<(SessionAccess, SessionInfo)>, RuntimeError> {
        let id = SessionId::new(id);
        let access = match self.state.access(&self.caller, &id).await {
            Ok(access) if access.owner == self.caller.person => access,
            Ok(_) | Err(RuntimeError::Log(LogError::NotFound(_))) => return Ok(None),
            Err(error) => return Err(error),
        };
        let info = access.runtime.info(&id).await?;
        if self.state.now().millis_since(info.created_at) > TASK_TTL_MS {
            return Ok(None);
        }
        Ok(Some((access, info)))
    }

    /// Returns the task that a session is, if it is one.
    async fn task_in(
        &self,
        access: SessionAccess,
        info: SessionInfo,
    ) -> Result<Option<FoundTask>, RuntimeError> {
        let _turn = self.state.history_turns().take(&self.caller.line).await;
        let input = task_input(&access.runtime, &info.session_id).await?;
        Ok(input.map(|input| FoundTask {
            access,
            info,
            input: input.seq,
            run: RunId::of_input(input.seq),
        }))
    }

    /// Returns the state of a task. If no process runs it and its run is not over, it continues.
    async fn state_of(&self, task: &FoundTask) -> Result<ServedTaskState, RuntimeError> {
        let is_final = task.info.status.is_some_and(RunStatus::is_final);
        if is_final && let Some(state) = self.end_of(task).await? {
            return Ok(state);
        }
        if !self.resume_unfinished(task).await? {
            let end = self.end_of(task).await?;
            return Ok(end.unwrap_or(ServedTaskState::Working));
        }
        let questions = self.questions_of(&task.info.session_id).await?;
        let theirs = questions.iter().filter(|(_, is_theirs)| *is_theirs);
        let asked: Vec<_> = theirs.map(|(asked, _)| session_question(asked)).collect();
        Ok(if asked.is_empty() {
            ServedTaskState::Working
        } else {
            ServedTaskState::Asks(asked)
        })
    }

    /// Returns whether the run of a task is not over; if no process runs it, it continues here.
    async fn resume_unfinished(&self, task: &FoundTask) -> Result<bool, RuntimeError> {
        let id = &task.info.session_id;
        let room = self.state.rooms().find(id).await;
        if let Some(open) = room.as_ref().and_then(|room| room.session()) {
            return Ok(is_run_live(&open.state().await?, &task.run));
        }
        let is_live = is_run_live(&task.access.runtime.state(id).await?, &task.run);
        if is_live {
            self.state.enter(&task.access, id).await?;
            guard_resumed_task(&self.state, id, &task.access.owner).await?;
        }
        Ok(is_live)
    }

    /// Returns how the run of a task ended according to its log, which is read from the run's input to its
    /// end, and remembers it for the next poll; `None` if it did not.
    async fn end_of(&self, task: &FoundTask) -> Result<Option<ServedTaskState>, RuntimeError> {
        let id = &task.info.session_id;
        let _turn = self.state.history_turns().take(&self.caller.line).await;
        let before = task.input.saturating_sub(1);
        let runtime = &task.access.runtime;
        let mut events = runtime.watch(id, before, View::Runtime, false).await?;
        let mut end = RunEnd::default();
        while let Some(delivery) = events.next().await {
            let Delivery::Runtime(event) = delivery else {
                continue;
            };
            if end.add(&task.run, &event) {
                let state = if end.is_stopped() {
                    ServedTaskState::Cancelled
                } else {
                    ServedTaskState::Ended(end.outcome(id))
                };
                self.state.ended_tasks.keep(&task.info, &state);
                return Ok(Some(state));
            }
        }
        Ok(None)
    }

    /// Gives answers to questions of a task; returns whether there is such a task.
    async fn answer_task(
        &self,
        id: &str,
        answers: &BTreeMap<String, ClientAnswer>,
    ) -> Result<bool, RuntimeError> {
        let Some(task) = self.found_task(id).await? else {
            return Ok(false);
        };
        if !self.resume_unfinished(&task).await? {
            return Ok(true);
        }
        for (asked, is_theirs) in self.questions_of(&task.info.session_id).await? {
            let answer = answers.get(asked.tool_call_id.as_str()).filter(|_| is_theirs);
            if let Some(decision) = answer.and_then(|answer| session_decision(&asked, answer)) {
                self.decide(&task.info.session_id, decision).await?;
            }
        }
        Ok(true)
    }

    /// Stops a task; returns whether there is such a task.
    async fn cancel_task(&self, id: &str) -> Result<bool, RuntimeError> {
        let Some(task) = self.found_task(id).await? else {
            return Ok(false);
        };
        if self.resume_unfinished(&task).await? {
            let frame = InterruptFrame {
                session_id: task.info.session_id,
                reason: Some("the client cancelled the task".to_owned()),
                wheel_epoch: None,
                idempotency_key: None,
            };
            self.state.interrupt(&self.caller, frame).await?;
        }
        Ok(true)
    }
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
