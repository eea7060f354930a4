//! The HTTP face of OpenHands' V0 runtime: an action as its clients send it, and the observation that they
//! expect.
//!
//! | action | here |
//! | --- | --- |
//! | `run` | a command line in the shell that stays; with `is_input`, text or a key for the program that runs in it; with `is_static`, a command of its own |
//! | `read`, `write`, `edit` | files, with the arguments of both of its editors |
//! | any other | an `error` observation |

mod commands;
mod files;

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use serde_json::{Map, Value, json};

use crate::actions::body_of;
use crate::exec_state::{ExecPhase, ExecState};
use crate::refusal::ExecRefusal;

/// Actions of OpenHands that nothing here performs.
const KNOWN: &[&str] = &["run_ipython", "browse", "browse_interactive", "call_tool_mcp"];

/// An action of OpenHands.
pub(super) struct V0Action<'a> {
    id: &'a Value,
    args: &'a Map<String, Value>,
    /// The time that the client gives it, in seconds.
    timeout: Option<Duration>,
}

impl V0Action<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str)
    }

    fn flag(&self, name: &str) -> bool {
        self.args.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.args.get(name).and_then(Value::as_i64)
    }
}

/// Says that the server is there, and whether it works.
pub(crate) async fn alive(State(state): State<Arc<ExecState>>) -> Result<Json<Value>, ExecRefusal> {
    match state.phase() {
        ExecPhase::Active => Ok(Json(json!({ "status": "ok" }))),
        ExecPhase::Paused => Ok(Json(json!({ "status": "paused" }))),
        ExecPhase::Deleted => state.check_works().map(|()| Json(json!({ "status": "ok" }))),
    }
}

/// The age of the server and the time since its last action, in seconds.
pub(crate) async fn server_info(State(state): State<Arc<ExecState>>) -> Json<Value> {
    let (uptime, idle) = state.times();
    Json(json!({ "uptime": uptime.as_secs_f64(), "idle_time": idle.as_secs_f64(), "resources": {} }))
}

/// Performs an action and returns its observation.
pub(crate) async fn execute_action(
    State(state): State<Arc<ExecState>>,
    body: Result<Json<Value>, JsonRejection>,
) -> Result<Json<Value>, ExecRefusal> {
    let body = body_of(body)?;
    state.note_request();
    let action = body.get("action").filter(|action| action.is_object());
    let action = action.or_else(|| body.get("event"));
    let action = action.and_then(Value::as_object);
    let action =
        action.ok_or_else(|| ExecRefusal::bad_request("the body has no `action` that is an object"))?;
    let kind = action.get("action").and_then(Value::as_str);
    let kind =
        kind.ok_or_else(|| ExecRefusal::bad_request("the action has no field `action` with its kind"))?;
    let args = action.get("args").and_then(Value::as_object);
    let args = args.ok_or_else(|| ExecRefusal::bad_request("the action has no object `args`"))?;
    let seconds = action.get("timeout").and_then(Value::as_f64);
    let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0 && *seconds < 1e9);
    let asked = V0Action {
        id: action.get("id").unwrap_or(&Value::Null),
        args,
        timeout: seconds.map(Duration::from_secs_f64),
    };
    let observation = match kind {
        "run" => commands::run(&state, &asked).await?,
        "read" => files::read(&state, &asked).await?,
        "write" => files::write(&state, &asked).await?,
        "edit" => files::edit(&state, &asked).await?,
        other if KNOWN.contains(&other) => error(&format!("This runtime has no action {other}.")),
        other => {
            let words = format!("unknown action {other:?}");
            return Err(ExecRefusal::bad_request(words));
        }
    };
    Ok(Json(answer(observation, &asked)))
}

/// An observation that says why an action failed.
fn error(words: &str) -> Value {
    json!({ "observation": "error", "content": words, "extras": { "error_id": "" } })
}

/// Completes an observation with the fields that all have.
fn answer(mut observation: Value, action: &V0Action<'_>) -> Value {
    let words = observation["content"].as_str().unwrap_or_default();
    let message: String = words
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect();
    observation["message"] = json!(message);
    observation["cause"] = action.id.clone();
    observation["source"] = json!("environment");
    observation
}

/// Returns a required argument of an action.
fn required<'a>(action: &'a V0Action<'_>, name: &str) -> Result<&'a str, ExecRefusal> {
    action
        .text(name)
        .ok_or_else(|| ExecRefusal::bad_request(format!("the arguments of the action have no text {name:?}")))
}
