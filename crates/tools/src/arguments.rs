//! Arguments of a call, from JSON to a type. An error tells the model what to change: which argument, what was expected,
//! what came, and the nearest name.

use agentx_types::ToolSpec;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::{ToolFailure, nearest};

/// Reads `input` as the arguments of the tool with this `spec`.
pub(crate) fn parse<T: DeserializeOwned>(spec: &ToolSpec, input: &Value) -> Result<T, ToolFailure> {
    let empty = Value::Object(Map::new());
    let input = if input.is_null() { &empty } else { input };
    let problems = match input {
        Value::Object(arguments) => name_problems(&spec.input_schema, arguments),
        other => vec![format!(
            "expected an object with the arguments, got {}",
            brief(other)
        )],
    };
    if !problems.is_empty() {
        return Err(failure(spec, &problems));
    }
    serde_path_to_error::deserialize(input)
        .map_err(|error| failure(spec, &[value_problem(&spec.input_schema, input, &error)]))
}

fn failure(spec: &ToolSpec, problems: &[String]) -> ToolFailure {
    let problems: Vec<String> = problems.iter().map(|problem| format!("- {problem}")).collect();
    let arguments = argument_list(&spec.input_schema);
    ToolFailure::invalid(format!(
        "Invalid arguments for {}; nothing was done.\n{}\nArguments: {arguments}.",
        spec.name,
        problems.join("\n")
    ))
}

/// Arguments that do not exist, and arguments that are missing: all of them at once.
fn name_problems(schema: &Value, arguments: &Map<String, Value>) -> Vec<String> {
    let known: Vec<&str> = properties(schema).map(|(name, _)| name).collect();
    let unknown = arguments
        .keys()
        .filter(|name| !known.contains(&name.as_str()))
        .map(|name| {
            let free = known
                .iter()
                .copied()
                .filter(|candidate| !arguments.contains_key(*candidate));
            match nearest(name, free) {
                Some(near) => format!("unknown argument {}: did you mean \"{near}\"?", quoted(name)),
                None => format!("unknown argument {}", quoted(name)),
            }
        });
    let missing = properties(schema)
        .filter(|(name, _)| is_required(schema, name) && !arguments.contains_key(*name))
        .map(|(name, property)| format!("missing argument \"{name}\": {}", expected(property)));
    unknown.chain(missing).collect()
}

fn value_problem(
    schema: &Value,
    input: &Value,
    error: &serde_path_to_error::Error<serde_json::Error>,
) -> String {
    let said = error.inner().to_string();
    let mut place = (Some(schema), Some(input));
    for segment in error.path() {
        place = match segment {
            Segment::Map { key } => (
                place.0.and_then(|schema| schema.get("properties")?.get(key)),
                place.1.and_then(|value| value.get(key)),
            ),
            Segment::Seq { index } => (
                place.0.and_then(|schema| schema.get("items")),
                place.1.and_then(|value| value.get(*index)),
            ),
            Segment::Enum { .. } | Segment::Unknown => place,
        };
    }
    let path = error.path().to_string();
    match place {
        (Some(schema), Some(value)) if !fits(schema, value) => {
            let near = suggestion(schema, value)
                .map(|near| format!("; did you mean \"{near}\"?"))
                .unwrap_or_default();
            format!(
                "argument \"{path}\": expected {}, got {}{near}",
                expected(schema),
                brief(value)
            )
        }
        _ => format!("argument \"{path}\": {said}"),
    }
}

/// Whether a value has the type that the schema asks for, as far as a short error message cares.
fn fits(schema: &Value, value: &Value) -> bool {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return choices.contains(value);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("integer") => {
            let minimum = schema.get("minimum").and_then(Value::as_f64).unwrap_or(f64::MIN);
            (value.is_u64() || value.is_i64()) && value.as_f64().is_some_and(|number| number >= minimum)
        }
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    }
}

