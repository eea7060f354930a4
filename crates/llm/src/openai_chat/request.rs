//! Builds the body of a Chat Completions request from a conversation.

use agentx_types::{
    ContentPart, MediaPart, Message, ModelRequest, Role, ToolCallPart, ToolResultPart, ToolSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{API, media};
use crate::anthropic::effort;
use crate::emit::fnv1a;
use crate::request::BlobSource;

/// How a server of this API wants to be spoken to. The default is what most compatible servers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Which field holds the longest answer.
    pub max_tokens_field: MaxTokensField,
    /// Whether usage must be asked for with `stream_options`.
    pub stream_options: bool,
    /// Which reasoning is sent back.
    pub reasoning_echo: ReasoningEcho,
    /// How reasoning is asked for.
    pub thinking: ThinkingParam,
    /// Whether the model takes a temperature.
    pub temperature: bool,
    /// Whether ids of tool calls must be nine letters or digits (Mistral).
    pub short_call_ids: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_tokens_field: MaxTokensField::MaxTokens,
            stream_options: true,
            reasoning_echo: ReasoningEcho::None,
            thinking: ThinkingParam::None,
            temperature: true,
            short_call_ids: false,
        }
    }
}

/// Which field holds the longest answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`: nearly every server except OpenAI's own, whose reasoning models refuse it.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`: OpenAI; many compatible servers ignore it.
    MaxCompletionTokens,
}

/// Which reasoning is sent back: all of it or none, so that the beginning of a growing conversation stays the same and
/// can be read from the server's cache. `reasoning_details` with signatures always are sent back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningEcho {
    /// None.
    #[default]
    None,
    /// As `reasoning_content` (DeepSeek, Moonshot and Z.AI want it with tool calls).
    ReasoningContent,
    /// As `reasoning` (OpenRouter, Groq, Ollama).
    Reasoning,
}

/// How reasoning is asked for. Where no tokens are asked for, nothing is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingParam {
    /// It cannot be, or the server decides.
    #[default]
    None,
    /// `reasoning_effort`: low, medium, high.
    ReasoningEffort,
    /// `reasoning: { max_tokens }` (OpenRouter).
    ReasoningObject,
    /// `thinking: { type: "enabled" }` (DeepSeek, Z.AI).
    ThinkingType,
}

/// The body of the request, with `stream: true`.
///
/// System prompts become one system message. Results of tools become one `tool` message each; images in them follow in a
/// `user` message, because `tool` messages hold text only. A failed result says so in its text.
pub fn build(request: &ModelRequest, options: &Options, blobs: &dyn BlobSource) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), json!(request.model.id));
    body.insert("messages".into(), Value::Array(messages(request, options, blobs)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    body.insert("stream".into(), json!(true));
    if options.stream_options {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if let Some(tokens) = request.params.max_output_tokens {
        let field = match options.max_tokens_field {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        let limit = request.model.max_output_tokens.max(1);
        body.insert(field.into(), json!(tokens.clamp(1, limit)));
    }
    if let Some(temperature) = request.params.temperature.filter(|_| options.temperature) {
        body.insert("temperature".into(), json!(temperature.clamp(0.0, 2.0)));
    }
    if let Some(tokens) = request.params.thinking_tokens {
        ask_for_reasoning(tokens, options, &mut body);
    }
    Value::Object(body)
}

fn ask_for_reasoning(tokens: u64, options: &Options, body: &mut Map<String, Value>) {
    let (key, value) = match options.thinking {
        ThinkingParam::None => return,
        ThinkingParam::ReasoningEffort => ("reasoning_effort", json!(effort(tokens))),
        ThinkingParam::ReasoningObject => ("reasoning", json!({"max_tokens": tokens})),
        ThinkingParam::ThinkingType => ("thinking", json!({"type": "enabled"})),
    };
    body.insert(key.into(), value);
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    })
}

fn messages(request: &ModelRequest, options: &Options, blobs: &dyn BlobSource) -> Vec<Value> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    let system: Vec<&str> = request
        .system
        .iter()
        .map(AsRef::as_ref)
        .filter(|text: &&str| !text.trim().is_empty())
        .collect();
    if !system.is_empty() {
        out.push(json!({"role": "system", "content": system.join("\n\n")}));
    }
    // Media of tool results wait for the end of the results: nothing may stand between them.
    let mut waiting: Vec<Value> = Vec::new();
    for message in &request.messages {
        if message.role != Role::Tool {
            flush(&mut waiting, &mut out);
        }
        match message.role {
            Role::System => out.push(json!({"role": "system", "content": message.text()})),
            Role::User | Role::Tool => user_side(message, options, blobs, &mut waiting, &mut out),
            Role::Assistant => out.extend(assistant(message, request.model.id.as_str(), options)),
        }
    }
    flush(&mut waiting, &mut out);
    out
}

fn flush(waiting: &mut Vec<Value>, out: &mut Vec<Value>) {
    if !waiting.is_empty() {
        out.push(json!({"role": "user", "content": std::mem::take(waiting)}));
    }
}

