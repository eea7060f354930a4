//! Log messages of tools, for clients that request them: by `logging/setLevel` in the versions with a
//! handshake, by a level in each request in the version without one.

use std::sync::atomic::{AtomicU8, Ordering};

use agentx_types::{EffectEnded, EffectOutcome};
use serde_json::{Map, Value, json};

use super::ServedParts;
use super::answers;
use super::message::{INVALID_PARAMS, METHOD_NOT_FOUND};
use super::refusal::McpRefusal;

/// The levels, the least severe first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The kind of the steps by which a script logs.
const LOG_STEP: &str = "log";

/// The least severe level that a client hears of, if it set one. It holds until the client sets another one.
#[derive(Debug, Default)]
pub struct ClientLogLevel(AtomicU8);

impl ClientLogLevel {
    fn set(&self, level: McpLogLevel) {
        self.0.store(level.0 + 1, Ordering::Relaxed);
    }

    fn get(&self) -> Option<McpLogLevel> {
        self.0.load(Ordering::Relaxed).checked_sub(1).map(McpLogLevel)
    }
}

/// A level, by its place in [`LEVELS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct McpLogLevel(u8);

impl McpLogLevel {
    fn read(value: &Value) -> Option<Self> {
        let name = value.as_str()?;
        let place = LEVELS.iter().position(|level| *level == name)?;
        u8::try_from(place).ok().map(Self)
    }

    fn name(self) -> &'static str {
        LEVELS.get(usize::from(self.0)).copied().unwrap_or("info")
    }
}

fn wrong_level() -> McpRefusal {
    McpRefusal::new(
        INVALID_PARAMS,
        format!("the level must be one of {}", LEVELS.join(", ")),
    )
}

/// The answer to `logging/setLevel`.
pub(super) fn set_level(parts: &dyn ServedParts, params: &Map<String, Value>) -> Result<Value, McpRefusal> {
    let Some(kept) = parts.log_level() else {
        let why = "log messages are not served here";
        return Err(McpRefusal::new(METHOD_NOT_FOUND, why));
    };
    let level = params.get("level").and_then(McpLogLevel::read);
    kept.set(level.ok_or_else(wrong_level)?);
    Ok(json!({}))
}

/// The level that a call is heard at; `None` if its client wants no messages.
pub(super) fn level_of(
    parts: &dyn ServedParts,
    params: &Map<String, Value>,
) -> Result<Option<McpLogLevel>, McpRefusal> {
    if !answers::is_stateless(params) {
        return Ok(parts.log_level().and_then(ClientLogLevel::get));
    }
    let named = answers::named_log_level(params);
    named
        .map(|level| McpLogLevel::read(level).ok_or_else(wrong_level))
        .transpose()
}

/// A line that a step of a call logs.
#[derive(Debug, PartialEq)]
pub(super) struct LoggedLine {
    level: McpLogLevel,
    data: Value,
}

impl LoggedLine {
    /// Returns what this step logs; `None` if it is another step, or it failed.
    pub(super) fn of(step: &EffectEnded) -> Option<Self> {
        let is_done = matches!(*step.outcome, EffectOutcome::Done(_));
        let logged = step
            .input
            .as_deref()
            .filter(|_| step.kind == LOG_STEP && is_done)?;
        let level = match logged.get("level").and_then(Value::as_str) {
            // The protocol has another word for it.
            Some("warn") => McpLogLevel::read(&"warning".into()),
            _ => logged.get("level").and_then(McpLogLevel::read),
        };
        Some(Self {
            level: level?,
            data: logged.get("message").cloned().unwrap_or_default(),
        })
    }

    /// Returns the message about it, as a line of `tool`, if it is as severe as `least`.
    pub(super) fn message(self, tool: &str, least: McpLogLevel) -> Option<Value> {
        if self.level < least {
            return None;
        }
        let params = json!({"level": self.level.name(), "logger": tool, "data": self.data});
        Some(json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}))
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::ToolCallId;

    use super::*;

    fn step(kind: &str, level: &str) -> EffectEnded {
        EffectEnded {
            tool_call_id: ToolCallId::new("call_1"),
            step: 1,
            kind: kind.into(),
            input: Some(Box::new(json!({"level": level, "message": "half"}))),
            outcome: Box::new(EffectOutcome::Done(Value::Null)),
            bill: None,
            details: None,
        }
    }

    #[test]
    fn a_client_hears_what_is_as_severe_as_it_wants_and_nothing_else() {
        let warning = McpLogLevel::read(&json!("warning")).unwrap();
        let heard = |kind: &str, level: &str| {
            let message = LoggedLine::of(&step(kind, level))?.message("made_up", warning)?;
            message["params"]["level"].as_str().map(str::to_owned)
        };
        assert_eq!(heard("log", "debug"), None);
        assert_eq!(heard("log", "info"), None);
        assert_eq!(heard("log", "warn").as_deref(), Some("warning"));
        assert_eq!(heard("log", "error").as_deref(), Some("error"));
        assert_eq!(heard("emit", "error"), None);
        let logged = LoggedLine::of(&step("log", "error")).unwrap();
        let message = logged.message("made_up", warning).unwrap();
        assert_eq!(
            message["params"],
            json!({"level": "error", "logger": "made_up", "data": "half"})
        );
    }

    #[test]
    fn a_level_holds_from_when_it_is_set() {
        let kept = ClientLogLevel::default();
        assert_eq!(kept.get(), None);
        for name in LEVELS {
            let level = McpLogLevel::read(&json!(name)).unwrap();
            kept.set(level);
            assert_eq!(kept.get().map(McpLogLevel::name), Some(name));
        }
        assert_eq!(McpLogLevel::read(&json!("loud")), None);
    }
}
