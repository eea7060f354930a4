//! Builds the body of a Messages request from a conversation.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_types::{
    ContentPart, MediaPart, Message, ModelRequest, ProviderData, RequestPart, Role, ThinkingPart,
    ToolCallPart, ToolResultPart, ToolSpec, without_author_tags,
};

use super::message_turn::MessageTurn;
use super::{API, cache, cloud, thinking};
use crate::answer_schema;
use crate::json::{BorrowedJson, object};
use crate::media::{BlobSource, Media, MediaKind, media_kind, placeholder};
use crate::request_words::{longest_answer, tool_name};
use crate::root_schema;
use crate::wire_options::anthropic::{AnthropicOptions, ThinkingMode};

/// Returns the body of the request as JSON: of a stream, in the form of the place that serves the model.
///
/// - Neighbouring messages of one side become one; results of tools come first in it, as the API demands.
/// - After an answer that paused with plain text, a model that accepts no prefill is asked to continue.
/// - Parts of another API, thinking of another model or without a signature, and blank texts are left out.
/// - Thinking at the end of a message is left out, and the message with it if nothing else is in it.
/// - Names of tools are changed to a form that the API accepts, because a model may have invented them.
/// - With thinking, no temperature is sent. A budget leaves at least 1,024 tokens for the answer; if there is
///   no room for it, or if the turn of the tool results began without thinking, no thinking is requested, and
///   the last message of the assistant is sent without its thinking.
/// - A temperature above 1 is sent as 1.
pub fn build(request: &ModelRequest, options: &AnthropicOptions, blobs: &dyn BlobSource) -> Vec<u8> {
    let mut turns = turns(request, options, blobs);
    let mut system: Vec<BorrowedJson<'_>> = request
        .system
        .iter()
        .filter_map(|text| text_block(text))
        .collect();
    let mut tools: Vec<BorrowedJson<'_>> = request.tools.iter().map(tool).collect();
    // Nothing begins like the request for a summary: to write it into the cache costs a quarter more for
    // nothing.
    let marks = options.cache && !request.plain && !request.is_without(RequestPart::CacheControl);
    if marks && !request.is_asked_once() {
        cache::mark_prefix(&mut system, &mut tools, options.cache_ttl);
        cache::mark_conversation(&mut turns, options.cache_ttl);
    }

    let max_tokens = longest_answer(request);
    let mut body = cloud::head(request, options, max_tokens);
    if !system.is_empty() {
        body.set("system", system);
    }
    if !tools.is_empty() {
        body.set("tools", tools);
    }
    if let Some(answer) = &request.answer_schema {
        body.set(
            "output_config",
            object! {"format": answer_schema::of_anthropic(answer)},
        );
    }
    let thinks = thinking::ask(request, options, max_tokens, &turns, &mut body);
    if !thinks
        && thinking::mode(request, options) == ThinkingMode::Budget
        && request.params.thinking_tokens.is_some()
    {
        thinking::leave_out_of_last(&mut turns);
    }
    let messages: Vec<BorrowedJson<'_>> = turns
        .into_iter()
        .map(|turn| object! {"role": turn.role, "content": turn.blocks})
        .collect();
    body.set("messages", messages);
    body.to_bytes()
}

/// The longest name of a tool.
const TOOL_NAME_CHARS: usize = 128;

fn tool(tool: &ToolSpec) -> BorrowedJson<'_> {
    let (description, schema) = (root_schema::description(tool), root_schema::input_schema(tool));
    object! {"name": &tool.name, "description": description, "input_schema": schema}
}

fn turns<'a>(
    request: &'a ModelRequest,
    options: &AnthropicOptions,
    blobs: &dyn BlobSource,
) -> Vec<MessageTurn<'a>> {
    let (conversation, model) = (&request.messages, request.model.id.as_str());
    let unsigned = options.unsigned_thinking || request.is_without(RequestPart::MissingReasoning);
    let answered = answered_server_calls(conversation);
    let mut turns: Vec<MessageTurn<'a>> = Vec::new();
    for (index, message) in conversation.iter().enumerate() {
        let is_last = index + 1 == conversation.len();
        let (role, blocks) = match message.role {
            Role::Assistant => {
                let mut blocks = assistant_blocks(message, model, is_last, &answered, unsigned);
                if unsigned && !blocks.is_empty() && !blocks.iter().any(thinking::is_thinking) {
                    blocks.insert(0, object! {"type": "thinking", "thinking": ""});
                }
                ("assistant", blocks)
            }
            Role::User | Role::Tool | Role::System => ("user", user_content(message, blobs)),
        };
        if role == "assistant" && !blocks.is_empty() {
            turns.extend(continuation_message(turns.last(), options));
        }
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => {
                // It was the end of a request when the answer paused there: later ones begin alike.
                without_blanks_at_the_end(last);
                last.blocks.extend(blocks);
            }
            _ => turns.push(MessageTurn { role, blocks }),
        }
    }
    turns.extend(continuation_message(turns.last(), options));
    if let Some(last) = turns.last_mut() {
        without_blanks_at_the_end(last);
    }
    if turns.first().is_some_and(|turn| turn.role == "assistant") {
        let blocks = vec![object! {"type": "text", "text": "(The conversation goes on.)"}];
        turns.insert(0, MessageTurn { role: "user", blocks });
    }
    for turn in turns.iter_mut().filter(|turn| turn.role == "user") {
        turn.blocks
            .sort_by_key(|block| block.kind() != Some("tool_result"));
    }
    turns
}

