//! The reasoning of earlier answers, as far as a server wants it back.

use std::borrow::Cow;

use agentx_types::{ContentPart, Message, ModelRequest, ProviderData, RequestPart};

use super::API;
use crate::json::BorrowedJson;
use crate::request_words::joined;
use crate::wire_options::chat::{ChatOptions, ReasoningEcho};

/// The field in which most servers send reasoning, and want it back.
pub(super) const REASONING_CONTENT: &str = "reasoning_content";

/// Returns the field in which the reasoning of earlier answers is sent back; `None` if it is not sent. A
/// field that a server has refused or required takes precedence over the options.
pub(super) fn reasoning_field(request: &ModelRequest, options: &ChatOptions) -> Option<&'static str> {
    if request.is_without(RequestPart::MissingReasoning) {
        return Some(REASONING_CONTENT);
    }
    match options.reasoning_echo {
        ReasoningEcho::None => None,
        ReasoningEcho::ReasoningContent => {
            (!request.is_without(RequestPart::ReasoningContent)).then_some(REASONING_CONTENT)
        }
        ReasoningEcho::Reasoning => Some("reasoning"),
    }
}

/// Returns the placeholder for missing reasoning, or another model's, if the vendor refuses a request without
/// it, or this server has refused one.
///
/// DeepSeek reasons by default and then refuses any answer in a conversation without `reasoning_content`
/// (<https://api-docs.deepseek.com/guides/thinking_mode>), also one of another model
/// (<https://github.com/Astro-Han/pawwork/issues/250>). An empty text is taken
/// (<https://github.com/SillyTavern/SillyTavern/pull/5545>). Moonshot refuses an answer with calls without
/// it, and takes an empty text for none, but not a blank
/// (<https://github.com/theopenco/llmgateway/pull/2093>).
fn placeholder(request: &ModelRequest, has_calls: bool) -> Option<&'static str> {
    let model = request.model.id.to_ascii_lowercase();
    match () {
        () if request.is_without(RequestPart::MissingReasoning) => Some(" "),
        () if model.contains("deepseek") => Some(""),
        () if model.contains("kimi") && has_calls => Some(" "),
        () => None,
    }
}

/// Returns the text for the reasoning of an answer that has none to send back, if the server wants one.
pub(super) fn missing_reasoning(
    request: &ModelRequest,
    options: &ChatOptions,
    has_calls: bool,
) -> Option<&'static str> {
    placeholder(request, has_calls).filter(|_| reasoning_field(request, options) == Some(REASONING_CONTENT))
}

/// The text of the reasoning, if it is not another API's or another model's: at Groq, models without
/// reasoning refuse it (<https://github.com/vercel/ai/issues/8056>). If its model is unknown, as in sessions
/// of older versions, it is sent.
pub(super) fn reasoning<'a>(message: &'a Message, model: &str) -> Option<Cow<'a, str>> {
    let is_own = |data: &ProviderData| data.data_for(API, model).is_some();
    let texts = message.content.iter().filter_map(|part| match part {
        ContentPart::Thinking(part) if part.provider.as_ref().is_none_or(is_own) => Some(part.text.as_str()),
        _ => None,
    });
    let words = joined(texts, "");
    (!words.is_empty()).then_some(words)
}

/// Returns the reasoning details to send back. Signed or encrypted ones are sent only to the model that made
/// them.
pub(super) fn reasoning_details<'a>(message: &'a Message, model: &str) -> Option<Vec<BorrowedJson<'a>>> {
    let details: Vec<BorrowedJson<'a>> = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Opaque(part) => {
                let data = part.provider.data_for(API, model)?;
                data.get("reasoning_details")?.as_array()
            }
            _ => None,
        })
        .flatten()
        .map(BorrowedJson::from)
        .collect();
    (!details.is_empty()).then_some(details)
}
