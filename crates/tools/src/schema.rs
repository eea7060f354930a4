//! JSON Schemas for models: the derived schema without parts that only cost tokens, because every model call
//! contains all schemas.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Returns the schema (2020-12) of `T`, with all subschemas inline.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(root) = &mut schema {
        root.remove("title");
        root.remove("description");
    }
    tidy(&mut schema);
    schema
}

/// Removes noise: `null` as an alternative to leaving an argument out, number formats, titles.
fn tidy(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.remove("format");
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    drop_null_type(object);
    unwrap_optional(object);
    join_constants(object);
    for key in ["properties", "$defs"] {
        if let Some(Value::Object(children)) = object.get_mut(key) {
            children.values_mut().for_each(tidy);
        }
    }
    if let Some(items) = object.get_mut("items") {
        tidy(items);
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        if let Some(Value::Array(children)) = object.get_mut(key) {
            children.iter_mut().for_each(tidy);
        }
    }
}

/// `"type": ["string", "null"]` becomes `"type": "string"`.
fn drop_null_type(object: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = object.get_mut("type") else {
        return;
    };
    types.retain(|kind| kind != "null");
    if let [only] = types.as_slice() {
        let only = only.clone();
        object.insert("type".into(), only);
    }
}

/// Replaces `"anyOf": [X, {"type": "null"}]` by `X`; fields next to it (the description of the argument) win.
fn unwrap_optional(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = choices.as_mut_slice() {
        let only = std::mem::take(only);
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}

/// An enum whose variants have doc comments becomes a plain `enum`; the comments join the description.
fn join_constants(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get("oneOf") else {
        return;
    };
    let Some(constants) = choices
        .iter()
        .map(|choice| choice.get("const").cloned())
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let notes: Vec<String> = choices
        .iter()
        .filter_map(|choice| {
            Some((
                choice.get("const")?.as_str()?,
                choice.get("description")?.as_str()?,
            ))
        })
        .map(|(name, note)| format!("{name}: {}", note.trim_end_matches('.')))
        .collect();
    object.remove("oneOf");
    object.insert("type".into(), "string".into());
    object.insert("enum".into(), Value::Array(constants));
    if !notes.is_empty() {
        let before = object
            .get("description")
            .and_then(Value::as_str)
            .map(|text| format!("{text} "))
            .unwrap_or_default();
        object.insert(
            "description".into(),
            format!("{before}{}.", notes.join("; ")).into(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Mode {
        /// With lines.
        Content,
        /// Names only.
        Files,
    }

    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Input {
        /// The pattern.
        pattern: String,
        /// The limit.
        limit: Option<u32>,
        /// The output.
        mode: Option<Mode>,
    }

    #[test]
    fn says_what_matters_and_nothing_else() {
        assert_eq!(
            schema_of::<Input>(),
            json!({
                "type": "object",
                "properties": {
                    "pattern": {"description": "The pattern.", "type": "string"},
                    "limit": {"description": "The limit.", "type": "integer", "minimum": 0},
                    "mode": {"description": "The output. content: With lines; files: Names only.", "type": "string", "enum": ["content", "files"]},
                },
                "additionalProperties": false,
                "required": ["pattern"],
            })
        );
    }
}
