//! Reads a text of what a script asks for.

use serde_json::Value;

/// Returns a text of a request; empty if there is none.
pub(crate) fn text<'a>(request: &'a Value, key: &str) -> &'a str {
    request.get(key).and_then(Value::as_str).unwrap_or_default()
}
