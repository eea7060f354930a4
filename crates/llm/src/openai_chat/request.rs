//! Builds the body of a Chat Completions request from a conversation.

use std::borrow::Cow;

use agentx_types::{
    ContentPart, Message, ModelRequest, RequestPart, Role, ToolCallPart, ToolResultPart, ToolSpec,
};

use super::EXTRA;
use super::claude_names::is_claude;
use super::media::{ShownMedia, shown};
use super::sent_reasoning::{missing_reasoning, reasoning, reasoning_details, reasoning_field};
use super::{alternating_roles, cache, signature};
use crate::answer_schema;
use crate::emitter::fnv1a;
use crate::json::{BorrowedJson, object};
use crate::media::BlobSource;
use crate::request_words::{effort, joined, longest_answer, tool_name};
use crate::root_schema;
use crate::wire_options::chat::{ChatOptions, EffortWithTools, MaxTokensField, ThinkingParam};

/// The longest name of a tool: `^[a-zA-Z0-9_-]{1,64}$`.
const LONGEST_NAME: usize = 64;
/// The maximum length of a call's id at OpenAI (<https://github.com/anomalyco/opencode/issues/12653>).
const LONGEST_ID: usize = 40;

/// Returns the body of the request as JSON, with `stream: true`.
///
/// System prompts become one system message. Results of tools become one `tool` message each; images in them
/// follow in a `user` message, because `tool` messages hold only text. The text of a failed result says that
/// it failed.
pub fn build(request: &ModelRequest, options: &ChatOptions, blobs: &dyn BlobSource) -> Vec<u8> {
    let mut messages = messages(request, options, blobs);
    let reasoning = missing_reasoning(request, options, false);
    if request.turns {
        alternating_roles::without_system(&mut messages, reasoning);
    } else if options.strict_turns || alternating_roles::are_wanted_by(&request.model.id) {
        alternating_roles::alternate(&mut messages, reasoning);
    }
    if sends_cache_control(request, options) {
        cache::mark(&mut messages);
    }
    let mut body = object! {"model": &request.model.id, "messages": messages};
    if !request.tools.is_empty() {
        body.set("tools", request.tools.iter().map(tool).collect::<Vec<_>>());
    }
    if let Some(answer) = &request.answer_schema {
        body.set("response_format", answer_schema::of_chat(request, answer));
    }
    body.set("stream", true);
    if options.stream_options && !request.is_without(RequestPart::StreamOptions) {
        body.set("stream_options", object! {"include_usage": true});
    }
    if request.params.max_output_tokens.is_some()
        && let Some(field) = max_tokens_field(request, options)
    {
        body.set(field, longest_answer(request));
    }
    let takes_temperature = options.temperature && !request.is_without(RequestPart::Temperature);
    if let Some(temperature) = request.params.temperature.filter(|_| takes_temperature) {
        body.set("temperature", temperature.clamp(0.0, 2.0));
    }
    ask_for_reasoning(request, options, &mut body);
    let takes_key = options.prompt_cache_key && !request.plain && !request.is_without(RequestPart::CacheKey);
    if let Some(key) = cache::key(request).filter(|_| takes_key) {
        body.set("prompt_cache_key", key);
    }
    body.to_bytes()
}

/// The field for the longest answer that the server has not refused: its own, otherwise the other one.
fn max_tokens_field(request: &ModelRequest, options: &ChatOptions) -> Option<&'static str> {
    let names = [
        ("max_tokens", RequestPart::MaxTokens),
        ("max_completion_tokens", RequestPart::MaxCompletionTokens),
    ];
    let first = match options.max_tokens_field {
        MaxTokensField::MaxTokens => 0,
        MaxTokensField::MaxCompletionTokens => 1,
    };
    let names = [names[first], names[1 - first]];
    let taken = names.into_iter().find(|(_, part)| !request.is_without(*part));
    taken.map(|(name, _)| name)
}

