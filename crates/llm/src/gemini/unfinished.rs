//! Maps the reasons for which Gemini ends an unusable answer to errors, with Gemini's word and advice.
//! Gateways and the compatible endpoint pass these words on, so Chat Completions uses this module too.
//!
//! The words are those of `FinishReason`
//! (<https://googleapis.github.io/js-genai/release_docs/enums/types.FinishReason.html>). A mistake of the
//! model passes if the model is called again: gemini-cli does so
//! (<https://github.com/google-gemini/gemini-cli/blob/5411f113cafae26161b4969b0237b8e1e024e2c2/packages/core/src/core/geminiChat.ts>).

use agentx_types::RequestPart;

use crate::error::{ErrorCode, ModelError};

/// The words that an answer without content must not end with, of which no other vendor has any.
const WORDS: &[&str] = &[
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "LANGUAGE",
    "OTHER",
    "NO_IMAGE",
    "IMAGE_OTHER",
];

/// Returns the error of an answer that ended with one of these words; `None` if the answer counts. `said` are
/// Gemini's own words about it, which may be empty.
pub(crate) fn failure(word: &str, said: &str, has_answer: bool) -> Option<ModelError> {
    const AGAIN: ErrorCode = ErrorCode::BadGeneration;
    const NEVER: ErrorCode = ErrorCode::BadRequest;
    let (code, meaning) = match word {
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            (AGAIN, "the model wrote a call that cannot be read")
        }
        _ if has_answer || !WORDS.contains(&word) => return None,
        "TOO_MANY_TOOL_CALLS" => (
            AGAIN,
            "the model called too many tools; ask for smaller steps, or choose another model",
        ),
        "MISSING_THOUGHT_SIGNATURE" => (
            NEVER,
            "the conversation lacks a signature of the model; choose another model, or start a new session",
        ),
        "LANGUAGE" => (
            NEVER,
            "the model does not support the language; write in another one, or choose another model",
        ),
        "NO_IMAGE" | "IMAGE_OTHER" => (
            NEVER,
            "the model made no picture; choose a model that answers with text",
        ),
        _ => (
            AGAIN,
            "the model gave no answer and no reason; rephrase your message, or choose another model",
        ),
    };
    let message = if said.is_empty() {
        format!("{meaning} ({word})")
    } else {
        format!("{word}: {said} ({meaning})")
    };
    let refused = (word == "MISSING_THOUGHT_SIGNATURE").then_some(RequestPart::ThoughtSignature);
    Some(ModelError {
        refused,
        ..ModelError::of(code, &message)
    })
}
