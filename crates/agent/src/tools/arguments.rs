//! Checks the arguments of a call against the schema of its tool, before any question to a person. The
//! message tells the model what to change: the argument, the expected value, the given value, and the nearest
//! name.
//!
//! Types, names, choices and bounds are checked. Other parts of a schema (a `$ref`, a pattern) are left to
//! the tool itself.

use agentx_types::ToolSpec;
use serde_json::{Map, Value};

use crate::tools::nearest_argument::nearest_argument;

/// Maximum number of reported errors of one call.
const MOST: usize = 8;

/// Returns the message to the model about wrong arguments of a call, if the tool's schema describes its
/// arguments completely.
///
/// ```
/// # use agentx_types::{Access, ToolSpec};
/// # use serde_json::json;
/// let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false});
/// let mut look = ToolSpec::new("look", "", schema, Access::Read);
/// look.checked = true;
/// let told = agentx_agent::arguments::argument_error(&look, &json!({"paht": "src"})).unwrap();
/// assert!(told.contains(r#"unknown argument "paht": did you mean "path"?"#));
/// look.checked = false;
/// assert_eq!(agentx_agent::arguments::argument_error(&look, &json!({"paht": "src"})), None);
/// ```
pub fn argument_error(tool: &ToolSpec, input: &Value) -> Option<String> {
    if !tool.checked {
        return None;
    }
    let problems = problems(&tool.input_schema, input);
    (!problems.is_empty()).then(|| error_message(tool, &problems))
}

/// Returns the message for a call with these problems: the problems, and the arguments of the tool.
pub fn error_message(tool: &ToolSpec, problems: &[String]) -> String {
    let mut lines: Vec<String> = problems
        .iter()
        .take(MOST)
        .map(|problem| format!("- {problem}"))
        .collect();
    if problems.len() > MOST {
        lines.push(format!("- and {} more", problems.len() - MOST));
    }
    format!(
        "Invalid arguments for {}; nothing was done.\n{}\nArguments: {}.",
        tool.name,
        lines.join("\n"),
        argument_list(&tool.input_schema)
    )
}

/// Returns all errors in the arguments at once, so that a model can correct them in one call. Missing
/// arguments (`null`) count as an empty object, and an optional value that is `null` counts as left out.
///
/// ```
/// use agentx_agent::arguments::problems;
/// use serde_json::json;
///
/// let properties = json!({"path": {"type": "string"}, "lines": {"type": "integer"}});
/// let schema = json!({"type": "object", "properties": properties, "required": ["path"]});
/// assert_eq!(problems(&schema, &json!({"lines": "ten"})).len(), 2);
/// assert!(problems(&schema, &json!({"path": "a", "lines": null})).is_empty());
/// ```
pub fn problems(schema: &Value, input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match input {
        Value::Null => object("", schema, &Map::new(), &mut found),
        Value::Object(arguments) => object("", schema, arguments, &mut found),
        other => found.push(format!(
            "expected an object with the arguments, got {}",
            brief(other)
        )),
    }
    found
}

fn object(path: &str, schema: &Value, given: &Map<String, Value>, found: &mut Vec<String>) {
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none();
    let known = |name: &str| properties(schema).any(|(known, _)| known == name);
    for name in given.keys().filter(|name| is_closed && !known(name)) {
        let free = properties(schema).map(|(known, _)| known);
        let near = nearest_argument(name, free.filter(|known| !given.contains_key(*known)));
        let near = near.map_or(String::new(), |near| format!(": did you mean \"{near}\"?"));
        found.push(format!(
            "unknown argument {}{near}",
            quoted(&joined_path(path, name))
        ));
    }
    for (name, wanted) in properties(schema) {
        let is_required = is_required(schema, name);
        match given.get(name) {
            None if is_required => found.push(format!(
                "missing argument \"{}\": {}",
                joined_path(path, name),
                expected(wanted)
            )),
            // Many models send `null` for an argument that they leave out.
            None | Some(Value::Null) if !is_required => {}
            Some(value) => check(&joined_path(path, name), wanted, value, found),
            None => {}
        }
    }
}