/// Adds the reasoning effort. A person's own setting for this model counts first, then the vendor's
/// restriction for requests with tools, then the requested effort.
fn ask_for_reasoning(request: &ModelRequest, options: &ChatOptions, body: &mut BorrowedJson<'_>) {
    if request.is_without(RequestPart::ReasoningEffort) || request.is_without(RequestPart::Reasoning) {
        return;
    }
    if let Some(effort) = options.effort {
        return body.set("reasoning_effort", effort.as_str());
    }
    let with_tools = match options.effort_with_tools {
        // It has refused tools with any other effort. A gateway to Claude has refused cache breakpoints.
        _ if request.plain && !(options.cache_control && is_claude(&request.model.id)) => {
            EffortWithTools::None
        }
        effort => effort,
    };
    match with_tools {
        EffortWithTools::None if !request.tools.is_empty() => return body.set("reasoning_effort", "none"),
        EffortWithTools::Omitted if !request.tools.is_empty() => return,
        _ => {}
    }
    let Some(tokens) = request.params.thinking_tokens else {
        return;
    };
    match options.thinking {
        ThinkingParam::None => {}
        ThinkingParam::ReasoningEffort => body.set("reasoning_effort", effort(tokens)),
        ThinkingParam::ReasoningObject => body.set("reasoning", object! {"max_tokens": tokens}),
        ThinkingParam::ThinkingType => body.set("thinking", object! {"type": "enabled"}),
    }
}

/// Gateways to Claude are sent cache breakpoints, unless they refuse them; nothing begins like the request
/// for a summary.
fn sends_cache_control(request: &ModelRequest, options: &ChatOptions) -> bool {
    let takes_it = !request.plain && !request.is_without(RequestPart::CacheControl);
    options.cache_control && takes_it && !request.is_asked_once() && is_claude(&request.model.id)
}

/// A tool as the API describes it: `{"type":"function","function":{"name", "description", "parameters"}}`.
fn tool(tool: &ToolSpec) -> BorrowedJson<'_> {
    let (description, parameters) = (root_schema::description(tool), root_schema::parameters(tool));
    let function = object! {"name": &tool.name, "description": description, "parameters": parameters};
    object! {"type": "function", "function": function}
}

/// The conversation as `messages`, in its order. Results of parallel calls stay together; see [`flush`].
fn messages<'a>(
    request: &'a ModelRequest,
    options: &ChatOptions,
    blobs: &dyn BlobSource,
) -> Vec<BorrowedJson<'a>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    let system = request.system.iter().map(AsRef::as_ref);
    let system = joined(system.filter(|text: &&str| !text.trim().is_empty()), "\n\n");
    if !system.is_empty() {
        out.push(object! {"role": "system", "content": system});
    }
    // Media of tool results come after all results, because nothing may be between them.
    let mut waiting: Vec<BorrowedJson<'a>> = Vec::new();
    for message in &request.messages {
        if message.role != Role::Tool {
            flush(&mut waiting, &mut out);
        }
        match message.role {
            Role::System => out.push(object! {"role": "system", "content": words(message)}),
            Role::User | Role::Tool => user_side(message, options, blobs, &mut waiting, &mut out),
            Role::Assistant => out.extend(assistant(message, request, options)),
        }
    }
    flush(&mut waiting, &mut out);
    out
}

/// Returns all text parts of a message, joined.
fn words(message: &Message) -> Cow<'_, str> {
    joined(message.content.iter().filter_map(ContentPart::as_text), "")
}

/// Adds the media of tool results as one `user` message, after the last result of an answer.
fn flush<'a>(waiting: &mut Vec<BorrowedJson<'a>>, out: &mut Vec<BorrowedJson<'a>>) {
    if !waiting.is_empty() {
        out.push(object! {"role": "user", "content": std::mem::take(waiting)});
    }
}

