//! Parameters of a tool: the short form, or a whole JSON Schema of an object.
//!
//! Short form: `city: {type: string, description: …}`. A parameter is required unless it says `optional:
//! true` or gives a `default`. All other keywords of JSON Schema (`enum`, `items`, `minimum`, …) are allowed
//! in it. `city: string` is shorter still.

use agentx_config::yaml::{Yaml, YamlKey, YamlNode};
use agentx_types::{ARGUMENT_HEADER, argument_headers};
use serde_json::{Map, Value, json};

use crate::mistake::did_you_mean;
use crate::read::checker::Checker;
use crate::read::entries::text_of;
use crate::read::json_schema::{self, TYPES, object_schema};

/// The keywords of a parameter in the short form: those of JSON Schema, and `optional`.
const WORDS: &[&str] = &[
    "type",
    "description",
    "optional",
    "default",
    "enum",
    "const",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "title",
    "examples",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "prefixItems",
    "minProperties",
    "maxProperties",
    "$ref",
    "deprecated",
    ARGUMENT_HEADER,
];

/// Reads parameters and gives the JSON Schema of the arguments.
pub(crate) fn read(checker: &mut Checker<'_>, key: &str, node: &YamlNode) -> Option<Value> {
    let schema = read_schema(checker, key, node)?;
    if let Err(why) = argument_headers(&schema) {
        checker.wrong(node.at, format!("`{key}`: {why}"), None);
        return None;
    }
    Some(schema)
}

fn read_schema(checker: &mut Checker<'_>, key: &str, node: &YamlNode) -> Option<Value> {
    let Yaml::Map(entries) = &node.value else {
        checker.expected(
            key,
            node,
            "parameters such as `city: {type: string}`, or a JSON Schema",
        );
        return None;
    };
    if is_schema(entries) {
        return whole(checker, key, entries, node);
    }
    let (mut properties, mut required, mut right) = (Map::new(), Vec::new(), true);
    for (name, value) in entries {
        match parameter(checker, name, value) {
            Some((schema, optional)) => {
                properties.insert(name.name.clone(), schema);
                if !optional {
                    required.push(Value::String(name.name.clone()));
                }
            }
            None => right = false,
        }
    }
    right.then(|| object_schema(properties, required))
}

/// A complete schema has `type: object`, as text; in the short form `type` would be the name of a parameter,
/// with a mapping. It has another type if something beside it is possible only in a schema: the `items` of an
/// array, or a keyword with a value that describes no parameter, such as `enum: [a, b]` or `maxLength: 9`.
fn is_schema(entries: &[(YamlKey, YamlNode)]) -> bool {
    let has = |name: &str| entries.iter().any(|(key, _)| key.name == name);
    let kind = text_of(entries, "type");
    let is_of_schema = |(key, node): &(YamlKey, YamlNode)| match &node.value {
        Yaml::Text(_) => false,
        Yaml::Map(_) => kind == "array" && key.name == "items",
        _ => WORDS.contains(&key.name.as_str()),
    };
    kind == "object"
        || (TYPES.contains(&kind.as_str()) && entries.iter().any(is_of_schema))
        || has("$schema")
        || (has("properties") && has("required"))
}

fn whole(
    checker: &mut Checker<'_>,
    key: &str,
    entries: &[(YamlKey, YamlNode)],
    node: &YamlNode,
) -> Option<Value> {
    let value = json_schema::read(checker, key, node)?;
    let names = |key: &str| value.get(key).cloned();
    let Some(Value::Array(required)) = names("required") else {
        return Some(value);
    };
    let properties = names("properties");
    for name in required.iter().filter_map(Value::as_str) {
        let known = properties.as_ref().is_some_and(|map| map.get(name).is_some());
        if !known && let Some((_, node)) = entries.iter().find(|(key, _)| key.name == "required") {
            checker.wrong(
                node.at,
                format!("`required` names `{name}`, which is not among the properties"),
                None,
            );
            return None;
        }
    }
    Some(value)
}

/// Returns the schema of one parameter, and whether it may be left out.
fn parameter(checker: &mut Checker<'_>, name: &YamlKey, node: &YamlNode) -> Option<(Value, bool)> {
    if let Yaml::Text(kind) = &node.value {
        let right = json_schema::types(checker, node);
        return right.then(|| (json!({"type": kind}), false));
    }
    let Yaml::Map(entries) = &node.value else {
        checker.expected(
            &name.name,
            node,
            "a type such as `string`, or `{type: …, description: …}`",
        );
        return None;
    };
    let mut right = true;
    for (word, _) in entries {
        if !WORDS.contains(&word.name.as_str()) {
            let hint = did_you_mean(&word.name, WORDS.iter().copied());
            checker.wrong(
                word.at,
                format!("unknown key `{}` of the parameter `{}`", word.name, name.name),
                hint,
            );
            right = false;
        }
    }
    let (mut rest, mut optional) = (Vec::new(), false);
    for (word, value) in entries {
        match (word.name.as_str(), &value.value) {
            ("optional", Yaml::Bool(is)) => optional |= is,
            ("required", Yaml::Bool(is)) => optional |= !is,
            ("optional", _) => {
                checker.expected("optional", value, "true or false");
                right = false;
            }
            (word, _) => {
                optional |= word == "default";
                rest.push((entries_key(word, value), value.clone()));
            }
        }
    }
    let node = YamlNode {
        at: node.at,
        value: Yaml::Map(rest),
    };
    right &= json_schema::read(checker, &name.name, &node).is_some() && default_fits(checker, &node);
    right.then(|| (node.to_json(), optional))
}

fn entries_key(name: &str, value: &YamlNode) -> YamlKey {
    YamlKey {
        at: value.at,
        name: name.to_owned(),
    }
}

/// Returns whether the default is one of `enum`, if there is one, and `enum` is a list.
fn default_fits(checker: &mut Checker<'_>, node: &YamlNode) -> bool {
    let Yaml::Map(entries) = &node.value else {
        return true;
    };
    let find = |name: &str| {
        entries
            .iter()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node)
    };
    let Some(choices) = find("enum") else {
        return default_has_type(checker, entries);
    };
    let Yaml::List(items) = &choices.value else {
        checker.expected("enum", choices, "a list of values");
        return false;
    };
    let Some(default) = find("default") else {
        return true;
    };
    if items.iter().any(|item| item.to_json() == default.to_json()) {
        return true;
    }
    checker.wrong(default.at, "`default` is not one of `enum`", None);
    false
}

fn default_has_type(checker: &mut Checker<'_>, entries: &[(YamlKey, YamlNode)]) -> bool {
    let kind = text_of(entries, "type");
    let Some((_, default)) = entries.iter().find(|(key, _)| key.name == "default") else {
        return true;
    };
    let fits = match (kind.as_str(), &default.value) {
        ("string", Yaml::Text(_)) | ("boolean", Yaml::Bool(_)) | ("null", Yaml::Null) => true,
        ("integer", Yaml::Int(_)) | ("number", Yaml::Int(_) | Yaml::Float(_)) => true,
        ("array", Yaml::List(_)) | ("object", Yaml::Map(_)) => true,
        (kind, _) => !TYPES.contains(&kind),
    };
    if !fits {
        checker.expected("default", default, &format!("a value of type {kind}"));
    }
    fits
}
