//! Builds the body of an Interactions request from a conversation.

use agentx_types::{ModelRequest, RequestPart, ToolSpec};

use super::input;
use crate::gemini;
use crate::json::{BorrowedJson, object};
use crate::media::BlobSource;
use crate::request_words::{joined, longest_answer};
use crate::wire_options::WireOptions;
use crate::wire_options::gemini::GeminiThinking;

/// The body of the request, with `stream: true` and `store: false`.
pub fn build(request: &ModelRequest, options: &WireOptions, blobs: &dyn BlobSource) -> Vec<u8> {
    let mut body = object! {"model": &request.model.id, "input": input::steps(request, blobs)};
    let system = request.system.iter().map(AsRef::as_ref);
    let instruction = joined(system.filter(|text: &&str| !text.trim().is_empty()), "\n\n");
    if !instruction.is_empty() {
        body.set("system_instruction", instruction);
    }
    if !request.tools.is_empty() {
        body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
    }
    let mut config = object! {};
    if request.params.max_output_tokens.is_some() && !request.is_without(RequestPart::MaxTokens) {
        config.set("max_output_tokens", longest_answer(request));
    }
    if !request.plain {
        ask_for_reasoning(request, options, &mut config);
    }
    if !config.is_empty() {
        body.set("generation_config", config);
    }
    body.set("store", false);
    body.set("stream", true);
    body.to_bytes()
}

fn ask_for_reasoning(request: &ModelRequest, options: &WireOptions, config: &mut BorrowedJson<'_>) {
    let way = gemini::thinking_of(request, options);
    if way == GeminiThinking::None {
        return;
    }
    if !request.is_asked_once() && !request.is_without(RequestPart::ReasoningSummary) {
        config.set("thinking_summaries", "auto");
    }
    if way == GeminiThinking::Level
        && !request.is_without(RequestPart::ReasoningEffort)
        && let Some(level) = gemini::level_of(request, options)
    {
        config.set("thinking_level", level);
    }
}

/// A tool as the API describes it.
fn tool(tool: &ToolSpec) -> BorrowedJson<'_> {
    let mut json = object! {
        "type": "function", "name": gemini::function_name(&tool.name), "description": &tool.description,
    };
    if let Some(parameters) = gemini::parameters(&tool.input_schema) {
        json.set("parameters", parameters);
    }
    json
}
