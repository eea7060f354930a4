//! The schema of an answer, as a request carries it: in the mode of the API where the model has one and takes
//! this schema, else as an instruction in words. What comes is validated either way, by whoever asked.
//!
//! | API | mode | schemas that it takes |
//! | --- | --- | --- |
//! | Responses, Chat Completions | `text.format`, `response_format` | any; `strict` where each object lists all its properties as required and no others (<https://github.com/moeru-ai/xsai/issues/202>, <https://github.com/Part-DB/Part-DB-server/pull/1540>) |
//! | Anthropic | `output_config.format` | each object has `additionalProperties: false` (<https://github.com/veryfront/veryfront-code/issues/3918>), no bounds of numbers, texts and lists (<https://github.com/agentjido/req_llm/issues/302>, <https://github.com/BerriAI/litellm/pull/21045>) |
//! | Gemini | `responseJsonSchema` | any; up to 2.5 not beside tools (<https://github.com/symfony/ai/issues/803>) |
//! | Interactions | – | |

use std::borrow::Cow;

use agentx_types::{AnswerSchema, Api, ModelRequest};
use serde_json::{Map, Value};

use crate::json::{BorrowedJson, object};
use crate::request::WireOptions;
use crate::schema;

/// The name of the schema where an API wants one.
const NAME: &str = "answer";

/// Keywords that Anthropic refuses.
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
    "oneOf",
    "not",
    "if",
];

/// The request as it is built: if the model has no mode for its schema, the schema is an instruction behind
/// the others, and the request has none.
pub(crate) fn fitted<'a>(request: &'a ModelRequest, options: &WireOptions) -> Cow<'a, ModelRequest> {
    let Some(answer) = &request.answer_schema else {
        return Cow::Borrowed(request);
    };
    if options.answer_schema && !request.plain && takes(request, &answer.schema) {
        return Cow::Borrowed(request);
    }
    let mut system = request.system.clone();
    system.push(instruction(answer).into());
    Cow::Owned(ModelRequest {
        system,
        answer_schema: None,
        ..request.clone()
    })
}

/// Returns the instruction for a model without a mode for schemas.
fn instruction(answer: &AnswerSchema) -> String {
    format!(
        "Your last answer, the one without tool calls, is one JSON value and nothing else: no words around it, no code \
         fence. It has to fit this JSON Schema:\n{}",
        answer.schema
    )
}

/// Returns whether the mode of the API takes this schema in this request.
fn takes(request: &ModelRequest, schema: &Value) -> bool {
    match request.model.api {
        Api::OpenaiResponses | Api::OpenaiChat => is_object(schema),
        Api::Anthropic => is_object(schema) && all(schema, &fits_anthropic),
        Api::Gemini => request.tools.is_empty() || !is_up_to_2_5(&request.model.id),
        Api::GeminiInteractions | Api::Scripted | Api::Unknown => false,
    }
}

/// Returns whether it is a model of Gemini 2.5 or before.
fn is_up_to_2_5(id: &str) -> bool {
    ["gemini-1", "gemini-2"].iter().any(|name| id.contains(name))
}

/// The format as Responses takes it in `text`.
pub(crate) fn of_responses(answer: &AnswerSchema) -> BorrowedJson<'_> {
    object! {"format": object! {
        "type": "json_schema", "name": NAME, "strict": is_strict(&answer.schema),
        "schema": schema::parameters(&answer.schema),
    }}
}

/// The `response_format` of Chat Completions.
pub(crate) fn of_chat(answer: &AnswerSchema) -> BorrowedJson<'_> {
    let described = object! {
        "name": NAME, "strict": is_strict(&answer.schema), "schema": schema::parameters(&answer.schema),
    };
    object! {"type": "json_schema", "json_schema": described}
}

/// The `output_config.format` of Anthropic.
pub(crate) fn of_anthropic(answer: &AnswerSchema) -> BorrowedJson<'_> {
    object! {"type": "json_schema", "schema": &answer.schema}
}

/// Returns whether OpenAI can guarantee the schema: each object names all its properties as required and
/// allows no others. Keywords that its strict mode does not know make it `false` too.
fn is_strict(schema: &Value) -> bool {
    all(schema, &|fields| {
        fits_strict_object(fields) && !fields.keys().any(|key| is_foreign(key))
    })
}

fn is_foreign(key: &str) -> bool {
    matches!(
        key,
        "oneOf"
            | "allOf"
            | "not"
            | "if"
            | "patternProperties"
            | "prefixItems"
            | "default"
            | "format"
            | "$schema"
    ) || NOT_AT_ANTHROPIC.contains(&key)
}

fn fits_strict_object(fields: &Map<String, Value>) -> bool {
    if !describes_object(fields) {
        return true;
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = fields
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    is_closed(fields)
        && properties
            .is_some_and(|properties| properties.keys().all(|name| required.contains(&name.as_str())))
}

fn fits_anthropic(fields: &Map<String, Value>) -> bool {
    let is_known = fields.keys().all(|key| !NOT_AT_ANTHROPIC.contains(&key.as_str()));
    is_known && (!describes_object(fields) || is_closed(fields))
}

fn is_closed(fields: &Map<String, Value>) -> bool {
    fields.get("additionalProperties") == Some(&Value::Bool(false))
}

fn is_object(schema: &Value) -> bool {
    schema["type"] == "object"
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
    fits(fields) && schema::children(fields).all(|child| all(child, fits))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strict_is_asked_for_only_where_openai_takes_it() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "additionalProperties": false});
        let cases = [
            (closed.clone(), true),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
                false,
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
                false,
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}, "required": ["a"],
                "additionalProperties": false}),
                false,
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"],
                "additionalProperties": false}),
                false,
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "array", "items": closed}}, "required": ["a"],
                "additionalProperties": false}),
                true,
            ),
        ];
        for (schema, strict) in cases {
            assert_eq!(is_strict(&schema), strict, "{schema}");
        }
    }

    #[test]
    fn names_of_properties_are_no_keywords() {
        let schema = json!({"type": "object", "properties": {"minimum": {"type": "string"}},
            "required": ["minimum"], "additionalProperties": false});
        assert!(all(&schema, &fits_anthropic) && is_strict(&schema));
    }
}
