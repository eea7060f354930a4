//! Builds the body of a `streamGenerateContent` request from a conversation.

use agentx_types::{ModelRequest, RequestPart, ToolSpec};

use super::family;
use super::{contents, openapi_schema, schema};
use crate::json::{BorrowedJson, object};
use crate::media::BlobSource;
use crate::request_words::{effort, longest_answer};
use crate::wire_options::WireOptions;
use crate::wire_options::chat::Effort;
use crate::wire_options::gemini::GeminiThinking;

/// The body of the request. The model is not in it: the address names it.
///
/// Among the fields of [`ChatOptions`](crate::openai_chat::ChatOptions), `effort` counts here too, because a
/// person sets it for a model of any API.
pub fn build(request: &ModelRequest, options: &WireOptions, blobs: &dyn BlobSource) -> Vec<u8> {
    let mut body = object! {"contents": contents::contents(request, &options.gemini, blobs)};
    let system = request.system.iter().map(AsRef::as_ref);
    let system: Vec<BorrowedJson<'_>> = system
        .filter(|text: &&str| !text.trim().is_empty())
        .map(|text| object! {"text": text})
        .collect();
    if !system.is_empty() {
        body.set("systemInstruction", object! {"parts": system});
    }
    if !request.tools.is_empty() {
        let functions: Vec<BorrowedJson<'_>> =
            request.tools.iter().map(|tool| function(tool, request)).collect();
        body.set("tools", vec![object! {"functionDeclarations": functions}]);
    }
    let mut config = object! {};
    if request.params.max_output_tokens.is_some() && !request.is_without(RequestPart::MaxTokens) {
        config.set("maxOutputTokens", longest_answer(request));
    }
    let temperature = request.params.temperature;
    if let Some(temperature) = temperature.filter(|_| !request.is_without(RequestPart::Temperature)) {
        config.set("temperature", temperature.clamp(0.0, 2.0));
    }
    if let Some(thinking) = thinking_config(request, options) {
        config.set("thinkingConfig", thinking);
    }
    if let Some(answer) = &request.answer_schema {
        config.set("responseMimeType", "application/json");
        config.set("responseJsonSchema", schema::cleaned(&answer.schema));
    }
    if !config.is_empty() {
        body.set("generationConfig", config);
    }
    body.to_bytes()
}

/// Returns the reasoning settings of the request. A request without optional settings (`plain`) has none.
/// Nobody reads the reasoning of a summary of the conversation.
fn thinking_config(request: &ModelRequest, options: &WireOptions) -> Option<BorrowedJson<'static>> {
    let way = thinking_of(request, options);
    if way == GeminiThinking::None || request.plain || request.is_without(RequestPart::Reasoning) {
        return None;
    }
    let mut config = object! {};
    if !request.is_asked_once() && !request.is_without(RequestPart::ReasoningSummary) {
        config.set("includeThoughts", true);
    }
    if !request.is_without(RequestPart::ReasoningEffort) {
        let (effort_set, tokens) = (options.chat.effort, request.params.thinking_tokens);
        if way == GeminiThinking::Level {
            if let Some(level) = level_of(request, options) {
                config.set("thinkingLevel", level);
            }
        } else if let Some(budget) = effort_set
            .map(|effort| budget(effort, &request.model.id))
            .or_else(|| tokens.map(within_budget))
        {
            config.set("thinkingBudget", budget);
        }
    }
    (!config.is_empty()).then_some(config)
}

/// The way to request reasoning of the model.
pub(crate) fn thinking_of(request: &ModelRequest, options: &WireOptions) -> GeminiThinking {
    let way = options.gemini.thinking;
    way.unwrap_or_else(|| family::thinking(&request.model.id))
}

/// The level of reasoning that a person has set, if any.
pub(crate) fn level_of(request: &ModelRequest, options: &WireOptions) -> Option<&'static str> {
    let wished = request.params.thinking_tokens.map(effort);
    options.chat.effort.map(level).or(wished)
}

/// The level of an effort. No model of these can do without reasoning, and all take `low`; only some take
/// `minimal`
/// (<https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/3-8-flash.md.txt>).
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal => "minimal",
        Effort::None | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Xhigh => "high",
    }
}

/// The budget of an effort, as Google's own OpenAI-compatible API translates it
/// (<https://ai.google.dev/gemini-api/docs/openai>). A Pro model cannot do without reasoning: "The model does
/// not support setting thinking_budget to 0" (<https://github.com/earendil-works/pi/issues/3460>).
fn budget(effort: Effort, id: &str) -> u64 {
    match effort {
        Effort::None if id.contains("-pro") => LEAST_OF_PRO,
        Effort::None => 0,
        Effort::Minimal | Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High | Effort::Xhigh => LARGEST_BUDGET,
    }
}

/// The largest budget of all models with budgets: 24,576 tokens, and 32,768 of Gemini 2.5 Pro.
const LARGEST_BUDGET: u64 = 24_576;
/// The smallest budget of Gemini 2.5 Pro.
const LEAST_OF_PRO: u64 = 128;
/// The smallest budget that all of them accept: Flash-Lite's.
const SMALLEST_BUDGET: u64 = 512;

/// The budgets of all models overlap here (<https://ai.google.dev/gemini-api/docs/thinking>).
fn within_budget(tokens: u64) -> u64 {
    tokens.clamp(SMALLEST_BUDGET, LARGEST_BUDGET)
}

/// A tool as the API describes it.
fn function<'a>(tool: &'a ToolSpec, request: &ModelRequest) -> BorrowedJson<'a> {
    let mut json = object! {"name": contents::function_name(&tool.name), "description": &tool.description};
    if request.is_without(RequestPart::ToolJsonSchema) {
        if let Some(parameters) = openapi_schema::parameters(&tool.input_schema) {
            json.set("parameters", BorrowedJson::Owned(parameters));
        }
        return json;
    }
    if let Some(parameters) = schema::parameters(&tool.input_schema) {
        json.set("parametersJsonSchema", parameters);
    }
    json
}
