//! Schemas of tools that combine others at their root. Anthropic and OpenAI refuse the whole request for one:
//! "tools.47.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
//! (<https://github.com/makenotion/notion-mcp-server/issues/341>, of both vendors
//! <https://github.com/makenotion/notion-mcp-server/issues/340>). They are sent as one object that accepts
//! whatever any of them accepts; other constraints go into the description. Calls are still validated against
//! the tool's own schema.

use std::borrow::Cow;

use agentx_types::ToolSpec;
use serde_json::{Map, Value, json};

use crate::json::BorrowedJson;
use crate::schema;

/// Keywords that combine schemas.
const COMBINED: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// The deepest combination that is looked into.
const MOST_DEEP: usize = 8;
/// Maximum number of sets of arguments that a description names.
const MOST_SETS: usize = 12;

/// The schema of a tool as Anthropic takes it.
pub(crate) fn input_schema(tool: &ToolSpec) -> BorrowedJson<'_> {
    match merged(&tool.input_schema) {
        Some(schema) => BorrowedJson::Owned(schema),
        None => BorrowedJson::Value(&tool.input_schema),
    }
}

/// The schema of a tool as OpenAI takes it.
pub(crate) fn parameters(tool: &ToolSpec) -> BorrowedJson<'_> {
    match merged(&tool.input_schema) {
        Some(merged) => {
            let complete = serde_json::to_value(schema::parameters(&merged));
            BorrowedJson::Owned(complete.unwrap_or(merged))
        }
        None => schema::parameters(&tool.input_schema),
    }
}

/// The description of a tool, with the arguments that belong together if its schema cannot express that.
pub(crate) fn description(tool: &ToolSpec) -> Cow<'_, str> {
    let sets = sets(&tool.input_schema);
    if sets.is_empty() {
        return tool.description.as_str().into();
    }
    let before = if tool.description.is_empty() { "" } else { "\n\n" };
    format!(
        "{}{before}Give the arguments of one of these sets: {}.",
        tool.description,
        sets.join("; ")
    )
    .into()
}

/// The schema as one object; `None` if it combines none at its root.
fn merged(schema: &Value) -> Option<Value> {
    let fields = schema.as_object()?;
    let is_combined = COMBINED.iter().any(|key| fields.contains_key(*key));
    is_combined.then(|| {
        let mut merged = flat(schema, schema, 0);
        merged.insert("type".to_owned(), json!("object"));
        Value::Object(merged)
    })
}

/// One object for a schema and those that it combines: their properties together, and as required what all
/// ways to fit it require.
fn flat(schema: &Value, root: &Value, depth: usize) -> Map<String, Value> {
    let Some(fields) = referred(schema, root, depth).as_object() else {
        return Map::new();
    };
    let own = fields.iter().filter(|(key, _)| !COMBINED.contains(&key.as_str()));
    let mut out: Map<String, Value> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    if depth >= MOST_DEEP {
        return out;
    }
    for key in COMBINED {
        let Some(schemas) = fields.get(key).and_then(Value::as_array) else {
            continue;
        };
        let branches: Vec<Map<String, Value>> = schemas
            .iter()
            .map(|branch| flat(branch, root, depth + 1))
            .collect();
        for branch in &branches {
            add_properties(&mut out, branch);
        }
        let names = branches.iter().map(required);
        let joined = if key == "allOf" {
            names.flatten().collect()
        } else {
            let common = |all: Vec<String>, one: Vec<String>| {
                all.into_iter().filter(|name| one.contains(name)).collect()
            };
            names.reduce(common).unwrap_or_default()
        };
        require(&mut out, joined);
    }
    out
}

/// The schema that a reference within the document names; any other schema itself. References further below
/// may lead back, and are not followed.
fn referred<'a>(schema: &'a Value, root: &'a Value, depth: usize) -> &'a Value {
    let pointer = schema.get("$ref").and_then(Value::as_str).filter(|_| depth <= 1);
    let target = pointer.and_then(|pointer| root.pointer(pointer.strip_prefix('#')?));
    target.unwrap_or(schema)
}