/// The message that asks a model to continue a paused answer. An answer with a tool of the server is sent
/// back as it is, and the model continues it
/// (<https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons>). An answer of plain text
/// would be a prefill, which models with adaptive thinking (4.6 and later) reject
/// (<https://github.com/cloudflare/agents/pull/1618>). Later requests keep the message, so that they begin
/// alike.
fn continuation_message<'a>(
    last: Option<&MessageTurn<'_>>,
    options: &AnthropicOptions,
) -> Option<MessageTurn<'a>> {
    let last = last.filter(|turn| turn.role == "assistant" && options.thinking == ThinkingMode::Adaptive)?;
    let goes_on = last.has_block("server_tool_use") || last.has_block("tool_use");
    let blocks = vec![object! {"type": "text", "text": "(Go on.)"}];
    (!goes_on).then_some(MessageTurn { role: "user", blocks })
}

fn assistant_blocks<'a>(
    message: &'a Message,
    model: &str,
    is_last: bool,
    answered: &BTreeSet<&str>,
    unsigned: bool,
) -> Vec<BorrowedJson<'a>> {
    let mut blocks: Vec<BorrowedJson<'a>> = message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Text(part) if part.text.trim().is_empty() => None,
            ContentPart::Text(part) => Some(with_provider_data(
                object! {"type": "text", "text": &part.text},
                part.provider.as_ref(),
                &["citations"],
            )),
            ContentPart::Thinking(part) => thought(part, model, unsigned),
            ContentPart::ToolCall(part) => Some(tool_use(part)),
            ContentPart::Opaque(part) => opaque(&part.provider, model),
            _ => None,
        })
        // A server's tool call that broke off before its result is refused, unless the turn continues it.
        .filter(|block| {
            let id = block.text("id").unwrap_or_default();
            is_last || block.kind() != Some("server_tool_use") || answered.contains(id)
        })
        .collect();
    // "The final block in an assistant message cannot be `thinking`"
    // (github.com/tailcallhq/forgecode/issues/2107): an answer that was interrupted or cut off may end so. It
    // is left out of every request from then on, so that those begin alike.
    while blocks.last().is_some_and(thinking::is_thinking) {
        blocks.pop();
    }
    blocks
}

/// "final assistant content cannot end with trailing whitespace". Later requests send it in the same form.
fn without_blanks_at_the_end(turn: &mut MessageTurn<'_>) {
    if turn.role == "assistant"
        && let Some(last) = turn.blocks.last_mut()
        && last.kind() == Some("text")
    {
        let text = last.text("text").unwrap_or_default().trim_end().to_owned();
        last.set("text", text);
    }
}

/// The calls of the server's tools that have their results: those may come in a later message, if a turn was
/// paused.
fn answered_server_calls(conversation: &[Arc<Message>]) -> BTreeSet<&str> {
    let parts = conversation.iter().flat_map(|message| &message.content);
    parts
        .filter_map(|part| match part {
            ContentPart::Opaque(part) => part.provider.data.get("tool_use_id")?.as_str(),
            _ => None,
        })
        .collect()
}

/// A part unchanged, unless it belongs to another API, or contains hidden thinking of another model.
fn opaque<'a>(provider: &'a ProviderData, model: &str) -> Option<BorrowedJson<'a>> {
    if provider.api != API {
        return None;
    }
    if provider.data["type"] != "redacted_thinking" {
        return Some(BorrowedJson::Value(&provider.data));
    }
    let data = provider
        .data
        .get("data")
        .filter(|_| !provider.is_of_another(model))?;
    Some(object! {"type": "redacted_thinking", "data": data})
}

/// Thinking of the model itself; `unsigned` sends it without a signature too.
fn thought<'a>(part: &'a ThinkingPart, model: &str, unsigned: bool) -> Option<BorrowedJson<'a>> {
    let data = part.provider.as_ref().filter(|provider| provider.api == API);
    if data.is_some_and(|data| data.is_of_another(model)) {
        return None;
    }
    let is_signed = data.is_some_and(|data| data.data.get("signature").is_some());
    let is_sent = is_signed || (unsigned && (data.is_some() || part.provider.is_none()));
    let block = || object! {"type": "thinking", "thinking": &part.text};
    is_sent.then(|| with_provider_data(block(), data, &["signature"]))
}

/// A call of the model, for sending it back. The input must be an object.
fn tool_use(part: &ToolCallPart) -> BorrowedJson<'_> {
    let input = if part.input.is_object() {
        BorrowedJson::Value(&part.input)
    } else {
        object! {}
    };
    let id = call_id(part.tool_call_id.as_str());
    let name = tool_name(&part.name, TOOL_NAME_CHARS);
    let block = object! {"type": "tool_use", "id": id, "name": name, "input": input};
    with_provider_data(block, part.provider.as_ref(), &["caller", "toolset_name"])
}

