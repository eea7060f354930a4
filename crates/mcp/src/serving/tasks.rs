//! Calls that outlive their request: the extension `io.modelcontextprotocol/tasks` of version 2026-07-28.
//!
//! | request | answer |
//! | --- | --- |
//! | `tools/call` of a client with the extension | `resultType: task`, if the tool runs as a task |
//! | `tasks/get` | the state, with open questions, or the result |
//! | `tasks/update` | nothing: the answers to questions were taken |
//! | `tasks/cancel` | nothing: the task is asked to stop |

use std::collections::BTreeMap;

use agentx_runtime::{BoxFuture, ToolOutcome};
use agentx_types::Timestamp;
use serde_json::{Map, Value, json};

use super::answers::TASKS_EXTENSION;
use super::live_call::CallOfClient;
use super::message::{INTERNAL_ERROR, INVALID_PARAMS, MISSING_CAPABILITY};
use super::questions::{self, ClientAnswer, ClientQuestion};
use super::refusal::McpRefusal;
use super::{ServedParts, answers, content};

/// The pause that a client leaves between two looks at a task.
const POLL_MS: u64 = 1_000;

/// A call of a tool that may run as a task.
#[derive(Clone, Debug)]
pub struct TaskCall {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// Whether the client can be asked.
    pub can_be_asked: bool,
}

/// A task.
#[derive(Clone, Debug, PartialEq)]
pub struct ServedTask {
    /// Its id.
    pub id: String,
    /// The time at which the task began.
    pub created: Timestamp,
    /// The time of the last change.
    pub updated: Timestamp,
    /// For how long after its beginning it is answered for, in milliseconds.
    pub ttl_ms: u64,
    /// The state of the task.
    pub state: ServedTaskState,
}

/// The state of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum ServedTaskState {
    /// It works.
    Working,
    /// It waits for answers to these questions.
    Asks(Vec<ClientQuestion>),
    /// It has ended; a failure is an outcome.
    Ended(ToolOutcome),
    /// It was stopped.
    Cancelled,
}

/// The tasks of a server.
pub trait ServedTasks: Send + Sync {
    /// Begins a task; `None` if the tool does not run as one.
    ///
    /// # Errors
    /// Returns an error for people if it cannot begin.
    fn begin(&self, call: TaskCall) -> BoxFuture<'_, Result<Option<ServedTask>, String>>;

    /// A task; `None` if there is none with this id.
    ///
    /// # Errors
    /// Returns an error for people if it cannot be read.
    fn task<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ServedTask>, String>>;

    /// Gives answers to questions of a task, by their keys; others are ignored. `false` if there is no such
    /// task.
    ///
    /// # Errors
    /// Returns an error for people if the answers cannot be taken.
    fn answer<'a>(
        &'a self,
        id: &'a str,
        answers: BTreeMap<String, ClientAnswer>,
    ) -> BoxFuture<'a, Result<bool, String>>;

    /// Stops a task; one that has ended stays as it is. `false` if there is no such task.
    ///
    /// # Errors
    /// Returns an error for people if it cannot be stopped.
    fn cancel<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, String>>;
}

/// Begins a call as a task; returns the result that says so. `None` if the client or the tool does not, or
/// the call runs already.
pub(super) async fn begun(
    parts: &dyn ServedParts,
    params: &Map<String, Value>,
    wanted: &CallOfClient,
) -> Result<Option<Value>, McpRefusal> {
    let is_new = wanted.stateless && wanted.state.is_none();
    let tasks = parts
        .as_tasks()
        .filter(|_| is_new && answers::has_extension(params, TASKS_EXTENSION));
    let Some(tasks) = tasks else {
        return Ok(None);
    };
    let call = TaskCall {
        tool: wanted.tool.clone(),
        arguments: wanted.arguments.clone(),
        can_be_asked: wanted.can_be_asked,
    };
    let begun = tasks.begin(call).await;
    let begun = begun.map_err(|why| McpRefusal::new(INTERNAL_ERROR, why))?;
    Ok(begun.map(|task| {
        let mut result = seed(&task);
        result["resultType"] = "task".into();
        result
    }))
}