/// Checks one value against its schema.
fn check(path: &str, schema: &Value, value: &Value, found: &mut Vec<String>) {
    if !has_shape(schema, value) {
        let near = suggestion(schema, value);
        let near = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
        let (wanted, came) = (expected(schema), brief(value));
        found.push(format!(
            "argument \"{path}\": expected {wanted}, got {came}{near}"
        ));
        return;
    }
    if let Some(problem) = out_of_bounds(schema, value) {
        found.push(format!("argument \"{path}\": {problem}"));
    }
    match value {
        Value::Object(given) => object(path, schema, given, found),
        Value::Array(items) => {
            let Some(wanted) = schema.get("items") else { return };
            // Schemas cannot mark an item as optional.
            for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_null()) {
                check(&format!("{path}[{index}]"), wanted, item, found);
            }
        }
        _ => {}
    }
}

/// Returns whether a value is one of the choices and of the type that the schema asks for.
fn has_shape(schema: &Value, value: &Value) -> bool {
    if let Some(choices) = list(schema, "enum") {
        return choices.contains(value);
    }
    if let Some(only) = schema.get("const") {
        return only == value;
    }
    let fits = |choice: &Value| {
        let mut found = Vec::new();
        check("", choice, value, &mut found);
        found.is_empty()
    };
    if let Some(choices) = list(schema, "anyOf").or_else(|| list(schema, "oneOf"))
        && !choices.iter().any(fits)
    {
        return false;
    }
    match schema.get("type") {
        Some(Value::String(kind)) => is_a(kind, schema, value),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .any(|kind| is_a(kind, schema, value)),
        _ => true,
    }
}

fn is_a(kind: &str, schema: &Value, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => {
            let is_whole =
                value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|n| n.fract() == 0.0);
            is_whole && reaches_minimum(schema, value)
        }
        "number" => value.is_number() && reaches_minimum(schema, value),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Returns whether a number is at least the `minimum` that `expected` states.
fn reaches_minimum(schema: &Value, value: &Value) -> bool {
    let minimum = schema.get("minimum").and_then(Value::as_f64);
    minimum.is_none_or(|minimum| value.as_f64().is_some_and(|number| number >= minimum))
}

/// The bound that a value of the right type breaks, as text.
fn out_of_bounds(schema: &Value, value: &Value) -> Option<String> {
    let (size, what, least, most) = match value {
        Value::Number(number) => (number.as_f64()?, "", "minimum", "maximum"),
        Value::String(text) => (
            text.chars().count() as f64,
            "a length of ",
            "minLength",
            "maxLength",
        ),
        Value::Array(items) => (items.len() as f64, "a length of ", "minItems", "maxItems"),
        _ => return None,
    };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    match (bound(least), bound(most)) {
        (Some(least), _) if size < least => Some(format!("expected {what}at least {least}, got {size}")),
        (_, Some(most)) if size > most => Some(format!("expected {what}at most {most}, got {size}")),
        _ => None,
    }
}

fn list<'a>(schema: &'a Value, key: &str) -> Option<&'a Vec<Value>> {
    schema.get(key).and_then(Value::as_array)
}

fn suggestion<'a>(schema: &'a Value, value: &Value) -> Option<&'a str> {
    nearest_argument(
        value.as_str()?,
        list(schema, "enum")?.iter().filter_map(Value::as_str),
    )
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
    list(schema, "required").is_some_and(|names| names.iter().any(|other| other == name))
}

/// The type that a schema asks for, in a few words.
fn expected(schema: &Value) -> String {
    if let Some(choices) = list(schema, "enum") {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return format!("one of {}", choices.join(", "));
    }
    match schema.get("type") {
        Some(Value::String(kind)) => kind_in_words(kind, schema),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            let words: Vec<String> = kinds.map(|kind| kind_in_words(kind, schema)).collect();
            words.join(" or ")
        }
        _ => "value".into(),
    }
}

