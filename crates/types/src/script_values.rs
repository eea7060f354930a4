//! Values that scripts keep with the calling agent: named values, messages, a summary. They follow only from
//! the recorded steps, so every process that reads the steps gets the same values.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum number of messages to keep; the oldest go first.
const MAX_MESSAGES: usize = 1_000;
/// Maximum number of bytes of messages to keep, as JSON.
const MAX_BYTES: usize = 1 << 20;

/// The values that scripts keep with an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptValues {
    /// Values by name.
    #[serde(default)]
    pub state: Map<String, Value>,
    /// Messages `{role, content, …}`, oldest first.
    #[serde(default)]
    history: VecDeque<KeptMessage>,
    /// The total size of all messages, in bytes.
    #[serde(default)]
    bytes: usize,
    /// The summary of the messages before those.
    #[serde(default)]
    pub summary: Option<String>,
}

/// A message, and how many bytes it has as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KeptMessage {
    bytes: usize,
    said: Value,
}

impl ScriptValues {
    /// Returns whether a step of this kind changes these values.
    pub fn is_changed_by(kind: &str) -> bool {
        matches!(
            kind,
            "state_set" | "history_append" | "history_revert" | "memory_set"
        )
    }

    /// A step was done: `{key, value}` for `state_set` (null takes the key away), `{message}` for
    /// `history_append`, nothing for `history_revert`, `{summary}` for `memory_set`. A step of another kind
    /// changes nothing.
    pub fn note(&mut self, kind: &str, input: &Value) {
        match kind {
            "state_set" => self.set(input),
            "history_append" => self.append(input.get("message").unwrap_or(&Value::Null)),
            "history_revert" => self.revert(),
            "memory_set" => {
                let summary = input.get("summary").and_then(Value::as_str);
                self.summary = summary.filter(|summary| !summary.is_empty()).map(str::to_owned);
            }
            _ => {}
        }
    }

    fn set(&mut self, input: &Value) {
        let Some(key) = input.get("key").and_then(Value::as_str) else {
            return;
        };
        match input.get("value").filter(|value| !value.is_null()) {
            Some(value) => {
                self.state.insert(key.to_owned(), value.clone());
            }
            None => {
                self.state.shift_remove(key);
            }
        }
    }

    fn append(&mut self, said: &Value) {
        let bytes = said.to_string().len();
        self.history.push_back(KeptMessage {
            bytes,
            said: said.clone(),
        });
        self.bytes += bytes;
        while self.history.len() > MAX_MESSAGES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.history.pop_front() else {
                return;
            };
            self.bytes -= oldest.bytes;
        }
    }

    /// Removes the last message of the user and everything after it; without such a message, everything.
    fn revert(&mut self) {
        while let Some(message) = self.history.pop_back() {
            self.bytes -= message.bytes;
            if message.said.get("role").and_then(Value::as_str) == Some("user") {
                return;
            }
        }
    }

    /// The last messages, oldest first.
    pub fn recent(&self, count: usize) -> impl Iterator<Item = &Value> {
        let left_out = self.history.len().saturating_sub(count);
        self.history.iter().skip(left_out).map(|message| &message.said)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_BYTES, MAX_MESSAGES, ScriptValues};

    fn said(role: &str, content: &str) -> serde_json::Value {
        json!({"message": {"role": role, "content": content}})
    }

    fn contents(kept: &ScriptValues, count: usize) -> Vec<&str> {
        kept.recent(count)
            .filter_map(|message| message["content"].as_str())
            .collect()
    }

    #[test]
    fn messages_are_taken_back_from_the_last_of_the_user_on() {
        let mut kept = ScriptValues::default();
        for (role, content) in [
            ("user", "a"),
            ("model", "b"),
            ("user", "c"),
            ("model", "d"),
            ("tool", "e"),
        ] {
            kept.note("history_append", &said(role, content));
        }
        assert_eq!(contents(&kept, 2), ["d", "e"]);
        kept.note("history_revert", &json!({}));
        assert_eq!(contents(&kept, 100), ["a", "b"]);
        kept.note("history_revert", &json!({}));
        kept.note("history_revert", &json!({}));
        assert_eq!(contents(&kept, 100), Vec::<&str>::new());
    }

    #[test]
    fn the_oldest_messages_go_first() {
        let mut kept = ScriptValues::default();
        for n in 0..MAX_MESSAGES + 5 {
            kept.note("history_append", &said("user", &n.to_string()));
        }
        assert_eq!(contents(&kept, usize::MAX).len(), MAX_MESSAGES);
        assert_eq!(contents(&kept, usize::MAX)[0], "5");
        kept.note("history_append", &said("user", &"x".repeat(MAX_BYTES - 100)));
        assert!(contents(&kept, usize::MAX).len() < 10);
    }

    #[test]
    fn values_and_the_summary_are_set_and_taken_away() {
        let mut kept = ScriptValues::default();
        kept.note("state_set", &json!({"key": "a", "value": 1}));
        kept.note("state_set", &json!({"key": "b", "value": 2}));
        kept.note("state_set", &json!({"key": "a", "value": null}));
        kept.note("memory_set", &json!({"summary": "so far"}));
        assert_eq!(
            (json!(kept.state), kept.summary.as_deref()),
            (json!({"b": 2}), Some("so far"))
        );
        kept.note("memory_set", &json!({"summary": ""}));
        assert_eq!(kept.summary, None);
    }
}
