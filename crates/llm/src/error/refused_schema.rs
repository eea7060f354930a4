//! Finds refusals of the schema of an answer, and of the mode in which it is sent. The request then succeeds
//! with the schema as a written instruction.
//!
//! Sources of the words: OpenAI ("Invalid schema for response_format 'response': context=('properties',
//! 'labels'), $ref cannot have keywords {'description'}",
//! <https://github.com/vectorize-io/hindsight/pull/3944>; Responses names the field `text.format.schema`),
//! Anthropic ("The compiled grammar is too large, which would cause performance issues. Simplify your tool
//! schemas or reduce the number of strict tools.", which it says of `output_config.format` too:
//! <https://github.com/anthropics/anthropic-sdk-python/issues/1185>), Gemini ("The specified schema produces
//! a constraint that has too many states for serving.", <https://github.com/flutter/genui/issues/428>; "A
//! schema in GenerationConfig in the request exceeds the maximum allowed nesting depth.",
//! <https://github.com/Portkey-AI/gateway/pull/1616>). Made up after these: "Schemas contains too many
//! optional parameters", "Circular reference detected in schema definitions".

use super::Extracted;

/// Names of the fields that the schema is sent in, in lower case.
const FIELDS: &[&str] = &[
    "response_format",
    "text.format",
    "output_config.format",
    "output_format",
    "outputconfig",
    "textformat",
    "json_schema",
    "response_schema",
    "responseschema",
    "response_json_schema",
    "responsejsonschema",
    "response mime type",
    "response_mime_type",
    "structured output",
];

/// Words about any schema: for tools that are not `strict`, no API uses them.
const WORDS: &[&str] = &[
    "compiled grammar",
    "grammar compilation",
    "compiling the grammar",
    "schemas contains too many",
    "schema contains too many",
    "schema is too complex",
    "too many states for serving",
    "schema in generationconfig",
    "circular reference detected in schema",
];

/// Returns whether a message, in lower case, is about the schema of the answer. A tool that is named by its
/// place is not.
pub(super) fn is_schema_refusal(said: &Extracted, message: &str) -> bool {
    let by_field = said.param.as_deref().is_some_and(|param| {
        ["text.format", "response_format", "output_config.format"]
            .iter()
            .any(|field| param.starts_with(field))
    });
    by_field || FIELDS.iter().chain(WORDS).any(|words| message.contains(words))
}