/// Adds the properties of one schema. A property that is described in two ways may be either.
fn add_properties(out: &mut Map<String, Value>, branch: &Map<String, Value>) {
    let Some(more) = branch.get("properties").and_then(Value::as_object) else {
        return;
    };
    let known = out.entry("properties").or_insert_with(|| json!({}));
    let Some(known) = known.as_object_mut() else {
        return;
    };
    for (name, schema) in more {
        match known.get_mut(name) {
            None => {
                known.insert(name.clone(), schema.clone());
            }
            Some(present) if present == schema => {}
            Some(present) => match present.get_mut("anyOf").and_then(Value::as_array_mut) {
                Some(ways) if !ways.contains(schema) => ways.push(schema.clone()),
                Some(_) => {}
                None => *present = json!({"anyOf": [present.take(), schema]}),
            },
        }
    }
}

fn required(schema: &Map<String, Value>) -> Vec<String> {
    let names = schema.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

fn require(out: &mut Map<String, Value>, more: Vec<String>) {
    let mut names = required(out);
    for name in more {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        out.insert("required".to_owned(), json!(names));
    }
}

/// The sets of arguments between which `anyOf` and `oneOf` at the root choose, if they differ.
fn sets(schema: &Value) -> Vec<String> {
    let mut sets: Vec<String> = Vec::new();
    for key in ["anyOf", "oneOf"] {
        let branches = schema.get(key).and_then(Value::as_array);
        for branch in branches.into_iter().flatten() {
            let names = required(&flat(branch, schema, 1));
            let set = if names.is_empty() {
                "none of them".to_owned()
            } else {
                names.join(", ")
            };
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    sets.truncate(MOST_SETS);
    if sets.len() < 2 { Vec::new() } else { sets }
}

#[cfg(test)]
mod tests {
    use agentx_types::Access;

    use super::*;

    fn sent(schema: Value) -> (Value, String) {
        let tool = ToolSpec::new("t", "Does it.", schema, Access::Read);
        let parameters = serde_json::from_slice(&parameters(&tool).to_bytes()).expect("JSON");
        (parameters, description(&tool).into_owned())
    }

    #[test]
    fn combined_schemas_are_sent_as_one_object() {
        let (schema, told) = sent(json!({
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "anyOf": [
                {"properties": {"text": {"type": "string"}, "n": {"type": "integer"}}, "required": ["text", "n"]},
                {"$ref": "#/$defs/by_url"},
            ],
            "$defs": {"by_url": {"properties": {"url": {"type": "string"}, "n": {"type": "string"}}, "required": ["url", "n"]}},
        }));
        assert!(schema.get("anyOf").is_none(), "{schema}");
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["path", "n"]), "what all ways require");
        assert_eq!(schema["properties"]["url"], json!({"type": "string"}));
        assert_eq!(
            schema["properties"]["n"],
            json!({"anyOf": [{"type": "integer"}, {"type": "string"}]})
        );
        assert_eq!(
            told,
            "Does it.\n\nGive the arguments of one of these sets: text, n; url, n."
        );
    }

    #[test]
    fn all_of_several_schemas_requires_what_each_requires() {
        let (schema, told) = sent(json!({"allOf": [
            {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]},
            {"oneOf": [{"properties": {"b": true}, "required": ["b"]}, {"type": "string"}]},
        ]}));
        assert_eq!(schema["required"], json!(["a"]));
        assert_eq!(
            schema["properties"],
            json!({"a": {"type": "array", "items": {}}, "b": true})
        );
        assert_eq!(told, "Does it.");
    }

    #[test]
    fn any_other_schema_is_sent_as_it_is() {
        let plain =
            json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}});
        assert_eq!(sent(plain.clone()), (plain, "Does it.".to_owned()));
    }

    #[test]
    fn schemas_that_lead_back_to_themselves_come_to_an_end() {
        let (schema, _) = sent(json!({"anyOf": [{"$ref": "#"}, {"properties": {"a": true}}]}));
        assert_eq!(schema["properties"]["a"], json!(true));
    }
}
