//! Announces the end of a sleep, so that a repeated run sleeps only for the rest.

use agentx_luau_tools::{EffectKind, HostEffect};
use agentx_runtime::{Clock as _, SystemClock};
use serde_json::{Value, json};

use super::record_mode::milliseconds;

/// The additional field in the announcement of a sleep.
const UNTIL: &str = "until_ms";

/// Returns the announcement of a step, which is recorded before it begins.
pub(super) fn announced(effect: &HostEffect, mut asked: Value) -> Value {
    if let (EffectKind::Sleep, Value::Object(entries)) = (effect.kind, &mut asked) {
        entries.insert(UNTIL.to_owned(), (now_ms() + milliseconds(effect)).into());
    }
    asked
}

/// Returns whether the recorded request of a step is the one that is asked now.
pub(super) fn same(kind: EffectKind, recorded: &Value, asked: &Value) -> bool {
    match (kind, recorded) {
        (EffectKind::Sleep, Value::Object(entries)) if entries.contains_key(UNTIL) => {
            let mut entries = entries.clone();
            entries.shift_remove(UNTIL);
            Value::Object(entries) == *asked
        }
        _ => recorded == asked,
    }
}

/// Returns the rest of a step that was cut off.
pub(super) fn left(mut effect: HostEffect, recorded: &Value) -> HostEffect {
    if let Some(until) = recorded.get(UNTIL).and_then(Value::as_u64) {
        effect.request = json!({"ms": until.saturating_sub(now_ms()).min(milliseconds(&effect))});
    }
    effect
}

fn now_ms() -> u64 {
    SystemClock.now().unix_millis()
}
