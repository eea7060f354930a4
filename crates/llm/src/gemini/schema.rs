//! Schemas of tools in the form that Gemini accepts: JSON schema (`parametersJsonSchema`), with two
//! additional rules.
//!
//! - Next to `$ref` it accepts only `description` and `default`: "If a schema node has $ref set, then only
//!   description and default can be set alongside it" (<https://github.com/anomalyco/opencode/issues/12295>).
//! - The schema must describe an object (`FunctionDeclaration.parameters_json_schema` of
//!   <https://github.com/googleapis/python-genai/blob/66807187f2123c6676175ac991f4e34eb09200d1/google/genai/types.py>).

use serde_json::{Map, Value};

use crate::json::BorrowedJson;

/// The parameters of a function; `None` if it has none.
pub(crate) fn parameters(schema: &Value) -> Option<BorrowedJson<'_>> {
    let fields = schema.as_object()?;
    let has_no_properties = fields
        .get("properties")
        .is_none_or(|properties| properties.as_object().is_some_and(Map::is_empty));
    let says_more = fields.keys().any(|key| {
        !matches!(
            key.as_str(),
            "type" | "properties" | "required" | "additionalProperties" | "$schema"
        )
    });
    let takes_any = fields
        .get("additionalProperties")
        .is_some_and(|more| *more != Value::Bool(false));
    if has_no_properties && !says_more && !takes_any {
        return None;
    }
    let mut json = cleaned(schema);
    json.set_missing("type", "object");
    Some(json)
}

pub(super) fn cleaned(value: &Value) -> BorrowedJson<'_> {
    if !has_crowded_ref(value) {
        return value.into();
    }
    match value {
        Value::Object(fields) => {
            let is_ref = is_ref(fields);
            let kept = fields.iter().filter(|(key, _)| !is_ref || stands_beside_ref(key));
            BorrowedJson::Object(kept.map(|(key, value)| (key.as_str(), cleaned(value))).collect())
        }
        Value::Array(items) => BorrowedJson::List(items.iter().map(cleaned).collect()),
        other => other.into(),
    }
}

fn is_ref(fields: &Map<String, Value>) -> bool {
    fields.get("$ref").is_some_and(Value::is_string)
}

fn stands_beside_ref(key: &str) -> bool {
    matches!(key, "$ref" | "description" | "default")
}

/// Returns whether anywhere in it a `$ref` has a forbidden neighbour.
fn has_crowded_ref(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            (is_ref(fields) && fields.keys().any(|key| !stands_beside_ref(key)))
                || fields.values().any(has_crowded_ref)
        }
        Value::Array(items) => items.iter().any(has_crowded_ref),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(schema: &Value) -> Option<Value> {
        parameters(schema).map(|json| serde_json::from_slice(&json.to_bytes()).expect("JSON"))
    }

    #[test]
    fn nothing_stands_beside_a_reference_but_what_gemini_takes_there() {
        let schema = json!({"$defs": {"n": {"type": "integer", "exclusiveMinimum": 0}}, "properties": {
            "a": {"$ref": "#/$defs/n", "title": "A", "description": "how many"},
            "$ref": {"type": "string", "title": "a name"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/n", "nullable": true}},
        }});
        let expected = json!({"type": "object", "$defs": {"n": {"type": "integer", "exclusiveMinimum": 0}}, "properties": {
            "a": {"$ref": "#/$defs/n", "description": "how many"},
            "$ref": {"type": "string", "title": "a name"},
            "list": {"type": "array", "items": {"$ref": "#/$defs/n"}},
        }});
        assert_eq!(sent(&schema), Some(expected));
    }

    #[test]
    fn a_function_without_parameters_has_no_schema() {
        for schema in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}),
            json!(true),
        ] {
            assert_eq!(sent(&schema), None, "{schema}");
        }
        let any = json!({"type": "object", "additionalProperties": true});
        assert_eq!(sent(&any), Some(any));
    }
}
