//! TypeScript types out of the JSON Schema: an interface for each object, a union for each choice.
//! Alternatives for tags of newer versions are left out, because no type can distinguish them from known
//! ones; readers still meet them.

use std::fmt::Write as _;

use serde_json::{Map, Value};

const HEAD: &str = "\
// The frames of AgentX, version 1, as TypeScript types. Generated from the Rust types; docs/PROTOCOL.md says
// what they mean. A newer server may send tags, fields and words that are not here: a reader ignores them.
";

/// The whole file.
pub(crate) fn of(schema: &Value) -> String {
    let mut out = HEAD.to_owned();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        out.push('\n');
        doc(&mut out, definition, "");
        if is_plain_object(definition) {
            let _ = writeln!(out, "export interface {name} {}", fields(definition, ""));
        } else {
            let made = expression(definition, "");
            let space = if made.starts_with('\n') { "" } else { " " };
            let _ = writeln!(out, "export type {name} ={space}{made};");
        }
    }
    out
}

/// The description as a comment above the described type.
fn doc(out: &mut String, schema: &Value, indent: &str) {
    let Some(text) = schema["description"].as_str() else {
        return;
    };
    assert!(!text.contains("*/"), "{text}");
    let _ = if text.contains('\n') {
        writeln!(
            out,
            "{indent}/**\n{indent} * {}\n{indent} */",
            text.replace('\n', &format!("\n{indent} * "))
        )
    } else {
        writeln!(out, "{indent}/** {text} */")
    };
}

/// An object with nothing but fields.
fn is_plain_object(schema: &Value) -> bool {
    let combines = ["$ref", "oneOf", "anyOf", "allOf"];
    schema.get("properties").is_some() && combines.iter().all(|keyword| schema.get(keyword).is_none())
}

/// The fields of an object between braces.
fn fields(schema: &Value, indent: &str) -> String {
    let none = Vec::new();
    let required = schema["required"].as_array().unwrap_or(&none);
    let deeper = format!("{indent}  ");
    let mut out = "{\n".to_owned();
    for (name, field) in schema["properties"].as_object().unwrap() {
        doc(&mut out, field, &deeper);
        let optional = if required.contains(&Value::from(name.as_str())) {
            ""
        } else {
            "?"
        };
        let _ = writeln!(out, "{deeper}{name}{optional}: {};", expression(field, &deeper));
    }
    let _ = write!(out, "{indent}}}");
    out
}

/// The fields of a small object on one line.
fn short_fields(schema: &Value) -> String {
    fields(&without_descriptions(schema), "")
        .replace("\n  ", " ")
        .replace(";\n}", " }")
}

fn without_descriptions(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let kept = map
                .iter()
                .filter(|(key, value)| *key != "description" || !value.is_string());
            Value::Object(
                kept.map(|(key, value)| (key.clone(), without_descriptions(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.iter().map(without_descriptions).collect(),
        other => other.clone(),
    }
}

/// A schema as a type: its keywords apply together.
fn expression(schema: &Value, indent: &str) -> String {
    let Value::Object(map) = schema else {
        return "unknown".to_owned();
    };
    let mut parts: Vec<String> = Vec::new();
    if let Some(path) = map.get("$ref").and_then(Value::as_str) {
        parts.push(path.trim_start_matches("#/$defs/").to_owned());
    }
    if let Some(Value::Array(all)) = map.get("allOf") {
        parts.extend(all.iter().map(|schema| expression(schema, indent)));
    }
    if map.contains_key("properties") {
        parts.push(short_fields(schema));
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(Value::Array(choices)) = map.get(keyword) {
            parts.push(union(choices, indent, parts.is_empty()));
        }
    }
    if parts.is_empty() {
        return simple(map, indent);
    }
    parts.join(" & ")
}

/// A choice, one line each if there are several objects; in brackets if it is part of a larger type.
fn union(choices: &[Value], indent: &str, is_alone: bool) -> String {
    let known = choices.iter().filter(|choice| !is_for_newer(choice));
    let types: Vec<String> = known.map(|choice| expression(choice, indent)).collect();
    let has_objects = types.iter().any(|choice| choice.contains('{'));
    let joined = if has_objects {
        let line = format!("\n{indent}  | ");
        format!("{line}{}", types.join(&line))
    } else {
        types.join(" | ")
    };
    match (is_alone, has_objects) {
        (true, _) => joined,
        (false, true) => format!("({joined}\n{indent})"),
        (false, false) => format!("({joined})"),
    }
}

/// Whether an alternative is for tags that this version does not know.
fn is_for_newer(schema: &Value) -> bool {
    let fields = schema["properties"].as_object();
    fields.is_some_and(|fields| fields.values().any(|field| field.get("not").is_some()))
}

fn simple(map: &Map<String, Value>, indent: &str) -> String {
    if let Some(value) = map.get("const") {
        return value.to_string();
    }
    if let Some(Value::Array(values)) = map.get("enum") {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return values.join(" | ");
    }
    match map.get("type") {
        Some(Value::Array(kinds)) => {
            let kinds: Vec<String> = kinds
                .iter()
                .map(|kind| of_kind(kind.as_str().unwrap(), map, indent))
                .collect();
            kinds.join(" | ")
        }
        Some(kind) => of_kind(kind.as_str().unwrap(), map, indent),
        None => "unknown".to_owned(),
    }
}

fn of_kind(kind: &str, map: &Map<String, Value>, indent: &str) -> String {
    match kind {
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let item = expression(&map["items"], indent);
            let needs_brackets = item.contains([' ', '|', '&']);
            if needs_brackets {
                format!("({item})[]")
            } else {
                format!("{item}[]")
            }
        }
        "object" => "Record<string, never>".to_owned(),
        word => word.to_owned(),
    }
}
