//! Schemas of tools in the form that OpenAI accepts. A JSON schema may leave out the contents of an object or
//! a list; OpenAI then refuses the whole request, even if another tool is called: "Invalid schema for
//! function 'now': In context=(), object schema missing properties"
//! (<https://github.com/spring-projects/spring-ai/issues/4776>), "array schema missing items"
//! (<https://platform.openai.com/docs/guides/function-calling>). The additions do not change the meaning: no
//! known properties, any items.

use serde_json::{Map, Value};

use crate::json::{BorrowedJson, object};

/// The parameters of a function; borrowed, unless something has to be added below the top.
pub(crate) fn parameters(schema: &Value) -> BorrowedJson<'_> {
    let mut json = with_items(schema);
    if schema["type"] == "object" {
        json.set_missing("properties", object! {});
    }
    json
}

/// The schemas right inside of this one.
pub(crate) fn children(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    schema.iter().flat_map(|(key, value)| right_below(key, value))
}

/// The schemas under one keyword.
pub(crate) fn right_below<'a>(key: &str, value: &'a Value) -> Vec<&'a Value> {
    match (schemas_under(key), value) {
        (Below::One, child) => vec![child],
        (Below::List, Value::Array(schemas)) => schemas.iter().collect(),
        (Below::Map, Value::Object(schemas)) => schemas.values().collect(),
        _ => Vec::new(),
    }
}

/// The kind of value under a key of a schema.
enum Below {
    /// A schema.
    One,
    /// A list of them.
    List,
    /// Schemas by name.
    Map,
    /// A value that is not a schema.
    Other,
}

fn schemas_under(key: &str) -> Below {
    match key {
        "items" | "additionalProperties" | "not" => Below::One,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Below::List,
        "properties" | "patternProperties" | "$defs" | "definitions" => Below::Map,
        _ => Below::Other,
    }
}

fn with_items(schema: &Value) -> BorrowedJson<'_> {
    let Some(fields) = schema.as_object().filter(|_| lacks_items(schema)) else {
        return schema.into();
    };
    let all = fields.iter();
    let mut json = BorrowedJson::Object(
        all.map(|(key, value)| (key.as_str(), field(key, value)))
            .collect(),
    );
    if is_bare_list(fields) {
        json.set("items", object! {});
    }
    json
}

fn field<'a>(key: &str, value: &'a Value) -> BorrowedJson<'a> {
    match (schemas_under(key), value) {
        (Below::One, Value::Object(_)) => with_items(value),
        (Below::List, Value::Array(schemas)) => BorrowedJson::List(schemas.iter().map(with_items).collect()),
        (Below::Map, Value::Object(schemas)) => {
            let each = |(name, schema): (&'a String, &'a Value)| (name.as_str(), with_items(schema));
            BorrowedJson::Object(schemas.iter().map(each).collect())
        }
        _ => value.into(),
    }
}

fn lacks_items(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else {
        return false;
    };
    is_bare_list(fields)
        || fields
            .iter()
            .any(|(key, value)| match (schemas_under(key), value) {
                (Below::One, schema) => lacks_items(schema),
                (Below::List, Value::Array(schemas)) => schemas.iter().any(lacks_items),
                (Below::Map, Value::Object(schemas)) => schemas.values().any(lacks_items),
                _ => false,
            })
}

/// Returns whether it is a list, or may be one, without a schema of its items.
pub(crate) fn is_bare_list(schema: &Map<String, Value>) -> bool {
    let is_list = match schema.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    };
    is_list && !schema.contains_key("items")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(schema: &Value) -> Value {
        serde_json::from_slice(&parameters(schema).to_bytes()).expect("JSON")
    }

    #[test]
    fn what_a_schema_leaves_out_is_added_for_openai() {
        assert_eq!(
            sent(&json!({"type": "object"})),
            json!({"type": "object", "properties": {}})
        );
        let lists = json!({"type": "object", "properties": {
            "a": {"type": "array", "description": "any"},
            "items": {"type": ["array", "null"]},
            "b": {"type": "array", "items": {"type": "array"}},
            "c": {"anyOf": [{"type": "array"}, {"type": "string"}]},
            "d": {"type": "object", "default": {"type": "array"}},
        }});
        assert_eq!(
            sent(&lists)["properties"],
            json!({
                "a": {"type": "array", "description": "any", "items": {}},
                "items": {"type": ["array", "null"], "items": {}},
                "b": {"type": "array", "items": {"type": "array", "items": {}}},
                "c": {"anyOf": [{"type": "array", "items": {}}, {"type": "string"}]},
                "d": {"type": "object", "default": {"type": "array"}},
            })
        );
    }

    #[test]
    fn a_schema_that_says_all_of_it_is_sent_as_it_is() {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}});
        assert_eq!(sent(&schema), schema);
        assert_eq!(sent(&json!(true)), json!(true));
    }
}
