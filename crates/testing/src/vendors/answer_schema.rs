//! The refusals of answer schemas by OpenAI and Anthropic, in their words. The rules of each API name the
//! sources.

use serde_json::{Map, Value};

/// Keywords that OpenAI's `strict` does not permit.
const NOT_STRICT: &[&str] = &[
    "allOf",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxLength",
    "minLength",
    "not",
    "oneOf",
    "patternProperties",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords with schemas by name.
const BY_NAME: &[&str] = &[
    "properties",
    "$defs",
    "definitions",
    "patternProperties",
    "dependentSchemas",
];
/// Keywords whose value is not a schema, even if it looks like one.
const VALUES: &[&str] = &[
    "enum",
    "const",
    "default",
    "examples",
    "required",
    "dependentRequired",
];

/// Returns OpenAI's refusal of a schema with `strict`, after the name of the format; `None` if it accepts it.
pub(super) fn refused_by_strict(schema: &Value) -> Option<String> {
    if schema["type"] != "object" {
        return Some("schema must be a JSON Schema of 'type: \"object\"'".into());
    }
    first(schema, &mut |fields| {
        if fields.contains_key("$ref") {
            let beside = fields.keys().find(|key| *key != "$ref")?;
            return Some(format!("context=(), $ref cannot have keywords {{'{beside}'}}."));
        }
        if let Some(keyword) = NOT_STRICT.iter().find(|keyword| fields.contains_key(**keyword)) {
            return Some(format!("In context=(), '{keyword}' is not permitted."));
        }
        if !fields.contains_key("type") && !fields.contains_key("anyOf") {
            return Some("In context=(), schema must have a 'type' key.".into());
        }
        if fields.get("type").is_some_and(|kind| kind == "array") && !fields.contains_key("items") {
            return Some("In context=(), array schema missing items.".into());
        }
        let is_object = fields.get("type").is_some_and(|kind| kind == "object");
        if is_object && fields.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Some(
                "In context=(), 'additionalProperties' is required to be supplied and to be false.".into(),
            );
        }
        let missing = optional(fields).next().filter(|_| is_object)?;
        Some(format!(
            "In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing '{missing}'."
        ))
    })
}

/// Returns Anthropic's refusal of a schema for other reasons than its keywords: it is recursive, or has too
/// many optional properties.
pub(super) fn refused_as_grammar(schema: &Value) -> Option<String> {
    let mut references = Vec::new();
    let mut left_out = 0;
    let _ = first(schema, &mut |fields| {
        references.extend(fields.get("$ref").and_then(Value::as_str));
        left_out += optional(fields).count();
        None
    });
    if references.iter().any(|reference| leads_back(schema, reference)) {
        return Some("output_config.format.schema: Circular reference detected in schema definitions. Recursive schemas are not supported.".into());
    }
    (left_out > 24).then(|| {
        "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.".into()
    })
}

/// Returns whether following a reference leads to it again. Few schemas in tests are large, so each is
/// followed anew.
fn leads_back(root: &Value, start: &str) -> bool {
    let (mut seen, mut waiting) = (Vec::new(), vec![start]);
    while let Some(reference) = waiting.pop() {
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        let mut below = Vec::new();
        let _ = target.and_then(|target| {
            first(target, &mut |fields| {
                below.extend(fields.get("$ref").and_then(Value::as_str));
                None
            })
        });
        if below.contains(&start) {
            return true;
        }
        below.retain(|next| !seen.contains(next));
        seen.extend(&below);
        waiting.extend(below);
    }
    false
}

fn optional(fields: &Map<String, Value>) -> impl Iterator<Item = &String> {
    let required = fields.get("required").and_then(Value::as_array);
    let names = fields.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(Map::keys);
    names.filter(move |name| !required.is_some_and(|all| all.iter().any(|other| other == *name)))
}

/// Returns the first refusal of `says` for this schema or one inside it.
fn first<'a>(
    schema: &'a Value,
    says: &mut dyn FnMut(&'a Map<String, Value>) -> Option<String>,
) -> Option<String> {
    let fields = schema.as_object()?;
    if let Some(said) = says(fields) {
        return Some(said);
    }
    for (key, value) in fields.iter().filter(|(key, _)| !VALUES.contains(&key.as_str())) {
        let below: Vec<&Value> = match value {
            Value::Object(schemas) if BY_NAME.contains(&key.as_str()) => schemas.values().collect(),
            Value::Array(schemas) => schemas.iter().collect(),
            one => vec![one],
        };
        for schema in below {
            if let Some(said) = first(schema, says) {
                return Some(said);
            }
        }
    }
    None
}
