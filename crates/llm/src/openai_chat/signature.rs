//! The signature that Gemini 3 and later require with the first call of each answer
//! (<https://ai.google.dev/gemini-api/docs/thought-signatures>). Without it they refuse the request. Calls by
//! another model have none: for these Google documents a placeholder that is not checked.

use agentx_types::{ModelRequest, RequestPart, ToolCallPart};
use serde_json::Value;

use super::{API, EXTRA};
use crate::json::{BorrowedJson, object};
use crate::wire_options::chat::{ChatOptions, ThinkingParam};

/// The placeholder for a signature.
const UNCHECKED: &str = "skip_thought_signature_validator";

/// Returns whether the model requires signatures, according to its name, or because it has refused a request
/// without them. OpenRouter has another form for them.
pub(super) fn are_wanted(request: &ModelRequest, options: &ChatOptions) -> bool {
    let is_named = options.thinking != ThinkingParam::ReasoningObject && is_gemini_3(&request.model.id);
    is_named || request.is_without(RequestPart::ThoughtSignature)
}

/// Returns the signature that came with a call of this model, to be sent back with it.
pub(super) fn of<'a>(call: &'a ToolCallPart, model: &str) -> Option<&'a Value> {
    call.provider.as_ref()?.data_for(API, model)?.get(EXTRA)
}

/// Gives the first of these calls a signature, if the model has signed none of them.
pub(super) fn complete(calls: &mut [BorrowedJson<'_>], is_signed: bool) {
    if let Some(first) = calls.first_mut().filter(|_| !is_signed) {
        first.set(
            EXTRA,
            object! {"google": object! {"thought_signature": UNCHECKED}},
        );
    }
}

fn is_gemini_3(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let version = id.split_once("gemini-").map(|(_, rest)| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<u32>().unwrap_or_default()
    });
    version.is_some_and(|version| version >= 3)
}
