//! The conversation as `input` items of a Responses request.

use std::borrow::Cow;
use std::collections::BTreeSet;

use agentx_types::{
    ContentPart, MediaPart, Message, ModelRequest, Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart,
};

use super::API;
use super::items::{CUSTOM, ENCRYPTED, PHASE};
use crate::emitter::fnv1a;
use crate::json::{BorrowedJson, object};
use crate::media::BlobSource;
use crate::openai_media::OpenAiMedium;
use crate::request_words::{joined, tool_name};

/// The longest name of a tool: `^[a-zA-Z0-9_-]{1,64}$`.
pub(super) const LONGEST_NAME: usize = 64;
/// The longest id of a call: "Invalid 'input[2].call_id': string too long. Expected a string with maximum
/// length 64" (<https://github.com/decolua/9router/issues/393>).
const LONGEST_ID: usize = 64;

/// The items of a conversation, in its order.
pub(super) fn items<'a>(request: &'a ModelRequest, blobs: &dyn BlobSource) -> Vec<BorrowedJson<'a>> {
    let model = request.model.id.as_str();
    let mut custom = BTreeSet::new();
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    for message in &request.messages {
        match message.role {
            Role::System => out.extend(developer(message)),
            Role::User | Role::Tool => user_side(message, &custom, blobs, &mut out),
            Role::Assistant => assistant(message, model, &mut custom, &mut out),
        }
    }
    out
}

/// Instructions in the middle of a conversation.
fn developer(message: &Message) -> Option<BorrowedJson<'_>> {
    let text = joined(message.content.iter().filter_map(ContentPart::as_text), "");
    (!text.trim().is_empty()).then(|| object! {"type": "message", "role": "developer", "content": text})
}

/// Adds the results of tools, each as a separate item, then the rest as one message.
fn user_side<'a>(
    message: &'a Message,
    custom: &BTreeSet<&str>,
    blobs: &dyn BlobSource,
    out: &mut Vec<BorrowedJson<'a>>,
) {
    let mut rest: Vec<OpenAiMedium<'a>> = Vec::new();
    for part in &message.content {
        match part {
            ContentPart::Text(part) if part.text.is_empty() => {}
            ContentPart::Text(part) => rest.push(OpenAiMedium::Text(part.text.as_str().into())),
            ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                rest.push(medium(part, blobs));
            }
            ContentPart::ToolResult(result) => out.push(tool_result(result, custom, blobs)),
            ContentPart::Thinking(_) | ContentPart::ToolCall(_) | ContentPart::Opaque(_) => {}
        }
    }
    if !rest.is_empty() {
        out.push(object! {"type": "message", "role": "user", "content": content(rest)});
    }
}

/// A medium; sounds are described as text, because the API accepts none.
fn medium<'a>(part: &'a MediaPart, blobs: &dyn BlobSource) -> OpenAiMedium<'a> {
    match OpenAiMedium::of(part, blobs) {
        OpenAiMedium::Audio { .. } => {
            let words = crate::media::placeholder(part, "this API cannot be sent it");
            OpenAiMedium::Text(words.into())
        }
        other => other,
    }
}

/// Returns the content of a message: one text, or a list of parts.
fn content(mut parts: Vec<OpenAiMedium<'_>>) -> BorrowedJson<'_> {
    match parts.as_mut_slice() {
        [OpenAiMedium::Text(text)] => BorrowedJson::Text(std::mem::take(text)),
        _ => BorrowedJson::List(parts.into_iter().map(input_part).collect()),
    }
}

fn input_part(medium: OpenAiMedium<'_>) -> BorrowedJson<'_> {
    match medium {
        OpenAiMedium::Text(text) => object! {"type": "input_text", "text": text},
        OpenAiMedium::Image(url) => object! {"type": "input_image", "image_url": url},
        OpenAiMedium::Audio { data, format } => {
            object! {"type": "input_audio", "input_audio": object! {"data": data, "format": format}}
        }
        OpenAiMedium::File { name, data } => {
            object! {"type": "input_file", "filename": name, "file_data": data}
        }
    }
}

/// A result: a text, or a list if it has media. The text of a failed result says that it failed.
fn tool_result<'a>(
    result: &'a ToolResultPart,
    custom: &BTreeSet<&str>,
    blobs: &dyn BlobSource,
) -> BorrowedJson<'a> {
    let mut text = Cow::Borrowed("");
    let mut media = Vec::new();
    for part in &result.content {
        match part {
            ContentPart::Text(part) if text.is_empty() => text = part.text.as_str().into(),
            ContentPart::Text(part) => text.to_mut().extend(["\n", &part.text]),
            ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                media.push(medium(part, blobs));
            }
            _ => {}
        }
    }
    let says_so = text
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if result.is_error && !says_so {
        text = format!("Error: {text}").into();
    }
    let mut parts = Vec::with_capacity(1 + media.len());
    if media.is_empty() || !text.is_empty() {
        parts.push(OpenAiMedium::Text(text));
    }
    parts.extend(media);
    let id = result.tool_call_id.as_str();
    let kind = if custom.contains(id) {
        "custom_tool_call_output"
    } else {
        "function_call_output"
    };
    object! {"type": kind, "call_id": call_id(id), "output": content(parts)}
}

