//! The results that the scripts must have, from what `docs/LUAU.md` says about values alone.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

/// The end that a run must have.
pub(super) enum Expected {
    /// With this value, if each value that crosses between the script and the host fits the limits.
    Value {
        value: Value,
        /// The arguments that the tool `echo` must have received, if it was called.
        asked: Option<Value>,
        /// Every value that crosses, the result among them.
        crossing: Vec<Value>,
    },
    /// With the error that the result is not JSON.
    NotJson,
    /// With an error that the script raises.
    Fails,
}

/// A value as a script returns it after it came in. A null in an object is an absent key, if nulls are not
/// kept; bytes that are text are that text; names are sorted; all numbers are doubles.
fn returned(value: &Value, keeps_nulls: bool) -> Value {
    if let Some(bytes) = bytes_of(value) {
        return text_or_bytes(bytes);
    }
    match value {
        Value::Number(number) => double(number.as_f64().unwrap_or(f64::NAN)),
        Value::Array(items) => items.iter().map(|item| returned(item, keeps_nulls)).collect(),
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, item)| keeps_nulls || !item.is_null());
            sorted(there.map(|(name, item)| (name.clone(), returned(item, keeps_nulls))))
        }
        other => other.clone(),
    }
}

/// The number as a whole one, if it is one of 64 bits.
fn double(number: f64) -> Value {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    #[allow(
        clippy::cast_possible_truncation,
        reason = "it is used only if nothing is cut off"
    )]
    let whole = number as i64;
    if number.fract() == 0.0 && (-BEYOND..BEYOND).contains(&number) {
        Value::from(whole)
    } else {
        Value::from(number)
    }
}

/// An object with its names in order.
fn sorted(fields: impl Iterator<Item = (String, Value)>) -> Value {
    let fields: BTreeMap<String, Value> = fields.collect();
    Value::Object(fields.into_iter().collect())
}

/// The bytes that a script gets for a text, or for an object that represents bytes.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Object(fields) if fields.len() == 1 => BASE64.decode(fields.get("$bytes")?.as_str()?).ok(),
        _ => None,
    }
}

/// The value of a string that a script returns.
fn text_or_bytes(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => Value::String(text),
        Err(error) => json!({"$bytes": BASE64.encode(error.as_bytes())}),
    }
}

/// Whether a script gets a table.
fn is_table(args: &Value) -> bool {
    matches!(args, Value::Array(_) | Value::Object(_)) && bytes_of(args).is_none()
}

fn result(value: Value) -> Expected {
    Expected::Value {
        asked: None,
        crossing: vec![value.clone()],
        value,
    }
}

pub(super) fn as_given(args: &Value) -> Expected {
    result(returned(args, false))
}

pub(super) fn encoded(args: &Value) -> Expected {
    let value = returned(args, false);
    let text = Value::String(value.to_string());
    Expected::Value {
        asked: None,
        crossing: vec![value, text.clone()],
        value: text,
    }
}

pub(super) fn encoded_and_decoded(args: &Value) -> Expected {
    let once = returned(args, false);
    let (text, value) = (Value::String(once.to_string()), returned(&once, true));
    Expected::Value {
        asked: None,
        crossing: vec![once, text, value.clone()],
        value,
    }
}

pub(super) fn decoded(args: &Value) -> Expected {
    let text = args.as_str().unwrap_or_default();
    let Ok(read) = serde_json::from_str::<Value>(text) else {
        return Expected::Fails;
    };
    let value = returned(&read, true);
    Expected::Value {
        asked: None,
        crossing: vec![args.clone(), read, value.clone()],
        value,
    }
}

pub(super) fn echoed(args: &Value) -> Expected {
    let sent = match returned(args, false) {
        Value::Null => json!({}),
        sent => sent,
    };
    let request = json!({"args": sent, "tool": "echo"});
    let value = returned(&sent, false);
    Expected::Value {
        crossing: vec![request, value.clone()],
        asked: Some(sent),
        value,
    }
}

pub(super) fn three_times(args: &Value) -> Expected {
    result(match returned(args, false) {
        Value::Null => json!({"list": {}}),
        value => json!({"list": [value, value], "value": value}),
    })
}

/// A copy of a list that is empty is an object.
pub(super) fn copied(args: &Value) -> Expected {
    fn copy(value: Value) -> Value {
        match value {
            Value::Array(items) if items.is_empty() => json!({}),
            Value::Array(items) => items.into_iter().map(copy).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, item)| (name, copy(item)));
                Value::Object(fields.collect())
            }
            other => other,
        }
    }
    result(copy(returned(args, false)))
}

pub(super) fn under_names(args: &Value) -> Expected {
    result(match returned(args, false) {
        Value::Array(items) => {
            let named = (1_usize..).zip(items);
            sorted(named.map(|(position, item)| (position.to_string(), item)))
        }
        other => other,
    })
}

pub(super) fn reversed(args: &Value) -> Expected {
    result(match bytes_of(args) {
        Some(bytes) => text_or_bytes(bytes.into_iter().rev().collect()),
        None => returned(args, false),
    })
}

pub(super) fn not_json_if_table(args: &Value) -> Expected {
    if is_table(args) {
        Expected::NotJson
    } else {
        as_given(args)
    }
}

pub(super) fn too_large(_: &Value) -> Expected {
    Expected::NotJson
}
