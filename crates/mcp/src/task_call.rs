//! A call that its server turned into a task (the extension `io.modelcontextprotocol/tasks` of version
//! 2026-07-28): its state is asked for until it has ended, its questions are answered, and a cancelled call
//! cancels it.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::ToolContext;
use agentx_types::OutputChannel;
use rmcp::model::{
    CallToolResult, CancelTaskParams, DetailedTask, GetTaskParams, InputRequests, JsonObject, Task,
    TaskPayload, UpdateTaskParams,
};
use rmcp::service::ServiceError;
use serde_json::Value;

use crate::call::{RemoteCall, RemoteCallEnd};
use crate::limits::{OUTPUT_LINE_BYTES, PATIENCE, POLL, POLL_LONGEST, POLL_SHORTEST, ROUNDS};
use crate::server_requests::ServerRequests;
use crate::server_tool::cut;

/// A task, as its call follows it.
struct FollowedTask {
    id: String,
    /// The time until its state is asked for again.
    interval: Duration,
    /// The last message that was shown.
    message: Option<String>,
    /// The questions that were answered: the server may still list them for a moment.
    answered: BTreeSet<String>,
    /// The number of times that questions were answered.
    rounds: usize,
}

impl FollowedTask {
    fn of(task: &Task) -> Self {
        Self {
            id: task.task_id.clone(),
            interval: interval_of(task),
            message: None,
            answered: BTreeSet::new(),
            rounds: 0,
        }
    }
}

/// The wait before the state of a task is asked for, as its server suggests it, within limits.
fn interval_of(task: &Task) -> Duration {
    let suggested = task.poll_interval_ms.map_or(POLL, Duration::from_millis);
    suggested.clamp(POLL_SHORTEST, POLL_LONGEST)
}

impl RemoteCall<'_> {
    /// Waits until a task has ended. If the call is cancelled or takes too long, the task is cancelled.
    pub(crate) async fn follow_task(
        &self,
        task: &Task,
        requests: &Arc<ServerRequests>,
        mut deadline: Pin<&mut impl Future<Output = ()>>,
        context: &ToolContext,
    ) -> RemoteCallEnd {
        let mut followed = FollowedTask::of(task);
        self.show_task(task, &mut followed, context).await;
        let end = tokio::select! {
            biased;
            () = context.cancel.cancelled() => RemoteCallEnd::Cancelled,
            () = self.connection.calls.flooded() => RemoteCallEnd::Flooded,
            () = deadline.as_mut() => RemoteCallEnd::TimedOut,
            end = self.task_end(&mut followed, requests, context) => return end,
        };
        let cancelled = self
            .connection
            .peer()
            .cancel_task(CancelTaskParams::new(followed.id));
        match tokio::time::timeout(PATIENCE, cancelled).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a task of a server was not cancelled"),
            Err(_) => tracing::debug!("a server does not answer that its task is cancelled"),
        }
        end
    }

    /// Asks for the state of a task until it has ended.
    async fn task_end(
        &self,
        followed: &mut FollowedTask,
        requests: &Arc<ServerRequests>,
        context: &ToolContext,
    ) -> RemoteCallEnd {
        loop {
            tokio::time::sleep(followed.interval).await;
            let params = GetTaskParams::new(followed.id.clone());
            let DetailedTask { task, payload, .. } = match self.connection.peer().get_task(params).await {
                Ok(state) => state.task,
                Err(ServiceError::McpError(error)) => return RemoteCallEnd::Refused(error.to_string()),
                Err(error) => return RemoteCallEnd::Lost(error),
            };
            followed.interval = interval_of(&task);
            self.show_task(&task, followed, context).await;
            let asked = match payload {
                TaskPayload::Working => continue,
                TaskPayload::InputRequired { input_requests } => input_requests,
                TaskPayload::Completed { result } => return completed(result),
                TaskPayload::Failed { error } => return RemoteCallEnd::Refused(message_of(&error)),
                TaskPayload::Cancelled => {
                    return RemoteCallEnd::Refused("it cancelled the task of the call".to_owned());
                }
                _ => {
                    return RemoteCallEnd::Refused(
                        "its task has a state that AgentX does not know".to_owned(),
                    );
                }
            };
            if let Err(end) = self.answer_task(followed, asked, requests).await {
                return end;
            }
        }
    }

    /// Answers the questions of a task that have no answer yet.
    ///
    /// # Errors
    /// Returns the end of the call if they are refused or the server does not take the answers.
    async fn answer_task(
        &self,
        followed: &mut FollowedTask,
        mut asked: InputRequests,
        requests: &Arc<ServerRequests>,
    ) -> Result<(), RemoteCallEnd> {
        asked.retain(|key, _| !followed.answered.contains(key));
        if asked.is_empty() {
            return Ok(());
        }
        followed.rounds += 1;
        if followed.rounds > ROUNDS {
            return Err(RemoteCallEnd::asks_too_often());
        }
        let answers = requests.answers(asked).await.map_err(RemoteCallEnd::Refused)?;
        followed.answered.extend(answers.keys().cloned());
        let params = UpdateTaskParams::new(followed.id.clone(), answers);
        match self.connection.peer().update_task(params).await {
            Ok(()) => Ok(()),
            Err(ServiceError::McpError(error)) => Err(RemoteCallEnd::Refused(error.to_string())),
            Err(error) => Err(RemoteCallEnd::Lost(error)),
        }
    }

    /// Shows what a task says about its state, if that is new.
    async fn show_task(&self, task: &Task, followed: &mut FollowedTask, context: &ToolContext) {
        if task.status_message.is_none() || task.status_message == followed.message {
            return;
        }
        followed.message.clone_from(&task.status_message);
        let message = cut(
            task.status_message.as_deref().unwrap_or_default(),
            OUTPUT_LINE_BYTES,
        );
        let line = format!("{}\n", self.hidden.removed_from_cut(&message));
        context.output.write(OutputChannel::Progress, line).await;
    }
}

/// The end of a call whose task is completed.
fn completed(result: JsonObject) -> RemoteCallEnd {
    match serde_json::from_value::<CallToolResult>(Value::Object(result)) {
        Ok(answer) => RemoteCallEnd::Answered(Box::new(answer)),
        Err(_) => RemoteCallEnd::Refused("the result of its task is not a result of a tool call".to_owned()),
    }
}

/// The message of an error of JSON-RPC.
fn message_of(error: &JsonObject) -> String {
    let message = error.get("message").and_then(Value::as_str);
    message.unwrap_or("its task failed").to_owned()
}