/// Adds the model's own message: an item for each part, in their order.
///
/// A reasoning item belongs to the item behind it, and is refused without one ("Item 'rs_…' of type
/// 'reasoning' was provided without its required following item",
/// <https://github.com/continuedev/continue/issues/8933>): of an answer that broke off in the middle, it is
/// left out.
fn assistant<'a>(
    message: &'a Message,
    model: &str,
    custom: &mut BTreeSet<&'a str>,
    out: &mut Vec<BorrowedJson<'a>>,
) {
    let start = out.len();
    for (index, part) in message.content.iter().enumerate() {
        match part {
            ContentPart::Text(part) => {
                let id = || message_item_id(message.message_id.as_str(), index);
                out.extend(text(part, model, id));
            }
            ContentPart::Thinking(part) => out.extend(reasoning(part, model)),
            ContentPart::ToolCall(call) => {
                let input = custom_input(call);
                if input.is_some() {
                    custom.insert(call.tool_call_id.as_str());
                }
                out.push(tool_call(call, input));
            }
            ContentPart::Opaque(part) => {
                out.extend(part.provider.data_for(API, model).map(BorrowedJson::from));
            }
            _ => {}
        }
    }
    while out.len() > start && out.last().and_then(BorrowedJson::kind) == Some("reasoning") {
        out.pop();
    }
}

/// A text of the model, with all fields that the API's description of an output message requires: vLLM, and
/// other servers that check them, refuse it without `id`, `status` and `annotations`
/// (<https://github.com/openai/codex/issues/12669>, <https://github.com/langchain-ai/langchain/pull/32557>).
/// Plain text in place of the list is refused by llama.cpp ("'type' must be 'output_text'",
/// tools/server/server-chat.cpp).
fn text<'a>(part: &'a TextPart, model: &str, id: impl FnOnce() -> String) -> Option<BorrowedJson<'a>> {
    if part.text.trim().is_empty() {
        return None;
    }
    let said =
        object! {"type": "output_text", "text": &part.text, "annotations": Vec::<BorrowedJson<'_>>::new()};
    let mut item = object! {
        "type": "message", "id": id(), "status": "completed", "role": "assistant", "content": vec![said],
    };
    let data = part
        .provider
        .as_ref()
        .and_then(|provider| provider.data_for(API, model));
    if let Some(phase) = data.and_then(|data| data[PHASE].as_str()) {
        item.set(PHASE, phase);
    }
    Some(item)
}

/// The reasoning as it came; `None` if it is another model's, or the server gave nothing to send back.
fn reasoning<'a>(part: &'a ThinkingPart, model: &str) -> Option<BorrowedJson<'a>> {
    let data = part.provider.as_ref()?.data_for(API, model)?;
    data[ENCRYPTED].is_string().then(|| data.into())
}

/// The text that a custom tool was called with.
fn custom_input(call: &ToolCallPart) -> Option<&str> {
    let data = call.provider.as_ref().filter(|data| data.api == API)?;
    data.data[CUSTOM]
        .as_bool()?
        .then(|| call.input["input"].as_str().unwrap_or_default())
}

fn tool_call<'a>(call: &'a ToolCallPart, custom: Option<&'a str>) -> BorrowedJson<'a> {
    let id = call_id(call.tool_call_id.as_str());
    let name = tool_name(&call.name, LONGEST_NAME);
    if let Some(input) = custom {
        return object! {"type": "custom_tool_call", "call_id": id, "name": name, "input": input};
    }
    let arguments = if call.input.is_object() {
        call.input.to_string()
    } else {
        "{}".into()
    };
    object! {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
}

/// The id of a text of a message: the same in every request, and in the form of the API's own ids.
fn message_item_id(message_id: &str, index: usize) -> String {
    format!("msg_{:016x}{index:04x}", fnv1a(message_id.as_bytes()))
}

/// The id unchanged; if it is too long, a hash of it, which is equal for call and result.
fn call_id(id: &str) -> Cow<'_, str> {
    if id.len() <= LONGEST_ID {
        return id.into();
    }
    format!("call_{:016x}", fnv1a(id.as_bytes())).into()
}