fn suggestion<'a>(schema: &'a Value, value: &Value) -> Option<&'a str> {
    let choices = schema.get("enum")?.as_array()?;
    nearest(value.as_str()?, choices.iter().filter_map(Value::as_str))
}

fn argument_list(schema: &Value) -> String {
    let arguments: Vec<String> = properties(schema)
        .map(|(name, property)| {
            let required = if is_required(schema, name) {
                ", required"
            } else {
                ""
            };
            format!("{name} ({}{required})", expected(property))
        })
        .collect();
    if arguments.is_empty() {
        "none".into()
    } else {
        arguments.join(", ")
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.as_str(), property))
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| names.iter().any(|other| other == name))
}

/// What a schema asks for, in a few words.
fn expected(schema: &Value) -> String {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return format!("one of {}", choices.join(", "));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => format!(
            "array of {}",
            schema.get("items").map_or("values".into(), expected)
        ),
        Some("object") => {
            let names: Vec<&str> = properties(schema).map(|(name, _)| name).collect();
            format!("object {{{}}}", names.join(", "))
        }
        Some("integer") if schema.get("minimum").is_some() => {
            format!("integer ≥ {}", schema.get("minimum").unwrap_or(&Value::Null))
        }
        Some(kind) => kind.into(),
        None => "value".into(),
    }
}

/// What came, in a few words: the model knows what it wrote, so the beginning is enough.
fn brief(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("string {}", quoted(text)),
        Value::Array(items) => format!("array of {}", items.len()),
        Value::Object(_) => "object".into(),
    }
}

fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_types::Access;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Status {
        Pending,
        Completed,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Item {
        status: Status,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Input {
        command: String,
        timeout_ms: Option<u64>,
        items: Option<Vec<Item>>,
    }

    #[track_caller]
    fn check(input: Value, says: &[&str]) {
        let spec = ToolSpec {
            name: "bash".into(),
            description: String::new(),
            input_schema: crate::schema::of::<Input>(),
            access: Access::Run,
            path_argument: None,
            command_argument: None,
            idempotent: false,
            quit: false,
        };
        let failure = parse::<Input>(&spec, &input).unwrap_err();
        for words in says {
            assert!(
                failure.text.contains(words),
                "{words:?} is not in:\n{}",
                failure.text
            );
        }
        assert_eq!(failure.status, agentx_types::ToolStatus::Invalid);
    }

    #[test]
    fn errors_say_what_to_change() {
        check(
            json!({"cmd": "ls"}),
            &[
                r#"unknown argument "cmd": did you mean "command"?"#,
                r#"missing argument "command": string"#,
                "Arguments: command (string, required), timeout_ms (integer ≥ 0)",
            ],
        );
        check(
            json!({"command": "ls", "timeout": 5}),
            &[r#"unknown argument "timeout": did you mean "timeout_ms"?"#],
        );
        check(
            json!({"command": ["ls"]}),
            &[r#"argument "command": expected string, got array of 1"#],
        );
        check(
            json!({"command": "a", "timeout_ms": "5"}),
            &[r#"argument "timeout_ms": expected integer ≥ 0, got string "5""#],
        );
        check(
            json!({"command": "a", "timeout_ms": -5}),
            &["expected integer ≥ 0, got -5"],
        );
        check(
            json!({"command": "a", "items": [{"status": "complete"}]}),
            &[
                r#"argument "items[0].status": expected one of "pending", "completed", got string "complete"; did you mean "completed"?"#,
            ],
        );
        check(
            json!({"command": "a", "items": [{}]}),
            &[r#"argument "items[0]": missing field `status`"#],
        );
        check(
            json!({"command": "a", "items": [{"x": 1}]}),
            &["unknown field `x`"],
        );
        check(
            json!([1]),
            &["expected an object with the arguments, got array of 1"],
        );
        check(Value::Null, &[r#"missing argument "command""#]);
    }
}
