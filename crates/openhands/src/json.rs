//! Reads JSON whose form differs from version to version: a missing field, or one of another type, is empty.

use serde_json::Value;

/// Returns the text of a field; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the elements of a field that is a list; empty for any other field.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the text of the first of these fields that is not empty.
pub(crate) fn first_text<'a>(value: &'a Value, keys: &[&str]) -> &'a str {
    let texts = keys.iter().map(|key| text(value, key));
    texts
        .into_iter()
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default()
}

/// Returns an id, which is a number in V0 and a text in V1; `None` if there is none.
pub(crate) fn id(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// Returns a count; 0 if there is none.
pub(crate) fn count(value: &Value, key: &str) -> u64 {
    let found = value.get(key);
    let whole = found.and_then(Value::as_u64);
    whole.unwrap_or_else(|| found.and_then(Value::as_f64).map_or(0, |number| number as u64))
}

/// Returns the arguments of a call, which some versions write as JSON text; `None` if they are not an object.
pub(crate) fn arguments(value: &Value) -> Option<Value> {
    let read = match value {
        Value::String(text) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
        Value::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    read.is_object().then_some(read)
}
