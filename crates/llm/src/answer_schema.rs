//! The schema of an answer, as a request carries it: in the mode of the API where the model has one and takes
//! this schema, else as an instruction in words. What comes is validated either way, by whoever asked.
//!
//! | API | mode | schemas that it takes |
//! | --- | --- | --- |
//! | Responses, Chat Completions | `text.format`, `response_format` | objects; `strict` where [`schema_rules`] say that it passes |
//! | Anthropic | `output_config.format` | objects for which [`schema_rules`] say that they pass |
//! | Gemini | `responseJsonSchema` | any; up to 2.5 not beside tools (<https://github.com/symfony/ai/issues/803>) |
//! | Interactions | – | |
//!
//! What is refused nevertheless goes down one form at a time, for the rest of the run: `strict`, the mode of the API,
//! words ([`RequestPart::StrictSchema`], [`RequestPart::AnswerSchema`]).

use std::borrow::Cow;

use agentx_types::{AnswerSchema, Api, ModelRequest, RequestPart};
use serde_json::Value;

use crate::json::{BorrowedJson, object};
use crate::request::WireOptions;
use crate::{schema, schema_rules};

/// The name of the schema where an API wants one.
const NAME: &str = "answer";

/// The request as it is built: where the model has no mode for its schema, the schema is an instruction behind the
/// others, and the request has none.
pub(crate) fn fitted<'a>(request: &'a ModelRequest, options: &WireOptions) -> Cow<'a, ModelRequest> {
    let Some(answer) = &request.answer_schema else {
        return Cow::Borrowed(request);
    };
    if is_in_mode(request, options, answer) {
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

/// Returns whether the schema is sent in the mode of the API.
fn is_in_mode(request: &ModelRequest, options: &WireOptions, answer: &AnswerSchema) -> bool {
    let is_refused = request.plain || request.is_without(RequestPart::AnswerSchema);
    options.answer_schema && !is_refused && takes(request, &answer.schema)
}

/// How the schema of an answer is sent.
pub(crate) enum SentForm {
    /// In the mode of the API, which guarantees that the answer fits.
    Strict,
    /// In the mode of the API, without the guarantee or where there is but one form.
    Plain,
    /// In words, or not at all.
    None,
}

/// Returns how the schema of the answer is sent with a request.
pub(crate) fn sent_form(request: &ModelRequest, options: &WireOptions) -> SentForm {
    match &request.answer_schema {
        Some(answer) if is_in_mode(request, options, answer) => {
            let knows_strict = matches!(request.model.api, Api::OpenaiResponses | Api::OpenaiChat);
            if knows_strict && asks_for_strict(request, answer) {
                SentForm::Strict
            } else {
                SentForm::Plain
            }
        }
        _ => SentForm::None,
    }
}

fn asks_for_strict(request: &ModelRequest, answer: &AnswerSchema) -> bool {
    !request.is_without(RequestPart::StrictSchema) && schema_rules::fits_openai_strict(&answer.schema)
}

/// What a model reads that has no mode for schemas.
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
        Api::Anthropic => is_object(schema) && schema_rules::fits_anthropic(schema),
        Api::Gemini => request.tools.is_empty() || !is_up_to_2_5(&request.model.id),
        Api::GeminiInteractions | Api::Scripted | Api::Unknown => false,
    }
}

/// Returns whether it is a model of Gemini 2.5 or before.
fn is_up_to_2_5(id: &str) -> bool {
    ["gemini-1", "gemini-2"].iter().any(|name| id.contains(name))
}

/// The format as Responses takes it in `text`.
pub(crate) fn of_responses<'a>(request: &ModelRequest, answer: &'a AnswerSchema) -> BorrowedJson<'a> {
    object! {"format": object! {
        "type": "json_schema", "name": NAME, "strict": asks_for_strict(request, answer),
        "schema": schema::parameters(&answer.schema),
    }}
}

/// The `response_format` of Chat Completions.
pub(crate) fn of_chat<'a>(request: &ModelRequest, answer: &'a AnswerSchema) -> BorrowedJson<'a> {
    let strict = asks_for_strict(request, answer);
    let described = object! {
        "name": NAME, "strict": strict, "schema": schema::parameters(&answer.schema),
    };
    object! {"type": "json_schema", "json_schema": described}
}

/// The `output_config.format` of Anthropic.
pub(crate) fn of_anthropic(answer: &AnswerSchema) -> BorrowedJson<'_> {
    object! {"type": "json_schema", "schema": &answer.schema}
}

fn is_object(schema: &Value) -> bool {
    schema["type"] == "object"
}