/// Answers a request about a task.
pub(super) async fn answered(
    tasks: &dyn ServedTasks,
    method: &str,
    params: &Map<String, Value>,
) -> Result<Value, McpRefusal> {
    if !answers::has_extension(params, TASKS_EXTENSION) {
        let why = format!("`clientCapabilities.extensions` must have {TASKS_EXTENSION:?}");
        let required = json!({"requiredCapabilities": {"extensions": {(TASKS_EXTENSION): {}}}});
        return Err(McpRefusal {
            data: Some(required),
            ..McpRefusal::new(MISSING_CAPABILITY, why)
        });
    }
    let Some(id) = params.get("taskId").and_then(Value::as_str) else {
        return Err(McpRefusal::new(
            INVALID_PARAMS,
            "`taskId` must be the id of a task",
        ));
    };
    let failed = |why: String| McpRefusal::new(INTERNAL_ERROR, why);
    let is_there = match method {
        "tasks/get" => {
            let task = tasks.task(id).await.map_err(failed)?;
            return task.map(|task| detailed(&task)).ok_or_else(|| no_task(id));
        }
        "tasks/update" => tasks.answer(id, responses(params)?).await.map_err(failed)?,
        _ => tasks.cancel(id).await.map_err(failed)?,
    };
    if is_there { Ok(json!({})) } else { Err(no_task(id)) }
}

fn no_task(id: &str) -> McpRefusal {
    let why = format!("there is no task {id:?}; it may be too old");
    McpRefusal::new(INVALID_PARAMS, why)
}

/// Returns the answers of `tasks/update`. Ignores values that are not answers.
fn responses(params: &Map<String, Value>) -> Result<BTreeMap<String, ClientAnswer>, McpRefusal> {
    let Some(responses) = params.get("inputResponses").and_then(Value::as_object) else {
        return Err(McpRefusal::new(
            INVALID_PARAMS,
            "`inputResponses` must be an object",
        ));
    };
    let read = |(key, response): (&String, &Value)| Some((key.clone(), ClientAnswer::read(response)?));
    Ok(responses.iter().filter_map(read).collect())
}

/// Returns the fields of every answer about a task.
fn seed(task: &ServedTask) -> Value {
    let status = match &task.state {
        ServedTaskState::Working => "working",
        ServedTaskState::Asks(_) => "input_required",
        ServedTaskState::Ended(_) => "completed",
        ServedTaskState::Cancelled => "cancelled",
    };
    json!({
        "taskId": task.id,
        "status": status,
        "createdAt": written(task.created),
        "lastUpdatedAt": written(task.updated),
        "ttlMs": task.ttl_ms,
        "pollIntervalMs": POLL_MS,
    })
}

/// The result of `tasks/get`.
fn detailed(task: &ServedTask) -> Value {
    let mut result = seed(task);
    match &task.state {
        ServedTaskState::Working | ServedTaskState::Cancelled => {}
        ServedTaskState::Asks(asked) => {
            let request = |asked: &ClientQuestion| (asked.key.clone(), questions::input_request(asked));
            let requests: Map<String, Value> = asked.iter().map(request).collect();
            result["inputRequests"] = Value::Object(requests);
        }
        ServedTaskState::Ended(outcome) => {
            // Agents answer in words: their results have no schema.
            result["result"] = answers::complete(content::called(outcome, false), true, false);
        }
    }
    result
}

/// The time in the form of ISO 8601.
fn written(time: Timestamp) -> String {
    let at = time.utc();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        at.year, at.month, at.day, at.hour, at.minute, at.second
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(state: ServedTaskState) -> ServedTask {
        ServedTask {
            id: "ses_1".into(),
            created: Timestamp(951_782_400_000_000),
            updated: Timestamp(951_782_461_000_000),
            ttl_ms: 5_000,
            state,
        }
    }

    #[test]
    fn a_task_has_its_times_and_what_its_state_brings() {
        let working = detailed(&task(ServedTaskState::Working));
        assert_eq!(
            working,
            json!({
                "taskId": "ses_1",
                "status": "working",
                "createdAt": "2000-02-29T00:00:00Z",
                "lastUpdatedAt": "2000-02-29T00:01:01Z",
                "ttlMs": 5_000,
                "pollIntervalMs": POLL_MS,
            })
        );
        let asked = ClientQuestion {
            key: "call_1".into(),
            message: "May it?".into(),
            schema: json!({"type": "object"}),
        };
        let asks = detailed(&task(ServedTaskState::Asks(vec![asked])));
        assert_eq!(asks["status"], "input_required");
        assert_eq!(asks["inputRequests"]["call_1"]["params"]["message"], "May it?");
        let ended = detailed(&task(ServedTaskState::Ended(ToolOutcome::success("done"))));
        assert_eq!(
            (&ended["status"], &ended["result"]["content"][0]["text"]),
            (&json!("completed"), &json!("done"))
        );
        assert_eq!(ended["result"]["resultType"], "complete");
    }
}
