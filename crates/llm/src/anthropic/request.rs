//! Builds the body of a Messages request from a conversation.

use std::collections::BTreeSet;

use agentx_types::{
    ContentPart, MediaPart, Message, ModelRequest, ProviderData, Role, ThinkingPart, ToolCallPart,
    ToolResultPart, ToolSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{API, cache};
use crate::request::{BlobSource, Media, MediaKind, media_kind, placeholder};

/// How a model of this API wants to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// How reasoning is asked for.
    pub thinking: Thinking,
    /// Whether the model takes a temperature.
    pub temperature: bool,
    /// Whether cache breakpoints are set.
    pub cache: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            thinking: Thinking::Budget,
            temperature: true,
            cache: true,
        }
    }
}

/// How reasoning is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// A budget of tokens: models up to 4.5, and 4.6 still.
    #[default]
    Budget,
    /// The model decides; the tokens asked for become an effort. Models from 4.6 on, the only way from 4.7 on.
    Adaptive,
    /// The model cannot reason; nothing is asked.
    None,
}

/// The smallest budget that the API takes.
const SMALLEST_BUDGET: u64 = 1_024;

/// The body of the request, with `stream: true`.
///
/// - Neighbouring messages of one side become one; results of tools come first in it, as the API demands.
/// - Parts of another API, thinking of another model or without a signature, and text without anything but whitespace are left out.
/// - With thinking, no temperature is sent. A budget leaves at least 1,024 tokens for the answer; where there is no room
///   for it, or where a tool call that is being answered was made without thinking, none is asked for.
/// - A temperature above 1 is sent as 1.
pub fn build(request: &ModelRequest, options: &Options, blobs: &dyn BlobSource) -> Value {
    let mut messages = messages(request, blobs);
    let mut system: Vec<Value> = request
        .system
        .iter()
        .filter(|text| !text.trim().is_empty())
        .map(|text| json!({"type": "text", "text": text.as_ref()}))
        .collect();
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect();
    if options.cache {
        cache::mark_prefix(&mut system, &mut tools);
        cache::mark_conversation(&mut messages);
    }

    let max_tokens = max_tokens(request);
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model.id));
    body.insert("max_tokens".into(), json!(max_tokens));
    body.insert("stream".into(), json!(true));
    if !system.is_empty() {
        body.insert("system".into(), Value::Array(system));
    }
    if !tools.is_empty() {
        body.insert("tools".into(), Value::Array(tools));
    }
    sampling(request, options, max_tokens, &messages, &mut body);
    body.insert("messages".into(), Value::Array(messages));
    Value::Object(body)
}

fn max_tokens(request: &ModelRequest) -> u64 {
    let limit = request.model.max_output_tokens.max(1);
    request.params.max_output_tokens.unwrap_or(limit).clamp(1, limit)
}

fn sampling(
    request: &ModelRequest,
    options: &Options,
    max_tokens: u64,
    messages: &[Value],
    body: &mut Map<String, Value>,
) {
    let wanted = request.params.thinking_tokens;
    match (options.thinking, wanted) {
        (Thinking::Adaptive, Some(tokens)) => {
            body.insert(
                "thinking".into(),
                json!({"type": "adaptive", "display": "summarized"}),
            );
            body.insert("output_config".into(), json!({"effort": effort(tokens)}));
            return;
        }
        (Thinking::Budget, Some(tokens)) if may_think(messages) => {
            let budget = tokens.max(SMALLEST_BUDGET).min(max_tokens.saturating_sub(1_024));
            if budget >= SMALLEST_BUDGET {
                body.insert(
                    "thinking".into(),
                    json!({"type": "enabled", "budget_tokens": budget}),
                );
                return;
            }
        }
        (Thinking::None | Thinking::Budget | Thinking::Adaptive, _) => {}
    }
    if let Some(temperature) = request.params.temperature.filter(|_| options.temperature) {
        body.insert("temperature".into(), json!(temperature.clamp(0.0, 1.0)));
    }
}

/// The effort that is nearest to a budget of tokens.
pub(crate) fn effort(tokens: u64) -> &'static str {
    match tokens {
        0..=4_096 => "low",
        4_097..=16_384 => "medium",
        _ => "high",
    }
}

/// While a tool call is being answered, the API refuses a budget unless the call was made with thinking.
fn may_think(messages: &[Value]) -> bool {
    let answers_a_call = messages
        .last()
        .is_some_and(|last| has_block(last, &["tool_result"]));
    let asked_by = messages.iter().rfind(|message| message["role"] == "assistant");
    !answers_a_call || asked_by.is_none_or(|message| has_block(message, &["thinking", "redacted_thinking"]))
}

fn has_block(message: &Value, kinds: &[&str]) -> bool {
    let blocks = message["content"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    blocks
        .iter()
        .any(|block| block["type"].as_str().is_some_and(|kind| kinds.contains(&kind)))
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

fn messages(request: &ModelRequest, blobs: &dyn BlobSource) -> Vec<Value> {
    let (conversation, model) = (&request.messages, request.model.id.as_str());
    let mut sides: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for (index, message) in conversation.iter().enumerate() {
        let is_last = index + 1 == conversation.len();
        let (side, blocks) = match message.role {
            Role::Assistant => ("assistant", assistant_blocks(message, model, is_last)),
            Role::User | Role::Tool | Role::System => ("user", user_blocks(&message.content, blobs)),
        };
        match sides.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, present)) if *last == side => present.extend(blocks),
            _ => sides.push((side, blocks)),
        }
    }
    if sides.first().is_some_and(|(side, _)| *side == "assistant") {
        sides.insert(
            0,
            (
                "user",
                vec![json!({"type": "text", "text": "(The conversation goes on.)"})],
            ),
        );
    }
    for (side, blocks) in &mut sides {
        if *side == "user" {
            blocks.sort_by_key(|block| block["type"] != "tool_result");
        }
    }
    sides
        .into_iter()
        .map(|(side, blocks)| json!({"role": side, "content": blocks}))
        .collect()
}

