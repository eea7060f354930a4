//! JSON Schemas within files: whether they are such, as far as their types and lists go.

use agentx_config::yaml::{Node, Yaml};
use serde_json::{Map, Value, json};

use crate::check::Checker;
use crate::mistake::did_you_mean;
use crate::scalar::wrong;
use crate::source::plain;

/// Types of JSON Schema.
pub(crate) const TYPES: &[&str] = &[
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// A JSON Schema: `true`, `false` or a mapping whose `type`, where it is given, is one.
pub(crate) fn read(checker: &mut Checker<'_>, key: &str, node: &Node) -> Option<Value> {
    match &node.value {
        Yaml::Bool(bool) => Some((*bool).into()),
        Yaml::Map(entries) => {
            let mut right = true;
            for (name, value) in entries {
                right &= match (name.name.as_str(), &value.value) {
                    ("type", _) => types(checker, value),
                    ("properties" | "$defs", Yaml::Map(entries)) => {
                        entries.iter().fold(true, |right, (name, node)| {
                            read(checker, &name.name, node).is_some() && right
                        })
                    }
                    ("properties" | "$defs", _) => {
                        wrong(checker, &name.name, value, "names and schemas").is_some()
                    }
                    ("items" | "additionalProperties" | "not", _) => {
                        read(checker, &name.name, value).is_some()
                    }
                    ("required", node) if !all_texts(node) => {
                        wrong(checker, "required", value, "a list of names").is_some()
                    }
                    _ => true,
                };
            }
            right.then(|| plain(node))
        }
        _ => wrong(checker, key, node, "a JSON Schema"),
    }
}

fn all_texts(yaml: &Yaml) -> bool {
    matches!(yaml, Yaml::List(items) if items.iter().all(|item| matches!(item.value, Yaml::Text(_))))
}

/// A type of JSON Schema, or several.
pub(crate) fn types(checker: &mut Checker<'_>, node: &Node) -> bool {
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
        // All of them are looked at, so that all mistakes are shown.
        Yaml::List(items) if !items.is_empty() => {
            let wrong = items.iter().filter(|item| !types(checker, item)).count();
            wrong == 0
        }
        _ => wrong(checker, "type", node, "the name of a type").is_some(),
    }
}

/// The value of a schema for a name in the short form.
pub(crate) fn object_schema(properties: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if let Some(map) = schema.as_object_mut().filter(|_| !required.is_empty()) {
        map.insert("required".into(), Value::Array(required));
    }
    schema
}
