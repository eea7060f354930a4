//! The server's own dialect: actions by id, each performed at most once.

use std::sync::Arc;
use std::time::Duration;

use agentx_types::{AgentConfig, SessionId, ToolCallId};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::action_result::ActionResult;
use crate::action_table::{KnownAction, Requested};
use crate::call::ExecCall;
use crate::exec_state::{ExecPhase, ExecState};
use crate::kept_blobs::ExecBlobs;
use crate::refusal::ExecRefusal;

/// The time after which a request is answered although its action runs; it is then sent again.
const HOLDING: Duration = Duration::from_secs(20);
/// Longest id.
const LONGEST_ID: usize = 600;
/// The tools that run here. The others belong to a session, wherever its files are.
pub(crate) const TOOLS: &[&str] = &[
    "bash",
    "job",
    "read",
    "write",
    "edit",
    "glob",
    "grep",
    "shell",
    "shell_input",
    "shell_wait",
];

/// A request for an action.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemoteAction {
    /// The id of the action, which no other action ever has.
    pub(crate) id: String,
    /// The process of the server that it is for.
    pub(crate) instance: String,
    pub(crate) session: SessionId,
    pub(crate) call: ToolCallId,
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Whether a person allowed files outside of the workspace.
    #[serde(default)]
    pub(crate) outside: bool,
    /// The rules of the agent, with paths that begin in the server's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<Box<AgentConfig>>,
}

/// Names an action.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NamedAction {
    pub(crate) id: String,
}

/// Sets whether a server works.
#[derive(Debug, Deserialize)]
pub(crate) struct PhaseChange {
    phase: ExecPhase,
}

/// Takes the body of a request.
pub(crate) fn body_of<T>(body: Result<Json<T>, JsonRejection>) -> Result<T, ExecRefusal> {
    body.map(|Json(body)| body)
        .map_err(|error| ExecRefusal::new(error.status(), "bad_request", error.body_text()))
}

/// Performs an action, or answers it from what is known.
pub(crate) async fn perform(
    State(state): State<Arc<ExecState>>,
    body: Result<Json<RemoteAction>, JsonRejection>,
) -> Result<Response, ExecRefusal> {
    let request = body_of(body)?;
    if request.instance != state.instance {
        let words = "this is another process than the one that the action is for; nothing was done";
        return Err(ExecRefusal::new(StatusCode::CONFLICT, "other_instance", words));
    }
    if request.id.is_empty() || request.id.len() > LONGEST_ID {
        return Err(ExecRefusal::bad_request("the id of an action has 1 to 600 bytes"));
    }
    if !TOOLS.contains(&request.tool.as_str()) {
        let words = format!("no tool {:?} runs here", request.tool);
        return Err(ExecRefusal::bad_request(words));
    }
    let action = match state.actions.request(&request.id) {
        Requested::New(action) => {
            begin(&state, request, &action);
            action
        }
        Requested::Known(action) => action,
        Requested::Forgotten => {
            let words = "the result of this action is forgotten";
            return Err(ExecRefusal::new(StatusCode::NOT_FOUND, "forgotten", words));
        }
        Requested::Full => {
            let words = "too many actions run here; nothing was done";
            return Err(ExecRefusal::new(StatusCode::TOO_MANY_REQUESTS, "full", words));
        }
    };
    Ok(match tokio::time::timeout(HOLDING, action.result()).await {
        Ok(Some(result)) => Json(&*result).into_response(),
        Ok(None) | Err(_) => (StatusCode::ACCEPTED, Json(json!({ "running": true }))).into_response(),
    })
}

/// Begins an action in a task of its own: it ends although the request is cut off.
fn begin(state: &Arc<ExecState>, request: RemoteAction, action: &Arc<KnownAction>) {
    let (state, action) = (Arc::clone(state), Arc::clone(action));
    let tasks = state.tasks.clone();
    tasks.spawn(async move {
        let blobs = Arc::new(ExecBlobs::default());
        let call = ExecCall {
            session: request.session,
            call: request.call,
            tool: request.tool,
            input: request.input,
            config: request.config.map(|config| *config),
            outside: request.outside,
            deadline: state.options.max_deadline,
        };
        let outcome = state
            .perform(call, Arc::clone(&blobs), action.cancel.clone())
            .await;
        state
            .actions
            .finish(&request.id, ActionResult::new(outcome, &blobs.take()));
    });
}

/// Cancels an action.
pub(crate) async fn cancel(
    State(state): State<Arc<ExecState>>,
    body: Result<Json<NamedAction>, JsonRejection>,
) -> Result<Json<Value>, ExecRefusal> {
    let NamedAction { id } = body_of(body)?;
    let found = state.actions.find(&id);
    if let Some(action) = &found {
        action.cancel.cancel();
    }
    Ok(Json(json!({ "known": found.is_some() })))
}

/// Returns whether the server works, and which process it is.
pub(crate) async fn phase(State(state): State<Arc<ExecState>>) -> Json<Value> {
    Json(json!({
        "phase": state.phase(),
        "instance": state.instance,
        "directory": state.options.directory,
        "tools": TOOLS,
    }))
}

/// Pauses the server, lets it work again, or says that its workspace is gone. The last ends what runs.
pub(crate) async fn set_phase(
    State(state): State<Arc<ExecState>>,
    body: Result<Json<PhaseChange>, JsonRejection>,
) -> Result<Json<Value>, ExecRefusal> {
    let change = body_of(body)?;
    let phase = state.set_phase(change.phase);
    if phase == ExecPhase::Deleted {
        state.end_all().await;
    }
    Ok(Json(json!({ "phase": phase })))
}