fn assistant_blocks(message: &Message, model: &str, is_last: bool) -> Vec<Value> {
    let answered = answered_server_calls(message);
    let mut blocks: Vec<Value> = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Text(part) if part.text.trim().is_empty() => None,
            ContentPart::Text(part) => Some(with_provider_data(
                json!({"type": "text", "text": part.text}),
                part.provider.as_ref(),
            )),
            ContentPart::Thinking(part) => thinking(part, model),
            ContentPart::ToolCall(part) => Some(tool_use(part)),
            ContentPart::Opaque(part) => opaque(&part.provider, model),
            _ => None,
        })
        // A server's tool call that broke off before its result is refused, unless the turn goes on with it.
        .filter(|block| {
            is_last || block["type"] != "server_tool_use" || answered.contains(text_of(block, "id"))
        })
        .collect();
    if is_last
        && let Some(last) = blocks.last_mut()
        && last["type"] == "text"
    {
        last["text"] = Value::String(text_of(last, "text").trim_end().to_owned());
    }
    blocks
}

fn answered_server_calls(message: &Message) -> BTreeSet<&str> {
    message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Opaque(part) => part.provider.data.get("tool_use_id")?.as_str(),
            _ => None,
        })
        .collect()
}

fn text_of<'v>(block: &'v Value, key: &str) -> &'v str {
    block[key].as_str().unwrap_or_default()
}

/// A part as it came, unless it is another API's, or hides what another model thought.
fn opaque(provider: &ProviderData, model: &str) -> Option<Value> {
    let hides = provider.data["type"] == "redacted_thinking" && provider.is_of_another(model);
    (provider.api == API && !hides).then(|| provider.data.clone())
}

fn thinking(part: &ThinkingPart, model: &str) -> Option<Value> {
    let data = part.provider.as_ref().filter(|provider| provider.api == API)?;
    if data.is_of_another(model) {
        return None;
    }
    data.data.get("signature")?;
    Some(with_provider_data(
        json!({"type": "thinking", "thinking": part.text}),
        Some(data),
    ))
}

fn tool_use(part: &ToolCallPart) -> Value {
    let input = match &part.input {
        input @ Value::Object(_) => input.clone(),
        _ => json!({}),
    };
    let id = call_id(part.tool_call_id.as_str());
    let block = json!({"type": "tool_use", "id": id, "name": part.name, "input": input});
    with_provider_data(block, part.provider.as_ref())
}

/// Ids of other APIs may have characters that this one refuses.
fn call_id(id: &str) -> String {
    id.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}

fn with_provider_data(mut block: Value, provider: Option<&ProviderData>) -> Value {
    if let Some(provider) = provider.filter(|provider| provider.api == API)
        && let (Value::Object(block), Value::Object(data)) = (&mut block, &provider.data)
    {
        for (key, value) in data {
            block.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    block
}

fn user_blocks(parts: &[ContentPart], blobs: &dyn BlobSource) -> Vec<Value> {
    parts.iter().filter_map(|part| user_block(part, blobs)).collect()
}

fn user_block(part: &ContentPart, blobs: &dyn BlobSource) -> Option<Value> {
    match part {
        ContentPart::Text(part) => text_block(&part.text),
        ContentPart::Image(part) | ContentPart::File(part) | ContentPart::Audio(part) => {
            Some(media(part, blobs))
        }
        ContentPart::ToolResult(part) => Some(tool_result(part, blobs)),
        ContentPart::Opaque(part) if part.provider.api == API => Some(part.provider.data.clone()),
        ContentPart::Thinking(_) | ContentPart::ToolCall(_) | ContentPart::Opaque(_) => None,
    }
}

fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn tool_result(part: &ToolResultPart, blobs: &dyn BlobSource) -> Value {
    let mut block = Map::new();
    block.insert("type".into(), json!("tool_result"));
    block.insert("tool_use_id".into(), json!(call_id(part.tool_call_id.as_str())));
    let content = user_blocks(&part.content, blobs);
    if !content.is_empty() {
        block.insert("content".into(), Value::Array(content));
    }
    if part.is_error {
        block.insert("is_error".into(), json!(true));
    }
    Value::Object(block)
}

fn media(part: &MediaPart, blobs: &dyn BlobSource) -> Value {
    let kind = match (part, media_kind(&part.media_type)) {
        (_, MediaKind::Image) => "image",
        (_, MediaKind::Pdf | MediaKind::Text) => "document",
        (_, MediaKind::Audio | MediaKind::Other) => {
            return json!({"type": "text", "text": placeholder(part, "this model cannot read it")});
        }
    };
    let source = match Media::of(part, blobs) {
        Media::Missing => return json!({"type": "text", "text": placeholder(part, "it is no longer stored")}),
        Media::Url(url) => json!({"type": "url", "url": url}),
        media @ Media::Base64(_) if media_kind(&part.media_type) == MediaKind::Text => {
            json!({"type": "text", "media_type": "text/plain", "data": media.text().unwrap_or_default()})
        }
        Media::Base64(data) => json!({"type": "base64", "media_type": part.media_type, "data": data}),
    };
    let mut block = json!({"type": kind, "source": source});
    if let (Some(name), "document") = (&part.name, kind) {
        block["title"] = json!(name);
    }
    block
}