/// Returns an id of a call without the characters of other APIs' ids that this API refuses.
fn call_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(fits) {
        return id.into();
    }
    id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}

/// The block with these keys of its provider's data: the API accepts no others there, and gateways add some
/// (`TextBlockParam`, `ThinkingBlockParam` and `ToolUseBlockParam` of
/// <https://pypi.org/project/anthropic/2.14.0/>; "messages.1.content.1.tool_use.index: Extra inputs are not
/// permitted", <https://github.com/langchain-ai/langchain/issues/31208>).
fn with_provider_data<'a>(
    mut block: BorrowedJson<'a>,
    provider: Option<&'a ProviderData>,
    keys: &[&'static str],
) -> BorrowedJson<'a> {
    let own = provider.filter(|provider| provider.api == API);
    for key in keys {
        if let Some(value) = own.and_then(|own| own.data.get(key)) {
            block.set_missing(key, value);
        }
    }
    block
}

/// Returns the content of a person or a tool. An input of only whitespace is sent, too: without it the
/// request would end with the model's message, which newer models refuse.
fn user_content<'a>(message: &'a Message, blobs: &dyn BlobSource) -> Vec<BorrowedJson<'a>> {
    let mut blocks = user_blocks(&message.content, blobs);
    if blocks.is_empty() && message.role == Role::User {
        blocks.push(object! {"type": "text", "text": "(an empty message)"});
    }
    blocks
}

fn user_blocks<'a>(parts: &'a [ContentPart], blobs: &dyn BlobSource) -> Vec<BorrowedJson<'a>> {
    parts.iter().filter_map(|part| user_block(part, blobs)).collect()
}

fn user_block<'a>(part: &'a ContentPart, blobs: &dyn BlobSource) -> Option<BorrowedJson<'a>> {
    match part {
        ContentPart::Text(part) => text_block(&part.text),
        ContentPart::Image(part) | ContentPart::File(part) | ContentPart::Audio(part) => {
            Some(media(part, blobs))
        }
        ContentPart::ToolResult(part) => Some(tool_result(part, blobs)),
        ContentPart::Opaque(part) if part.provider.api == API => {
            Some(BorrowedJson::Value(&part.provider.data))
        }
        ContentPart::Thinking(_) | ContentPart::ToolCall(_) | ContentPart::Opaque(_) => None,
    }
}

/// A block of text; `None` if the text is blank, because the API refuses blank blocks.
fn text_block(text: &str) -> Option<BorrowedJson<'_>> {
    (!text.trim().is_empty()).then(|| object! {"type": "text", "text": text})
}

fn tool_result<'a>(part: &'a ToolResultPart, blobs: &dyn BlobSource) -> BorrowedJson<'a> {
    let mut block = object! {"type": "tool_result", "tool_use_id": call_id(part.tool_call_id.as_str())};
    let content: Vec<BorrowedJson<'a>> = if part.is_error {
        // "all content must be type `text` if `is_error` is true"
        // (github.com/vellum-ai/vellum-assistant/pull/18387).
        part.content.iter().filter_map(text_only).collect()
    } else {
        user_blocks(&part.content, blobs)
    };
    if !content.is_empty() {
        block.set("content", content);
    } else if part.is_error {
        // "content cannot be empty if `is_error` is true".
        block.set(
            "content",
            vec![object! {"type": "text", "text": "(it failed without a word)"}],
        );
    }
    if part.is_error {
        block.set("is_error", true);
    }
    block
}

fn text_only(part: &ContentPart) -> Option<BorrowedJson<'_>> {
    match part {
        ContentPart::Image(part) | ContentPart::File(part) | ContentPart::Audio(part) => {
            let why = "the API accepts only text in the result of a failed call";
            Some(object! {"type": "text", "text": placeholder(part, why)})
        }
        ContentPart::Text(part) => text_block(&part.text),
        _ => None,
    }
}

fn media<'a>(part: &'a MediaPart, blobs: &dyn BlobSource) -> BorrowedJson<'a> {
    let kind = match (part, media_kind(&part.media_type)) {
        (_, MediaKind::Image) => "image",
        (_, MediaKind::Pdf | MediaKind::Text) => "document",
        (_, MediaKind::Audio | MediaKind::Other) => {
            return object! {"type": "text", "text": placeholder(part, "this model cannot read it")};
        }
    };
    let source = match Media::of(part, blobs) {
        Media::Missing(why) => {
            return object! {"type": "text", "text": placeholder(part, why)};
        }
        Media::Url(url) => object! {"type": "url", "url": url},
        media @ Media::Base64(_) if media_kind(&part.media_type) == MediaKind::Text => {
            object! {"type": "text", "media_type": "text/plain", "data": media.text().unwrap_or_default()}
        }
        Media::Base64(data) => object! {"type": "base64", "media_type": blobs.media_type(part), "data": data},
    };
    let mut block = object! {"type": kind, "source": source};
    if let (Some(name), "document") = (&part.name, kind) {
        block.set("title", without_author_tags(name));
    }
    block
}