fn kind_in_words(kind: &str, schema: &Value) -> String {
    match (kind, schema.get("minimum")) {
        ("array", _) => {
            let items = schema.get("items").map_or("values".into(), expected);
            format!("array of {items}")
        }
        ("object", _) => {
            let names: Vec<&str> = properties(schema).map(|(name, _)| name).collect();
            format!("object {{{}}}", names.join(", "))
        }
        ("integer" | "number", Some(minimum)) => format!("{kind} ≥ {minimum}"),
        _ => kind.into(),
    }
}

/// The given value, shortened: the model knows what it wrote, so the beginning is enough.
fn brief(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => format!("string {}", quoted(text)),
        Value::Array(items) => format!("array of {}", items.len()),
        Value::Object(_) => "object".into(),
    }
}

fn joined_path(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
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
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1},
                "timeout_ms": {"type": "integer", "minimum": 0, "maximum": 100},
                "items": {"type": "array", "maxItems": 12, "items": {
                    "type": "object",
                    "properties": {"status": {"type": "string", "enum": ["pending", "completed"]}},
                    "required": ["status"],
                    "additionalProperties": false,
                }},
                "where": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "share": {"type": ["number", "null"]},
            },
            "required": ["command"],
            "additionalProperties": false,
        })
    }

    #[track_caller]
    fn check(input: &Value, says: &[&str]) {
        assert_eq!(problems(&schema(), input), says, "{input}");
    }

    #[test]
    fn what_fits_is_left_alone() {
        for input in [
            json!({"command": "ls"}),
            json!({"command": "ls", "timeout_ms": null, "items": [], "share": null}),
            json!({"command": "ls", "timeout_ms": 100, "items": [{"status": "pending"}], "where": 3, "share": 0.5}),
            json!({"command": "ls", "timeout_ms": 5.0, "where": "here", "items": [null]}),
        ] {
            check(&input, &[]);
        }
        let open = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}});
        assert!(problems(&open, &json!({"a": 1, "b": 2})).is_empty());
        let nothing_is_asked_for = json!({});
        assert!(problems(&nothing_is_asked_for, &json!({"a": 1})).is_empty());
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        check(
            &json!({"cmd": "ls", "timeout_ms": "5"}),
            &[
                r#"unknown argument "cmd": did you mean "command"?"#,
                r#"missing argument "command": string"#,
                r#"argument "timeout_ms": expected integer ≥ 0, got string "5""#,
            ],
        );
        check(
            &json!({"command": "", "timeout_ms": 101}),
            &[
                r#"argument "command": expected a length of at least 1, got 0"#,
                r#"argument "timeout_ms": expected at most 100, got 101"#,
            ],
        );
        check(
            &json!({"command": ["ls"], "where": true, "share": "half"}),
            &[
                r#"argument "command": expected string, got array of 1"#,
                r#"argument "where": expected value, got true"#,
                r#"argument "share": expected number or null, got string "half""#,
            ],
        );
        check(
            &json!([1]),
            &["expected an object with the arguments, got array of 1"],
        );
        check(&Value::Null, &[r#"missing argument "command": string"#]);
    }

    #[test]
    fn mistakes_inside_of_arguments_are_told_with_their_place() {
        check(
            &json!({"command": "a", "items": [{"status": "complete"}, {}, {"status": "pending", "x": 1}, 4]}),
            &[
                r#"argument "items[0].status": expected one of "pending", "completed", got string "complete"; did you mean "completed"?"#,
                r#"missing argument "items[1].status": one of "pending", "completed""#,
                r#"unknown argument "items[2].x""#,
                r#"argument "items[3]": expected object {status}, got 4"#,
            ],
        );
    }

    #[test]
    fn what_is_told_is_bounded() {
        let mut tool = crate::fixtures::config().tools[0].clone();
        tool.input_schema = schema();
        tool.checked = true;
        let items = vec![json!({}); 12];
        let told = argument_error(&tool, &json!({"command": "a", "items": items})).unwrap();
        assert_eq!(told.matches("missing argument").count(), MOST);
        assert!(told.contains("- and 4 more\nArguments: command (s"), "{told}");
        let long = "x".repeat(10_000);
        assert!(
            argument_error(&tool, &json!({"command": "a", (long): 1}))
                .unwrap()
                .len()
                < 500
        );
    }
}
