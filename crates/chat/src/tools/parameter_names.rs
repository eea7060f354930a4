//! Finds names of a tool's parameters that a vendor refuses. Each session then leaves the tool out of the
//! offer to that vendor's models; the author of the tool should know earlier.

use serde_json::Value;

/// The names in this schema that Anthropic refuses: "Property keys should match pattern
/// '^[a-zA-Z0-9_.-]{1,64}$'" (<https://github.com/beautyfree/appstore-connect-mcp/issues/2>).
pub fn names_refused(schema: &Value) -> Vec<String> {
    let mut refused = Vec::new();
    add(schema, &mut refused);
    refused.sort();
    refused.dedup();
    refused
}

fn add(schema: &Value, refused: &mut Vec<String>) {
    match schema {
        Value::Object(words) => {
            for (word, value) in words {
                match (word.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        refused.extend(properties.keys().filter(|name| !fits(name)).cloned());
                        properties.values().for_each(|schema| add(schema, refused));
                    }
                    // These are values, not schemas.
                    ("default" | "enum" | "const" | "examples", _) => {}
                    _ => add(value, refused),
                }
            }
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| add(schema, refused)),
        _ => {}
    }
}

fn fits(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_found_wherever_properties_stand() {
        let long = "x".repeat(65);
        let mut schema = json!({"type": "object", "properties": {
            "fine-1.a_B": {"type": "object", "properties": {"$ref": {}, "größe": {}}},
            "two words": {"default": {"properties": {"not this": 1}}},
            "list": {"items": {"anyOf": [{"properties": {"": {}}}]}},
            "properties": {"type": "string"},
        }});
        schema["properties"][&long] = json!({});
        assert_eq!(names_refused(&schema), ["", "$ref", "größe", "two words", &long]);
        assert!(names_refused(&json!({"type": "object"})).is_empty());
    }
}