/// Results of tools first, each as a separate message; then the rest, as one user message.
fn user_side<'a>(
    message: &'a Message,
    options: &ChatOptions,
    blobs: &dyn BlobSource,
    waiting: &mut Vec<BorrowedJson<'a>>,
    out: &mut Vec<BorrowedJson<'a>>,
) {
    let mut rest: Vec<ShownMedia<'a>> = Vec::new();
    for part in &message.content {
        match part {
            ContentPart::Text(part) if part.text.is_empty() => {}
            ContentPart::Text(part) => rest.push(ShownMedia::Words(part.text.as_str().into())),
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
        [ShownMedia::Words(words)] => BorrowedJson::Text(std::mem::take(words)),
        _ => BorrowedJson::List(rest.into_iter().map(BorrowedJson::from).collect()),
    };
    out.push(object! {"role": "user", "content": content});
}

/// The text of a result, and the media that must follow it.
fn tool_result<'a>(
    result: &'a ToolResultPart,
    blobs: &dyn BlobSource,
) -> (Cow<'a, str>, Vec<BorrowedJson<'a>>) {
    let mut text = Cow::Borrowed("");
    let mut pictures = Vec::new();
    for part in &result.content {
        let shown = match part {
            ContentPart::Text(part) => ShownMedia::Words(part.text.as_str().into()),
            ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                shown(part, blobs)
            }
            _ => continue,
        };
        match shown {
            ShownMedia::Words(words) if text.is_empty() => text = words,
            ShownMedia::Words(words) => text.to_mut().extend(["\n", &words]),
            ShownMedia::Medium(picture) => {
                if pictures.is_empty() {
                    let whose = format!("(From the tool {}:)", result.name);
                    pictures.push(ShownMedia::Words(whose.into()).into());
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

/// The model's own message; `None` if nothing in it can be sent.
fn assistant<'a>(
    message: &'a Message,
    request: &ModelRequest,
    options: &ChatOptions,
) -> Option<BorrowedJson<'a>> {
    let model = request.model.id.as_str();
    let text = words(message);
    let calls = || {
        message.content.iter().filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some(call),
            _ => None,
        })
    };
    let is_signed = calls().any(|call| signature::of(call, model).is_some());
    let mut calls: Vec<BorrowedJson<'a>> = calls().map(|call| tool_call(call, model, options)).collect();
    if signature::are_wanted(request, options) {
        signature::complete(&mut calls, is_signed);
    }
    if text.trim().is_empty() && calls.is_empty() {
        return None;
    }
    let mut out = object! {"role": "assistant", "content": beside_calls(text, request)};
    let missing = || missing_reasoning(request, options, !calls.is_empty());
    if let Some(key) = reasoning_field(request, options)
        && let Some(reasoning) = reasoning(message, model).or_else(|| missing().map(Cow::Borrowed))
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

/// Returns the content of a message with tool calls and no text: an empty text, because many servers refuse
/// `null` or break on it (LM Studio: <https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/261>,
/// Mistral: <https://github.com/mistralai/mistral-common/issues/324>, llama-cpp-python's templates), and the
/// only known servers that refuse an empty text are gateways to Claude
/// (<https://github.com/vercel/ai/issues/14612>): there it is `null`, and also at a server that has refused
/// the empty text.
fn beside_calls<'a>(text: Cow<'a, str>, request: &ModelRequest) -> BorrowedJson<'a> {
    let takes_empty = !is_claude(request.model.id.as_str()) && !request.is_without(RequestPart::EmptyText);
    if text.is_empty() && !takes_empty {
        return BorrowedJson::Null;
    }
    BorrowedJson::Text(text)
}

/// A call in `tool_calls`. The API expects the arguments as a text with JSON, and refuses anything but an
/// object.
fn tool_call<'a>(call: &'a ToolCallPart, model: &str, options: &ChatOptions) -> BorrowedJson<'a> {
    let arguments = if call.input.is_object() {
        call.input.to_string()
    } else {
        "{}".into()
    };
    let id = call_id(call.tool_call_id.as_str(), options);
    let name = tool_name(&call.name, LONGEST_NAME);
    let function = object! {"name": name, "arguments": arguments};
    let mut out = object! {"id": id, "type": "function", "function": function};
    if let Some(extra) = signature::of(call, model) {
        out.set(EXTRA, BorrowedJson::from(extra));
    }
    out
}

/// The id unchanged. If it is too long, or the server requires nine letters or digits, a hash of it, which is
/// equal for call and result.
fn call_id<'a>(id: &'a str, options: &ChatOptions) -> Cow<'a, str> {
    const LENGTH: usize = 9;
    let fits = id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if fits || (!options.short_call_ids && id.len() <= LONGEST_ID) {
        return id.into();
    }
    if !options.short_call_ids {
        return format!("call_{:016x}", fnv1a(id.as_bytes())).into();
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
