//! The schemas of answers that the modes of APIs are known to refuse. Other schemas are sent, and fall back
//! to a weaker form when they are refused.
//!
//! | API | refused | source |
//! | --- | --- | --- |
//! | OpenAI `strict` | objects that do not require all their properties and forbid others | <https://github.com/moeru-ai/xsai/issues/202>, <https://github.com/Part-DB/Part-DB-server/pull/1540> |
//! | | keywords beside `$ref` | <https://github.com/vectorize-io/hindsight/pull/3944> |
//! | | `propertyNames` and other keywords for objects | <https://github.com/can1357/oh-my-pi/issues/209> |
//! | | some values of `format` | <https://github.com/can1357/oh-my-pi/issues/206> |
//! | | schemas without a `type` | no public source; leaving `strict` out costs only the guarantee |
//! | Anthropic | objects without `additionalProperties: false` | <https://github.com/veryfront/veryfront-code/issues/3918> |
//! | | bounds of numbers, texts and lists | <https://github.com/agentjido/req_llm/issues/302>, <https://github.com/BerriAI/litellm/pull/21045> |
//! | | more than 24 optional properties | <https://github.com/anthropics/claude-code/issues/55539> |
//! | | a `$ref` that leads back to itself, or in `allOf` | <https://github.com/ENTERPILOT/GoModel/pull/963> |

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::{self, children};

/// The most optional properties in a schema at Anthropic.
const ANTHROPIC_OPTIONAL: usize = 24;

/// Keywords that Anthropic refuses, and OpenAI's `strict` too.
const NOT_AT_ANTHROPIC: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "contains",
    "minContains",
    "maxContains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];
/// Further keywords that OpenAI's `strict` refuses.
const NOT_STRICT: &[&str] = &["allOf", "prefixItems", "default", "format", "$schema"];

/// Returns whether OpenAI can guarantee the schema.
pub(crate) fn fits_openai_strict(schema: &Value) -> bool {
    all(schema, &|fields| {
        let is_known =
            |key: &String| !NOT_AT_ANTHROPIC.contains(&key.as_str()) && !NOT_STRICT.contains(&key.as_str());
        if fields.contains_key("$ref") {
            return fields.len() == 1;
        }
        let has_kind = fields.contains_key("type") || fields.contains_key("anyOf");
        has_kind && fields.keys().all(is_known) && is_strict_object(fields) && says_items(fields)
    }) && schema.get("anyOf").is_none()
}

fn is_strict_object(fields: &Map<String, Value>) -> bool {
    let names_all = || fields.get("properties").is_some_and(Value::is_object) && optional(fields) == 0;
    !describes_object(fields) || (is_closed(fields) && names_all())
}

/// The `items` that are added to such a list have no `type`.
fn says_items(fields: &Map<String, Value>) -> bool {
    !schema::is_bare_list(fields)
}

/// Returns whether the mode of Anthropic supports the schema.
pub(crate) fn fits_anthropic(schema: &Value) -> bool {
    let fits = |fields: &Map<String, Value>| {
        let is_known = fields.keys().all(|key| !NOT_AT_ANTHROPIC.contains(&key.as_str()));
        is_known && !joins_references(fields) && (!describes_object(fields) || is_closed(fields))
    };
    all(schema, &fits) && all_optional(schema) <= ANTHROPIC_OPTIONAL && !is_recursive(schema)
}

/// Returns whether `allOf` has a `$ref` in it.
fn joins_references(fields: &Map<String, Value>) -> bool {
    let all = fields.get("allOf").and_then(Value::as_array);
    all.is_some_and(|all| all.iter().any(|schema| schema.get("$ref").is_some()))
}

/// The number of optional properties of a schema and of all schemas below it.
fn all_optional(schema: &Value) -> usize {
    let Some(fields) = schema.as_object() else {
        return 0;
    };
    optional(fields) + children(fields).map(all_optional).sum::<usize>()
}

fn optional(fields: &Map<String, Value>) -> usize {
    let names = fields.get("properties").and_then(Value::as_object);
    let required = fields.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    names.map_or(0, |names| names.keys().filter(|name| !is_required(name)).count())
}

/// Returns whether a `$ref` leads back to itself, through others too.
fn is_recursive(root: &Value) -> bool {
    // The references below each target; those of a finished target are empty.
    let mut open: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut done: Vec<&str> = Vec::new();
    let mut way: Vec<&str> = Vec::new();
    let mut waiting = references(root);
    loop {
        let Some(at) = way.last().copied() else {
            let Some(next) = waiting.pop() else { return false };
            if !done.contains(&next) {
                way.push(next);
            }
            continue;
        };
        let below = open
            .entry(at)
            .or_insert_with(|| target(root, at).map(references).unwrap_or_default());
        match below.pop() {
            Some(next) if way.contains(&next) => return true,
            Some(next) if done.contains(&next) => {}
            Some(next) => way.push(next),
            None => {
                done.push(at);
                way.pop();
            }
        }
    }
}

fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// The references in a schema. Definitions count only if they are referred to.
fn references(schema: &Value) -> Vec<&str> {
    let Some(fields) = schema.as_object() else {
        return Vec::new();
    };
    let is_used = |(key, _): &(&String, &Value)| !["$defs", "definitions"].contains(&key.as_str());
    let parts = fields.iter().filter(is_used);
    let below = parts.flat_map(|(key, value)| schema::right_below(key, value));
    let own = fields.get("$ref").and_then(Value::as_str);
    below.flat_map(references).chain(own).collect()
}

fn is_closed(fields: &Map<String, Value>) -> bool {
    fields.get("additionalProperties") == Some(&Value::Bool(false))
}

fn describes_object(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => fields.contains_key("properties"),
    }
}

/// Returns whether `fits` holds for each schema in this one.
fn all(schema: &Value, fits: &dyn Fn(&Map<String, Value>) -> bool) -> bool {
    let Some(fields) = schema.as_object() else {
        return true;
    };
    fits(fields) && children(fields).all(|child| all(child, fits))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A closed object with one property, and one keyword more.
    fn closed(property: &Value, more: &Value) -> Value {
        let mut schema = json!({"type": "object", "properties": {"a": property}, "required": ["a"],
            "additionalProperties": false});
        for (key, value) in more.as_object().into_iter().flatten() {
            schema[key] = value.clone();
        }
        schema
    }

    #[test]
    fn strict_is_asked_for_only_where_openai_takes_it() {
        let text = json!({"type": "string"});
        let item = closed(&text, &json!({}));
        let nullable = json!({"anyOf": [text, {"type": "null"}]});
        let cases = [
            (closed(&text, &json!({})), true),
            (closed(&json!({"type": "array", "items": item}), &json!({})), true),
            (
                closed(&nullable, &json!({"title": "T", "description": "d"})),
                true,
            ),
            (
                closed(&json!({"$ref": "#/$defs/s"}), &json!({"$defs": {"s": text}})),
                true,
            ),
            (closed(&text, &json!({"required": []})), false),
            (closed(&text, &json!({"additionalProperties": true})), false),
            (
                closed(&json!({"type": "string", "minLength": 2}), &json!({})),
                false,
            ),
            (closed(&json!({"type": "object"}), &json!({})), false),
            (closed(&json!({"type": "array"}), &json!({})), false),
            (closed(&json!({}), &json!({})), false),
            (closed(&json!({"const": "x"}), &json!({})), false),
            (
                closed(
                    &json!({"$ref": "#/$defs/s", "description": "d"}),
                    &json!({"$defs": {"s": text}}),
                ),
                false,
            ),
            (
                closed(&text, &json!({"propertyNames": {"type": "string"}})),
                false,
            ),
            (closed(&text, &json!({"dependentRequired": {"a": ["a"]}})), false),
            (closed(&text, &json!({"unevaluatedProperties": false})), false),
            (
                closed(
                    &json!({"type": "array", "items": text, "contains": text}),
                    &json!({}),
                ),
                false,
            ),
        ];
        for (schema, strict) in cases {
            assert_eq!(fits_openai_strict(&schema), strict, "{schema}");
        }
    }

    #[test]
    fn anthropic_gets_nothing_that_it_refuses() {
        let text = json!({"type": "string"});
        let tree = json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}},
            "required": ["kids"], "additionalProperties": false});
        let two = json!({"a": {"type": "array", "items": {"$ref": "#/$defs/b"}}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}});
        let twice = closed(
            &json!({"anyOf": [{"$ref": "#/$defs/s"}, {"$ref": "#/$defs/s"}]}),
            &json!({"$defs": {"s": text}}),
        );
        let many = |count: usize| {
            let properties: Map<String, Value> =
                (0..count).map(|n| (format!("p{n}"), text.clone())).collect();
            json!({"type": "object", "properties": properties, "additionalProperties": false})
        };
        let cases = [
            (closed(&text, &json!({})), true),
            (twice, true),
            (many(24), true),
            (many(25), false),
            (tree, false),
            (
                closed(&json!({"$ref": "#/$defs/a"}), &json!({"$defs": two})),
                false,
            ),
            (
                closed(&text, &json!({"propertyNames": {"type": "string"}})),
                false,
            ),
            (
                closed(
                    &json!({"allOf": [{"$ref": "#/$defs/s"}]}),
                    &json!({"$defs": {"s": text}}),
                ),
                false,
            ),
        ];
        for (schema, fits) in cases {
            assert_eq!(fits_anthropic(&schema), fits, "{schema}");
        }
    }

    #[test]
    fn names_of_properties_are_no_keywords() {
        let schema = json!({"type": "object", "properties": {"minimum": {"type": "string"}},
            "required": ["minimum"], "additionalProperties": false});
        assert!(fits_anthropic(&schema) && fits_openai_strict(&schema));
    }
}
