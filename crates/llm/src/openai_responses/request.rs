//! Builds the body of a Responses request from a conversation.

use agentx_types::{ModelRequest, RequestPart, ToolSpec};

use super::input::{self, LONGEST_NAME};
use crate::answer_schema;
use crate::json::{BorrowedJson, object};
use crate::media::BlobSource;
use crate::openai_chat::cache_key;
use crate::request_words::{effort, joined, longest_answer, tool_name};
use crate::root_schema;
use crate::wire_options::chat::{ChatOptions, ThinkingParam};

/// The smallest `max_output_tokens` that is accepted: "Invalid 'max_output_tokens': integer below minimum
/// value. Expected a value >= 16" (<https://github.com/vectorize-io/hindsight/issues/58>).
const LEAST_ANSWER: u64 = 16;

/// Returns the body of the request as JSON, with `stream: true` and `store: false`.
///
/// The encrypted reasoning and a summary of it are requested only from models that reason: others refuse both
/// ("Encrypted content is not supported with this model",
/// <https://github.com/pydantic/pydantic-ai/issues/3326>; "'reasoning.effort' is not supported with this
/// model", <https://github.com/OpenHands/software-agent-sdk/issues/3553>).
pub fn build(request: &ModelRequest, options: &ChatOptions, blobs: &dyn BlobSource) -> Vec<u8> {
    let mut body = object! {"model": &request.model.id};
    let system = request.system.iter().map(AsRef::as_ref);
    let instructions = joined(system.filter(|text: &&str| !text.trim().is_empty()), "\n\n");
    if !instructions.is_empty() {
        body.set("instructions", instructions);
    }
    body.set("input", input::items(request, blobs));
    if !request.tools.is_empty() {
        body.set(
            "tools",
            request
                .tools
                .iter()
                .map(|spec| tool(spec, request))
                .collect::<Vec<_>>(),
        );
    }
    if let Some(answer) = &request.answer_schema {
        body.set("text", answer_schema::of_responses(request, answer));
    }
    if !request.is_without(RequestPart::Store) {
        body.set("store", false);
    }
    body.set("stream", true);
    if request.params.max_output_tokens.is_some() && !request.is_without(RequestPart::MaxTokens) {
        body.set("max_output_tokens", longest_answer(request).max(LEAST_ANSWER));
    }
    let takes_temperature = options.temperature && !request.is_without(RequestPart::Temperature);
    if let Some(temperature) = request.params.temperature.filter(|_| takes_temperature) {
        body.set("temperature", temperature.clamp(0.0, 2.0));
    }
    if options.thinking != ThinkingParam::None {
        ask_for_reasoning(request, options, &mut body);
    }
    let takes_key = options.prompt_cache_key && !request.plain && !request.is_without(RequestPart::CacheKey);
    if let Some(key) = cache_key(request).filter(|_| takes_key) {
        body.set("prompt_cache_key", key);
    }
    body.to_bytes()
}

/// Requests reasoning that can be sent back, with a summary for people. A request without optional settings
/// (`plain`) requests neither. Summaries are refused for an organization that has not been verified
/// (<https://github.com/OpenHands/software-agent-sdk/issues/987>): they are left out then. Nobody reads the
/// reasoning of a summary of the conversation.
fn ask_for_reasoning(request: &ModelRequest, options: &ChatOptions, body: &mut BorrowedJson<'_>) {
    let wished = request.params.thinking_tokens.map(effort);
    let effort = options.effort.map(|effort| effort.as_str()).or(wished);
    let effort = effort.filter(|_| !request.is_without(RequestPart::ReasoningEffort));
    let is_read_again = !request.plain && !request.is_asked_once();
    let summary =
        is_read_again && effort != Some("none") && !request.is_without(RequestPart::ReasoningSummary);
    if is_read_again && !request.is_without(RequestPart::Include) {
        body.set("include", vec![BorrowedJson::from("reasoning.encrypted_content")]);
    }
    let mut reasoning = object! {};
    if let Some(effort) = effort {
        reasoning.set("effort", effort);
    }
    if summary {
        reasoning.set("summary", "auto");
    }
    if (effort.is_some() || summary) && !request.is_without(RequestPart::Reasoning) {
        body.set("reasoning", reasoning);
    }
}

/// A tool as the API describes it. Without `strict: false`, the API makes every field of a schema required.
fn tool<'a>(tool: &'a ToolSpec, request: &ModelRequest) -> BorrowedJson<'a> {
    let mut out = object! {
        "type": "function",
        "name": tool_name(&tool.name, LONGEST_NAME),
        "description": root_schema::description(tool),
        "parameters": root_schema::parameters(tool),
    };
    if !request.is_without(RequestPart::ToolStrict) {
        out.set("strict", false);
    }
    out
}