/// Results of tools first, each its own message; then what is left, as one user message.
fn user_side(
    message: &Message,
    options: &Options,
    blobs: &dyn BlobSource,
    waiting: &mut Vec<Value>,
    out: &mut Vec<Value>,
) {
    let mut rest: Vec<Value> = Vec::new();
    for part in &message.content {
        match part {
            ContentPart::Text(part) if part.text.is_empty() => {}
            ContentPart::Text(part) => rest.push(media::text(part.text.as_str())),
            ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                rest.push(media::part(part, blobs));
            }
            ContentPart::ToolResult(result) => {
                let (text, pictures) = tool_result(result, blobs);
                out.push(json!({
                    "role": "tool",
                    "tool_call_id": call_id(result.tool_call_id.as_str(), options),
                    "content": text,
                }));
                waiting.extend(pictures);
            }
            ContentPart::Thinking(_) | ContentPart::ToolCall(_) | ContentPart::Opaque(_) => {}
        }
    }
    let only_text = rest.iter().all(|part| part["type"] == "text");
    match rest.len() {
        0 => {}
        1 if only_text => out.push(json!({"role": "user", "content": rest[0]["text"]})),
        _ => out.push(json!({"role": "user", "content": rest})),
    }
}

/// The text of a result, and the media that must follow it.
fn tool_result(result: &ToolResultPart, blobs: &dyn BlobSource) -> (String, Vec<Value>) {
    let mut text = String::new();
    let mut pictures = Vec::new();
    let mut show = |part: &MediaPart| {
        let shown = media::part(part, blobs);
        match shown["text"].as_str() {
            Some(words) => Some(words.to_owned()),
            None => {
                if pictures.is_empty() {
                    pictures.push(media::text(format!("(From the tool {}:)", result.name)));
                }
                pictures.push(shown);
                None
            }
        }
    };
    for part in &result.content {
        let words = match part {
            ContentPart::Text(part) => Some(part.text.clone()),
            ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => show(part),
            _ => None,
        };
        if let Some(words) = words {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&words);
        }
    }
    if text.is_empty() && !pictures.is_empty() {
        text.push_str("(The result follows.)");
    }
    let says_so = text
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if result.is_error && !says_so {
        text.insert_str(0, "Error: ");
    }
    (text, pictures)
}

/// The model's own message; `None` where nothing in it can be sent.
fn assistant(message: &Message, model: &str, options: &Options) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some(tool_call(call, options)),
            _ => None,
        })
        .collect();
    if text.trim().is_empty() && calls.is_empty() {
        return None;
    }
    let mut out = Map::new();
    out.insert("role".into(), json!("assistant"));
    out.insert(
        "content".into(),
        if text.is_empty() {
            Value::Null
        } else {
            Value::String(text)
        },
    );
    let echo = match options.reasoning_echo {
        ReasoningEcho::None => None,
        ReasoningEcho::ReasoningContent => Some("reasoning_content"),
        ReasoningEcho::Reasoning => Some("reasoning"),
    };
    if let Some(key) = echo
        && let Some(reasoning) = reasoning(message)
    {
        out.insert(key.into(), Value::String(reasoning));
    }
    if let Some(details) = reasoning_details(message, model) {
        out.insert("reasoning_details".into(), details);
    }
    if !calls.is_empty() {
        out.insert("tool_calls".into(), Value::Array(calls));
    }
    Some(Value::Object(out))
}

fn tool_call(call: &ToolCallPart, options: &Options) -> Value {
    let arguments = if call.input.is_object() {
        call.input.to_string()
    } else {
        "{}".into()
    };
    json!({
        "id": call_id(call.tool_call_id.as_str(), options),
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    })
}

/// The words of the reasoning, where they are not another API's.
fn reasoning(message: &Message) -> Option<String> {
    let words: String = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Thinking(part) if part.provider.as_ref().is_none_or(|data| data.api == API) => {
                Some(part.text.as_str())
            }
            _ => None,
        })
        .collect();
    (!words.is_empty()).then_some(words)
}

/// What is signed or encrypted in them is its own model's.
fn reasoning_details(message: &Message, model: &str) -> Option<Value> {
    let details: Vec<Value> = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Opaque(part) if part.provider.api == API && !part.provider.is_of_another(model) => {
                part.provider.data.get("reasoning_details")?.as_array().cloned()
            }
            _ => None,
        })
        .flatten()
        .collect();
    (!details.is_empty()).then_some(Value::Array(details))
}

/// The id as it is, unless the server wants nine letters or digits: then a hash of it, the same for call and result.
fn call_id(id: &str, options: &Options) -> String {
    const LENGTH: usize = 9;
    let fits = id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !options.short_call_ids || fits {
        return id.to_owned();
    }
    let mut hash = fnv1a(id.as_bytes());
    (0..LENGTH)
        .map(|_| {
            let digit = char::from_digit((hash % 36) as u32, 36).unwrap_or('0');
            hash /= 36;
            digit
        })
        .collect()
}
