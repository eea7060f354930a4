//! Builds the body of a Chat Completions request from a conversation.

use std::borrow::Cow;

use agentx_types::{ContentPart, Message, ModelRequest, Role, ToolCallPart, ToolResultPart, ToolSpec};
use serde::{Deserialize, Serialize};

use super::API;
use super::media::{Shown, shown};
use crate::anthropic::effort;
use crate::emit::fnv1a;
use crate::json::{Json, object};
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
pub fn build(request: &ModelRequest, options: &Options, blobs: &dyn BlobSource) -> Vec<u8> {
    let mut body = object! {"model": &request.model.id, "messages": messages(request, options, blobs)};
    if !request.tools.is_empty() {
        body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
    }
    body.set("stream", true);
    if options.stream_options {
        body.set("stream_options", object! {"include_usage": true});
    }
    if let Some(tokens) = request.params.max_output_tokens {
        let field = match options.max_tokens_field {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        let limit = request.model.max_output_tokens.max(1);
        body.set(field, tokens.clamp(1, limit));
    }
    if let Some(temperature) = request.params.temperature.filter(|_| options.temperature) {
        body.set("temperature", temperature.clamp(0.0, 2.0));
    }
    if let Some(tokens) = request.params.thinking_tokens {
        ask_for_reasoning(tokens, options, &mut body);
    }
    body.to_bytes()
}

fn ask_for_reasoning(tokens: u64, options: &Options, body: &mut Json<'_>) {
    match options.thinking {
        ThinkingParam::None => {}
        ThinkingParam::ReasoningEffort => body.set("reasoning_effort", effort(tokens)),
        ThinkingParam::ReasoningObject => body.set("reasoning", object! {"max_tokens": tokens}),
        ThinkingParam::ThinkingType => body.set("thinking", object! {"type": "enabled"}),
    }
}

fn tool(tool: &ToolSpec) -> Json<'_> {
    let function =
        object! {"name": &tool.name, "description": &tool.description, "parameters": &tool.input_schema};
    object! {"type": "function", "function": function}
}

fn messages<'a>(request: &'a ModelRequest, options: &Options, blobs: &dyn BlobSource) -> Vec<Json<'a>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    let system = request.system.iter().map(AsRef::as_ref);
    let system = joined(system.filter(|text: &&str| !text.trim().is_empty()), "\n\n");
    if !system.is_empty() {
        out.push(object! {"role": "system", "content": system});
    }
    // Media of tool results wait for the end of the results: nothing may stand between them.
    let mut waiting: Vec<Json<'a>> = Vec::new();
    for message in &request.messages {
        if message.role != Role::Tool {
            flush(&mut waiting, &mut out);
        }
        match message.role {
            Role::System => out.push(object! {"role": "system", "content": words(message)}),
            Role::User | Role::Tool => user_side(message, options, blobs, &mut waiting, &mut out),
            Role::Assistant => out.extend(assistant(message, request.model.id.as_str(), options)),
        }
    }
    flush(&mut waiting, &mut out);
    out
}

/// Texts end to end. One alone, as nearly always, is not copied.
fn joined<'a>(texts: impl Iterator<Item = &'a str>, between: &'static str) -> Cow<'a, str> {
    texts.fold(Cow::Borrowed(""), |mut all, text| {
        if !all.is_empty() {
            all += between;
        }
        all + text
    })
}

/// All text parts, joined.
fn words(message: &Message) -> Cow<'_, str> {
    joined(message.content.iter().filter_map(ContentPart::as_text), "")
}

fn flush<'a>(waiting: &mut Vec<Json<'a>>, out: &mut Vec<Json<'a>>) {
    if !waiting.is_empty() {
        out.push(object! {"role": "user", "content": std::mem::take(waiting)});
    }
}

