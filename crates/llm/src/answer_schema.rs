//! The schema of an answer in a request: in the mode of the API if the model has one and accepts this schema,
//! otherwise as a written instruction. The caller validates the answer in both cases.
//!
//! | API | mode | accepted schemas |
//! | --- | --- | --- |
//! | Responses, Chat Completions | `text.format`, `response_format` | objects; `strict` if [`schema_rules`] allow it |
//! | Anthropic | `output_config.format` | objects that [`schema_rules`] allow |
//! | Gemini | `responseJsonSchema` | any; up to 2.5 not beside tools (<https://github.com/symfony/ai/issues/803>) |
//! | Converse | `outputConfig.textFormat`, as text | objects that [`schema_rules`] allow at Anthropic |
//! | Interactions | – | |
//!
//! A schema that is still refused is sent in the next weaker form for the rest of the run: `strict`, the mode
//! of the API, written instruction ([`RequestPart::StrictSchema`], [`RequestPart::AnswerSchema`]).

use std::borrow::Cow;

use agentx_types::{AnswerSchema, Api, ModelRequest, RequestPart};
use serde_json::Value;

use crate::json::{BorrowedJson, object};
use crate::wire_options::WireOptions;
use crate::{schema, schema_rules};

/// The name of the schema, for APIs that require one.
const NAME: &str = "answer";

/// The request to build: if the model has no mode for its schema, the schema becomes the last instruction,
/// and the request has none.
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

/// The form in which the schema of an answer is sent.
pub(crate) enum SentForm {
    /// In the mode of the API, which guarantees that the answer fits.
    Strict,
    /// In the mode of the API, without the guarantee, or if there is only one form.
    Plain,
    /// As a written instruction, or not at all.
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

/// The instruction for a model that has no mode for schemas.
fn instruction(answer: &AnswerSchema) -> String {
    format!(
        "Your last answer, the one without tool calls, is one JSON value and nothing else: no words around it, no code \
         fence. It has to fit this JSON Schema:\n{}",
        answer.schema
    )
}

/// Returns whether the mode of the API supports this schema in this request.
fn takes(request: &ModelRequest, schema: &Value) -> bool {
    match request.model.api {
        Api::OpenaiResponses | Api::OpenaiChat => is_object(schema),
        Api::Anthropic | Api::Bedrock | Api::BedrockConverse | Api::VertexAnthropic => {
            is_object(schema) && schema_rules::fits_anthropic(schema)
        }
        Api::Gemini => request.tools.is_empty() || !is_up_to_2_5(&request.model.id),
        Api::GeminiInteractions | Api::Scripted | Api::Unknown => false,
    }
}

/// Returns whether it is a model of Gemini 2.5 or before.
fn is_up_to_2_5(id: &str) -> bool {
    ["gemini-1", "gemini-2"].iter().any(|name| id.contains(name))
}

/// The format in `text` of a request to Responses.
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

/// The `outputConfig` of Converse, which takes the schema as a text
/// (<https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html>).
pub(crate) fn of_converse<'a>(answer: &AnswerSchema) -> BorrowedJson<'a> {
    let described = object! {"name": NAME, "schema": answer.schema.to_string()};
    let structure = object! {"jsonSchema": described};
    object! {"textFormat": object! {"type": "json_schema", "structure": structure}}
}

fn is_object(schema: &Value) -> bool {
    schema["type"] == "object"
}
