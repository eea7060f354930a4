//! Arguments of a call that come in pieces: each names its place by a JSON path.
//!
//! ```text
//! {"functionCall":{"name":"write","willContinue":true}}
//! {"functionCall":{"partialArgs":[{"jsonPath":"$.items[0].name","stringValue":"ap","willContinue":true}],"willContinue":true}}
//! {"functionCall":{"partialArgs":[{"jsonPath":"$.items[0].name","stringValue":"ple"}],"willContinue":true}}
//! {"functionCall":{}}
//! ```
//!
//! Vertex AI streams so if it is asked to (`streamFunctionCallArguments`); AgentX does not ask, gateways may.

use serde_json::{Map, Value};

use super::wire::PartialArg;
use crate::emitter::MAX_DEPTH;

/// The largest index of a list that a piece may name beyond the list's end: the places between are filled
/// with `null`.
const MOST_SKIPPED: usize = 1_024;

/// The arguments that have arrived.
#[derive(Clone, Debug)]
pub(super) struct PartialArgs {
    value: Value,
    /// The path of the text that the next piece continues.
    open: Option<String>,
}

/// A step of a path.
enum PathStep {
    Field(String),
    Index(usize),
}

impl PartialArgs {
    pub(super) fn new() -> Self {
        Self {
            value: Value::Object(Map::new()),
            open: None,
        }
    }

    pub(super) fn into_value(self) -> Value {
        self.value
    }

    /// Adds a piece. `None` if its path cannot be followed.
    pub(super) fn add(&mut self, piece: &PartialArg<'_>) -> Option<()> {
        let path = piece.json_path.as_deref().unwrap_or_default();
        let steps = steps(path)?;
        let mut slot = &mut self.value;
        for step in steps {
            slot = go(slot, step)?;
        }
        let is_open = self.open.as_deref() == Some(path);
        match (&piece.string_value, piece.number_value, piece.bool_value) {
            (Some(text), ..) => match slot {
                Value::String(before) if is_open => before.push_str(text),
                slot => *slot = Value::String(text.to_string()),
            },
            (None, Some(number), _) => *slot = serde_json::from_str(number.get()).ok()?,
            (None, None, Some(bool)) => *slot = Value::Bool(bool),
            (None, None, None) => *slot = Value::Null,
        }
        self.open = piece.continues().then(|| path.to_owned());
        Some(())
    }
}

/// The place of a step below a value, which becomes an object or a list if it is neither.
fn go(slot: &mut Value, step: PathStep) -> Option<&mut Value> {
    match step {
        PathStep::Field(name) => {
            if !slot.is_object() {
                *slot = Value::Object(Map::new());
            }
            Some(slot.as_object_mut()?.entry(name).or_insert(Value::Null))
        }
        PathStep::Index(index) => {
            if !slot.is_array() {
                *slot = Value::Array(Vec::new());
            }
            let list = slot.as_array_mut()?;
            if index >= list.len().saturating_add(MOST_SKIPPED) {
                return None;
            }
            if index >= list.len() {
                list.resize(index + 1, Value::Null);
            }
            list.get_mut(index)
        }
    }
}

/// The steps of `$.name[0]['other name']`. `None` if the path has another form, is empty or too deep.
fn steps(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, behind) = if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            (PathStep::Field(name[..end].to_owned()), &name[end..])
        } else {
            in_brackets(rest.strip_prefix('[')?)?
        };
        steps.push(step);
        if steps.len() >= MAX_DEPTH {
            return None;
        }
        rest = behind;
    }
    (!steps.is_empty()).then_some(steps)
}

/// The step after an opening bracket, and the text after the closing one.
fn in_brackets(text: &str) -> Option<(PathStep, &str)> {
    for quote in ['\'', '"'] {
        if let Some(quoted) = text.strip_prefix(quote) {
            let (name, behind) = quoted.split_once(&[quote, ']'].iter().collect::<String>())?;
            return Some((PathStep::Field(name.to_owned()), behind));
        }
    }
    let (index, behind) = text.split_once(']')?;
    Some((PathStep::Index(index.parse().ok()?), behind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put(pieces: &[Value]) -> Option<Value> {
        let mut args = PartialArgs::new();
        for piece in pieces {
            let piece = piece.to_string();
            args.add(&serde_json::from_str(&piece).expect("a piece"))?;
        }
        Some(args.into_value())
    }

    #[test]
    fn pieces_are_put_where_their_paths_say() {
        let pieces = [
            json!({"jsonPath": "$.a", "stringValue": "x", "willContinue": true}),
            json!({"jsonPath": "$.a", "stringValue": "y"}),
            json!({"jsonPath": "$.list[1].n", "numberValue": 0.5}),
            json!({"jsonPath": "$.list[0]", "boolValue": true}),
            json!({"jsonPath": "$['b.c'][\"d]\"]", "nullValue": "NULL_VALUE"}),
            json!({"jsonPath": "$.a2", "stringValue": "x"}),
            json!({"jsonPath": "$.a2", "stringValue": "z"}),
        ];
        let expected = json!({"a": "xy", "list": [true, {"n": 0.5}], "b.c": {"d]": null}, "a2": "z"});
        assert_eq!(put(&pieces), Some(expected));
    }

    #[test]
    fn a_path_that_cannot_be_followed_is_refused() {
        for path in [
            "",
            "$",
            "a",
            "$a",
            "$.a[",
            "$.a[x]",
            "$.a[-1]",
            "$['a",
            "$.a[1024]",
        ] {
            assert_eq!(
                put(&[json!({"jsonPath": path, "boolValue": true})]),
                None,
                "{path}"
            );
        }
        let deep = format!("${}", ".a".repeat(MAX_DEPTH));
        assert_eq!(put(&[json!({"jsonPath": deep, "boolValue": true})]), None);
    }
}
