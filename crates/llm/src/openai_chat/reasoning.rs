//! `reasoning_details` (OpenRouter, Vercel): the reasoning with the data that its provider wants back,
//! signatures and encrypted blocks. They stream in pieces of a few tokens; this module joins the pieces of a
//! block, which is sent back with the next request.
//!
//! ```text
//! {"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"First, "}]}}
//! {"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"I look."}]}}
//! {"delta":{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"…"}]}}
//! ```

use serde_json::{Map, Value, json};

/// The details of one answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

impl Details {
    /// Adds a piece, as it arrived.
    pub(super) fn add(&mut self, raw: &str) {
        let Ok(Value::Array(items)) = serde_json::from_str(raw) else {
            return;
        };
        for item in items {
            if let Value::Object(item) = item {
                self.add_item(item);
            }
        }
    }

    fn add_item(&mut self, item: Map<String, Value>) {
        match self.0.last_mut() {
            Some(last) if continues(last, &item) => join(last, item),
            _ => self.0.push(item),
        }
    }

    /// Returns all details as they are kept; `None` if they contain only the text.
    pub(super) fn finish(self) -> Option<Value> {
        let opaque = |item: &Map<String, Value>| {
            ["signature", "data"]
                .iter()
                .any(|key| item.get(*key).is_some_and(|value| !value.is_null()))
        };
        self.0
            .iter()
            .any(opaque)
            .then(|| json!({"reasoning_details": self.0}))
    }
}

/// Returns whether `item` is the next piece of the block `last`. Encrypted blocks are never in pieces.
fn continues(last: &Map<String, Value>, item: &Map<String, Value>) -> bool {
    let same = |key: &str| last.get(key).unwrap_or(&Value::Null) == item.get(key).unwrap_or(&Value::Null);
    let in_pieces = matches!(
        item.get("type").and_then(Value::as_str),
        Some("reasoning.text" | "reasoning.summary")
    );
    in_pieces && same("type") && same("index")
}

fn join(last: &mut Map<String, Value>, item: Map<String, Value>) {
    for (key, value) in item {
        match (key.as_str(), last.get_mut(&key), value) {
            (_, _, Value::Null) => {}
            ("text" | "summary", Some(Value::String(present)), Value::String(later)) => {
                present.push_str(&later)
            }
            (_, _, value) => {
                last.insert(key, value);
            }
        }
    }
}
