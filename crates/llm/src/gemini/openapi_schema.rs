//! Schemas of tools in the form of OpenAPI (`FunctionDeclaration.parameters`), for servers that refuse
//! `parametersJsonSchema`.
//!
//! The fields are those of `Schema` in <https://ai.google.dev/api/caching#Schema>. A server refuses others
//! ("Unknown name "$schema" at 'tools\[0\].function_declarations\[13\].parameters': Cannot find field",
//! <https://github.com/openswarm-ai/openswarm/issues/24>), so they are left out: the model gets less, and the
//! arguments of its calls are still checked against the whole schema. A `$ref` is any object.

use serde_json::{Map, Value};

/// Fields that are the same in both.
const SAME: &[&str] = &[
    "default",
    "description",
    "example",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "nullable",
    "pattern",
    "title",
];

/// The parameters of a function; `None` if it has none.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    super::schema::parameters(schema)?;
    let mut converted = of(schema);
    converted
        .as_object_mut()?
        .insert("type".to_owned(), "object".into());
    Some(converted)
}

fn of(schema: &Value) -> Value {
    let Some(fields) = schema.as_object() else {
        return Value::Object(Map::new());
    };
    let mut converted = Map::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("type", Value::Array(types)) => {
                let is_null = |kind: &&Value| kind.as_str() == Some("null");
                if types.iter().any(|kind| is_null(&kind)) {
                    converted.insert("nullable".to_owned(), true.into());
                }
                let first = types.iter().find(|kind| !is_null(kind));
                converted.extend(first.map(|kind| (key.clone(), kind.clone())));
            }
            ("type", Value::String(_)) => {
                converted.insert(key.clone(), value.clone());
            }
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(name, schema)| (name.clone(), of(schema)));
                converted.insert(key.clone(), properties.collect());
            }
            ("items", schema) => {
                converted.insert(key.clone(), of(schema));
            }
            ("anyOf" | "oneOf", Value::Array(kinds)) => {
                converted.insert("anyOf".to_owned(), kinds.iter().map(of).collect());
            }
            // Only texts can be listed one by one.
            ("enum", Value::Array(values)) if values.iter().all(Value::is_string) => {
                converted.insert(key.clone(), value.clone());
            }
            ("const", Value::String(_)) => {
                converted.insert("enum".to_owned(), Value::Array(vec![value.clone()]));
            }
            ("required", Value::Array(_)) => {
                converted.insert(key.clone(), value.clone());
            }
            ("$ref", _) => {
                converted.insert("type".to_owned(), "object".into());
            }
            (same, value) if SAME.contains(&same) => {
                converted.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    Value::Object(converted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_openapi_lacks_are_left_out_or_written_in_its_words() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "$defs": {"n": {"type": "integer"}},
            "required": ["a"],
            "properties": {
                "a": {"type": ["string", "null"], "minLength": 1, "contentEncoding": "base64"},
                "b": {"type": "array", "items": {"const": "x"}, "uniqueItems": true},
                "c": {"oneOf": [{"type": "integer", "exclusiveMinimum": 0}, {"enum": [1, 2]}]},
                "d": {"$ref": "#/$defs/n", "description": "a number"},
            },
        });
        let expected = json!({
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": {"type": "string", "nullable": true, "minLength": 1},
                "b": {"type": "array", "items": {"enum": ["x"]}},
                "c": {"anyOf": [{"type": "integer"}, {}]},
                "d": {"type": "object", "description": "a number"},
            },
        });
        assert_eq!(parameters(&schema), Some(expected));
        assert_eq!(parameters(&json!({"type": "object"})), None);
    }
}