/// Results of tools first, each its own message; then what is left, as one user message.
fn user_side<'a>(
    message: &'a Message,
    options: &Options,
    blobs: &dyn BlobSource,
    waiting: &mut Vec<Json<'a>>,
    out: &mut Vec<Json<'a>>,
) {
    let mut rest: Vec<Shown<'a>> = Vec::new();
    for part in &message.content {
        match part {
            ContentPart::Text(part) if part.text.is_empty() => {}
            ContentPart::Text(part) => rest.push(Shown::Words(part.text.as_str().into())),
            ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                rest.push(shown(part, blobs));
            }
            ContentPart::ToolResult(result) => {
                let (text, pictures) = tool_result(result, blobs);
                let id = call_id(result.tool_call_id.as_str(), options);
                out.push(object! {"role": "tool", "tool_call_id": id, "content": text});
                waiting.extend(pictures);
            }
            ContentPart::Thinking(_) | ContentPart::ToolCall(_) | ContentPart::Opaque(_) => {}
        }
    }
    let content = match rest.as_mut_slice() {
        [] => return,
        [Shown::Words(words)] => Json::Text(std::mem::take(words)),
        _ => Json::List(rest.into_iter().map(Json::from).collect()),
    };
    out.push(object! {"role": "user", "content": content});
}

/// The text of a result, and the media that must follow it.
fn tool_result<'a>(result: &'a ToolResultPart, blobs: &dyn BlobSource) -> (Cow<'a, str>, Vec<Json<'a>>) {
    let mut text = Cow::Borrowed("");
    let mut pictures = Vec::new();
    for part in &result.content {
        let shown = match part {
            ContentPart::Text(part) => Shown::Words(part.text.as_str().into()),
            ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                shown(part, blobs)
            }
            _ => continue,
        };
        match shown {
            Shown::Words(words) if text.is_empty() => text = words,
            Shown::Words(words) => text.to_mut().extend(["\n", &words]),
            Shown::Medium(picture) => {
                if pictures.is_empty() {
                    let whose = format!("(From the tool {}:)", result.name);
                    pictures.push(Shown::Words(whose.into()).into());
                }
                pictures.push(picture);
            }
        }
    }
    if text.is_empty() && !pictures.is_empty() {
        text = "(The result follows.)".into();
    }
    let says_so = text
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if result.is_error && !says_so {
        text = format!("Error: {text}").into();
    }
    (text, pictures)
}

/// The model's own message; `None` where nothing in it can be sent.
fn assistant<'a>(message: &'a Message, model: &str, options: &Options) -> Option<Json<'a>> {
    let text = words(message);
    let calls: Vec<Json<'a>> = message
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
    let content = if text.is_empty() {
        Json::Null
    } else {
        Json::Text(text)
    };
    let mut out = object! {"role": "assistant", "content": content};
    let echo = match options.reasoning_echo {
        ReasoningEcho::None => None,
        ReasoningEcho::ReasoningContent => Some("reasoning_content"),
        ReasoningEcho::Reasoning => Some("reasoning"),
    };
    if let Some(key) = echo
        && let Some(reasoning) = reasoning(message)
    {
        out.set(key, reasoning);
    }
    if let Some(details) = reasoning_details(message, model) {
        out.set("reasoning_details", details);
    }
    if !calls.is_empty() {
        out.set("tool_calls", calls);
    }
    Some(out)
}

fn tool_call<'a>(call: &'a ToolCallPart, options: &Options) -> Json<'a> {
    let arguments = if call.input.is_object() {
        call.input.to_string()
    } else {
        "{}".into()
    };
    let id = call_id(call.tool_call_id.as_str(), options);
    let function = object! {"name": &call.name, "arguments": arguments};
    object! {"id": id, "type": "function", "function": function}
}

/// The words of the reasoning, where they are not another API's.
fn reasoning(message: &Message) -> Option<Cow<'_, str>> {
    let texts = message.content.iter().filter_map(|part| match part {
        ContentPart::Thinking(part) if part.provider.as_ref().is_none_or(|data| data.api == API) => {
            Some(part.text.as_str())
        }
        _ => None,
    });
    let words = joined(texts, "");
    (!words.is_empty()).then_some(words)
}

/// What is signed or encrypted in them is its own model's.
fn reasoning_details<'a>(message: &'a Message, model: &str) -> Option<Vec<Json<'a>>> {
    let details: Vec<Json<'a>> = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Opaque(part) if part.provider.api == API && !part.provider.is_of_another(model) => {
                part.provider.data.get("reasoning_details")?.as_array()
            }
            _ => None,
        })
        .flatten()
        .map(Json::from)
        .collect();
    (!details.is_empty()).then_some(details)
}

/// The id as it is, unless the server wants nine letters or digits: then a hash of it, the same for call and result.
fn call_id<'a>(id: &'a str, options: &Options) -> Cow<'a, str> {
    const LENGTH: usize = 9;
    let fits = id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !options.short_call_ids || fits {
        return id.into();
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
