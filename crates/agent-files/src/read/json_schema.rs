//! Checks whether JSON Schemas in files are valid. Each keyword is checked alone, so that an error is
//! reported at its place; the compiler of the schema checks their combination.

use agentx_config::yaml::{Yaml, YamlNode};
use serde_json::{Map, Value, json};

use crate::mistake::did_you_mean;
use crate::read::checker::{Checker, wrong};

/// Types of JSON Schema.
pub(crate) const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// Returns a JSON Schema: `true`, `false` or a mapping with valid keywords.
pub(crate) fn read(checker: &mut Checker<'_>, key: &str, node: &YamlNode) -> Option<Value> {
    match &node.value {
        Yaml::Bool(bool) => Some((*bool).into()),
        Yaml::Map(entries) => {
            // All of them are checked, so that all errors are shown.
            let wrong = entries
                .iter()
                .filter(|(name, value)| !word(checker, &name.name, value))
                .count();
            (wrong == 0).then(|| node.to_json())
        }
        _ => wrong(checker, key, node, "a JSON Schema"),
    }
}

/// Returns whether a keyword has a valid value. Unknown keywords may have any value.
fn word(checker: &mut Checker<'_>, name: &str, node: &YamlNode) -> bool {
    let (fits, what) = match name {
        "type" => return types(checker, node),
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" => {
            return schemas_by_name(checker, name, node);
        }
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => return schemas(checker, name, node),
        "items" | "additionalProperties" | "not" | "contains" | "propertyNames" | "if" | "then" | "else" => {
            return read(checker, name, node).is_some();
        }
        "required" => (all_texts(&node.value), "a list of names"),
        "enum" => (
            matches!(&node.value, Yaml::List(items) if !items.is_empty()),
            "a list of values",
        ),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            (number(&node.value).is_some(), "a number")
        }
        "multipleOf" => (number(&node.value).is_some_and(|is| is > 0.0), "a number above 0"),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => (
            matches!(node.value, Yaml::Int(count) if count >= 0),
            "a whole number from 0",
        ),
        "uniqueItems" => (matches!(node.value, Yaml::Bool(_)), "true or false"),
        "pattern" | "description" | "title" | "format" | "$ref" => {
            (matches!(node.value, Yaml::Text(_)), "text")
        }
        _ => return true,
    };
    fits || wrong(checker, name, node, what).is_some()
}

fn schemas_by_name(checker: &mut Checker<'_>, key: &str, node: &YamlNode) -> bool {
    let Yaml::Map(entries) = &node.value else {
        return wrong(checker, key, node, "names and schemas").is_some();
    };
    let wrong = entries
        .iter()
        .filter(|(name, schema)| read(checker, &name.name, schema).is_none())
        .count();
    wrong == 0
}

fn schemas(checker: &mut Checker<'_>, key: &str, node: &YamlNode) -> bool {
    let items = match &node.value {
        Yaml::List(items) if !items.is_empty() => items,
        _ => return wrong(checker, key, node, "a list of schemas").is_some(),
    };
    let wrong = items
        .iter()
        .filter(|schema| read(checker, key, schema).is_none())
        .count();
    wrong == 0
}

#[expect(clippy::cast_precision_loss, reason = "only its sign is asked for")]
fn number(yaml: &Yaml) -> Option<f64> {
    match yaml {
        Yaml::Int(int) => Some(*int as f64),
        Yaml::Float(float) => Some(*float),
        _ => None,
    }
}

fn all_texts(yaml: &Yaml) -> bool {
    matches!(yaml, Yaml::List(items) if items.iter().all(|item| matches!(item.value, Yaml::Text(_))))
}

/// Returns a type of JSON Schema, or several.
pub(crate) fn types(checker: &mut Checker<'_>, node: &YamlNode) -> bool {
    match &node.value {
        Yaml::Text(name) if TYPES.contains(&name.as_str()) => true,
        Yaml::Text(name) => {
            let hint = did_you_mean(name, TYPES.iter().copied());
            checker.wrong(
                node.at,
                format!("`type`: expected one of {}, found {name:?}", TYPES.join(", ")),
                hint,
            );
            false
        }
        Yaml::List(items) if !items.is_empty() => {
            let wrong = items.iter().filter(|item| !types(checker, item)).count();
            wrong == 0
        }
        _ => wrong(checker, "type", node, "the name of a type").is_some(),
    }
}

/// Returns the value of a schema for a name in the short form.
pub(crate) fn object_schema(properties: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let Some(map) = schema.as_object_mut().filter(|_| !required.is_empty()) {
        map.insert("required".into(), Value::Array(required));
    }
    schema
}
