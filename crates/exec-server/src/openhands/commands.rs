//! The action `run` of OpenHands, in the shell that stays.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::ToolOutcome;
use agentx_types::{ContentPart, ToolCallId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{V0Action, required};
use crate::call::ExecCall;
use crate::exec_state::ExecState;
use crate::kept_blobs::ExecBlobs;
use crate::refusal::ExecRefusal;

/// The time for a command that neither blocks nor has a time of its own.
const SHORT: Duration = Duration::from_secs(10);

/// Runs a command, types into the one that runs, or waits for it.
pub(super) async fn run(state: &ExecState, action: &V0Action<'_>) -> Result<Value, ExecRefusal> {
    let command = required(action, "command")?;
    let default = if action.flag("blocking") {
        state.options.deadline
    } else {
        SHORT
    };
    let wait = action.timeout.unwrap_or(default).min(state.options.max_deadline);
    let (tool, input) = call_of(command, action, wait);
    let call = ExecCall {
        session: ExecState::own_session(),
        call: ToolCallId::new("execute_action"),
        tool: tool.to_owned(),
        input,
        config: None,
        outside: true,
        // The tool itself ends its waiting first.
        deadline: wait + Duration::from_secs(30),
    };
    let blobs = Arc::new(ExecBlobs::default());
    let outcome = state.perform(call, blobs, CancellationToken::new()).await;
    Ok(observation(command, action, &outcome))
}

/// Returns the tool for a command, and its arguments.
fn call_of(command: &str, action: &V0Action<'_>, wait: Duration) -> (&'static str, Value) {
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    if action.flag("is_static") {
        let line = match action.text("cwd").filter(|cwd| !cwd.is_empty()) {
            Some(cwd) => format!("cd '{}' && {{ {command}\n}}", cwd.replace('\'', "'\\''")),
            None => command.to_owned(),
        };
        return ("bash", json!({ "command": line, "timeout_ms": wait_ms.max(1) }));
    }
    let key = command.trim();
    if key.is_empty() {
        return ("shell_wait", json!({ "wait_ms": wait_ms }));
    }
    if !action.flag("is_input") {
        return ("shell", json!({ "command": command, "wait_ms": wait_ms }));
    }
    if ["C-c", "C-d", "C-z"].contains(&key) {
        return ("shell_wait", json!({ "key": key, "wait_ms": wait_ms }));
    }
    ("shell_input", json!({ "text": command, "wait_ms": wait_ms }))
}

/// Returns the observation of a command. Its exit code is -1 while it runs, or if it did not run.
fn observation(command: &str, action: &V0Action<'_>, outcome: &ToolOutcome) -> Value {
    let text: String = outcome.content.iter().filter_map(ContentPart::as_text).collect();
    let details = outcome.details.as_ref();
    let exit_code = details.and_then(|details| details["exit_code"].as_i64());
    // The last line of a result says how it ended; the fields of the observation do, too.
    let (content, suffix) = match exit_code {
        Some(_) => (without_last_line(&text), String::new()),
        None => (text.as_str(), "\n".to_owned() + last_line(&text)),
    };
    let working_dir = details.and_then(|details| details["cwd"].as_str());
    json!({
        "observation": "run",
        "content": content,
        "extras": {
            "command": command,
            "hidden": action.flag("hidden"),
            "metadata": {
                "exit_code": exit_code.unwrap_or(-1),
                "pid": -1,
                "username": null,
                "hostname": null,
                "working_dir": working_dir,
                "py_interpreter_path": null,
                "prefix": "",
                "suffix": suffix,
            },
        },
        "success": exit_code == Some(0),
    })
}

fn last_line(text: &str) -> &str {
    text.rsplit('\n').next().unwrap_or_default()
}

fn without_last_line(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..end])
}
