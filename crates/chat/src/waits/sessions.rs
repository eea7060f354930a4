//! `agentx waits list`: the sessions that wait for a time.

use agentx::runtime::{OpenWait, Runtime, SessionWaits, WaitKind};
use agentx::types::Timestamp;
use serde_json::{Value, json};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::table::table;
use crate::render::units;
use crate::terminal::console::Console;

/// The columns.
const HEADS: [&str; 4] = ["SESSION", "DUE", "WHAT", "TITLE"];

/// Lists the sessions that wait for a time, with every wait.
///
/// # Errors
/// Returns an error if the sessions cannot be read, or the output cannot be written.
pub async fn list_waits(runtime: &dyn Runtime, json: bool, console: &mut Console) -> Result<Exit, ChatError> {
    let found = runtime.waits().await?;
    let waits = || {
        let all = found
            .iter()
            .flat_map(|of| of.waits.iter().map(move |wait| (of, wait)));
        all.filter(|(_, wait)| wait.kind != WaitKind::Resumed)
    };
    if json {
        let all: Vec<Value> = waits().map(|(of, wait)| object(of, wait)).collect();
        console.out_pretty(&all)?;
        return Ok(Exit::Ok);
    }
    let now = units::now();
    let rows = waits().map(|(of, wait)| row(of, wait, now));
    let rows: Vec<Vec<String>> = std::iter::once(HEADS.map(str::to_owned).to_vec())
        .chain(rows)
        .collect();
    if rows.len() == 1 {
        console.say("no session waits for a time\n");
        return Ok(Exit::Ok);
    }
    console.out(&table(&rows, console.out_width()))?;
    Ok(Exit::Ok)
}

fn row(of: &SessionWaits, wait: &OpenWait, now: Timestamp) -> Vec<String> {
    vec![
        of.session.session_id.to_string(),
        due(wait.due_at, now),
        description(wait),
        visible(&of.session.title),
    ]
}

/// Returns what is waited for, as people read it.
fn description(wait: &OpenWait) -> String {
    let reason = visible(wait_reason(wait));
    match wait.kind {
        WaitKind::Reminder => format!("reminder: {reason}"),
        _ => reason,
    }
}

fn object(of: &SessionWaits, wait: &OpenWait) -> Value {
    json!({
        "session_id": of.session.session_id,
        "title": of.session.title,
        "kind": wait.kind,
        "due_at": wait.due_at.rfc3339(),
        "reason": wait_reason(wait),
        "tool_call_id": wait.tool_call_id,
        "is_open": of.session.writer.is_some(),
    })
}

/// Returns what is waited for.
fn wait_reason(wait: &OpenWait) -> &str {
    match wait.kind {
        WaitKind::Call if wait.reason.is_empty() => "the agent waits",
        WaitKind::Call => &wait.reason,
        WaitKind::Retry => "the next attempt to ask the model",
        WaitKind::Reminder => &wait.reason,
        WaitKind::Resumed => "the rest of a run after a wait",
        WaitKind::Unknown => "something that this version does not know",
    }
}

/// Returns a time, with how far away it is.
pub(super) fn due(at: Timestamp, now: Timestamp) -> String {
    let time = at.rfc3339();
    if at <= now {
        format!("{time} (now)")
    } else {
        format!("{time} (in {})", units::duration(at.millis_since(now)))
    }
}
