//! The values that scripts keep with the calling agent: its state, and the history and summary of the older
//! API. Each change is a recorded step, and the session's fold has the result. The values are stored nowhere
//! else.

use agentx_luau_tools::{EffectError, EffectKind, HostEffect, Outcome};
use serde_json::{Value, json};

use super::file_tool_call::FileToolCall;
use super::request_text::text;

/// The longest message or summary in bytes as JSON.
const MAX_MESSAGE: usize = 256 << 10;
/// The maximum number of messages that are returned at once.
const MAX_RECENT: u64 = 1_000;
/// The roles of a message.
const ROLES: [&str; 5] = ["user", "assistant", "model", "tool", "system"];

/// Performs an effect on kept values; `None` for one of another kind.
pub(crate) fn kept(call: &FileToolCall, effect: &HostEffect) -> Option<Outcome> {
    let journal = &call.context.journal;
    let request = &effect.request;
    let outcome = match effect.kind {
        EffectKind::StateGet => Ok(Value::Object(journal.kept().state.clone())),
        EffectKind::HistoryRecent => {
            let count = request.get("n").and_then(Value::as_f64).unwrap_or(10.0);
            // The cast saturates; NaN becomes 0.
            let count = (count.max(0.0) as u64).min(MAX_RECENT);
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            Ok(journal.kept().recent(count).cloned().collect())
        }
        EffectKind::MemoryGet => Ok(json!(journal.kept().summary)),
        EffectKind::StateSet => Ok(Value::Null),
        EffectKind::HistoryAppend => message(request.get("message").unwrap_or(&Value::Null)),
        EffectKind::HistoryRevert => Ok(Value::Null),
        EffectKind::MemorySet => fits("a summary", request.get("summary").unwrap_or(&Value::Null)),
        _ => return None,
    };
    if outcome.is_ok() {
        journal.keep(effect.kind.as_str(), request);
    }
    Some(outcome)
}

/// Returns whether it is a message.
fn message(message: &Value) -> Outcome {
    let invalid = |problem: String| Err(EffectError::new("invalid", format!("history_append: {problem}")));
    let role = text(message, "role");
    if !ROLES.contains(&role) {
        return invalid(format!(
            "a message is {{role, content}} with a role of {}, not {role:?}",
            ROLES.join(", ")
        ));
    }
    if message.get("content").is_none_or(Value::is_null) {
        return invalid("the message has no content".to_owned());
    }
    fits("a message", message)
}

fn fits(what: &str, value: &Value) -> Outcome {
    if value.to_string().len() > MAX_MESSAGE {
        return Err(EffectError::new(
            "too_large",
            format!("{what} has at most {MAX_MESSAGE} bytes as JSON"),
        ));
    }
    Ok(Value::Null)
}
