//! The conversation as `messages` of a request.
//!
//! The API wants the two sides in turns, a person's first and last; behind a turn with calls one with as many
//! results ("Expected toolResult blocks at messages.2.content for the following Ids",
//! <https://github.com/camel-ai/camel/issues/3954>); no blank text
//! (<https://github.com/boto/botocore/issues/3525>); and no words beside results ("Conversation blocks and
//! tool result blocks cannot be provided in the same turn",
//! <https://github.com/strands-agents/harness-sdk/issues/1223>). A request without tools may have neither
//! calls nor results (<https://github.com/vxcontrol/pentagi/pull/196>): they become text.

use std::borrow::Cow;
use std::cell::Cell;

use agentx_types::{
    ContentPart, InputMedium, MediaPart, Message, ModelRequest, Role, ThinkingPart, ToolCallPart,
    ToolResultPart, without_author_tags,
};

use super::{API, LONGEST_NAME, SIGNATURE};
use crate::emitter::fnv1a;
use crate::json::{BorrowedJson, object};
use crate::media::{BlobSource, Media, MediaKind, media_kind, placeholder};
use crate::request_words::tool_name;

/// The longest id of a call, of `[a-zA-Z0-9_-]+`
/// (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html>).
const LONGEST_ID: usize = 64;
/// The part of an id that is kept if it has to be changed.
const KEPT_OF_ID: usize = 40;

/// Successive content of one side.
pub(super) struct ConverseTurn<'a> {
    /// `user` or `assistant`.
    pub(super) role: &'static str,
    /// The blocks, never empty.
    pub(super) blocks: Vec<BorrowedJson<'a>>,
}

/// Returns the turns of a conversation, in its order.
pub(super) fn turns<'a>(request: &'a ModelRequest, blobs: &dyn BlobSource) -> Vec<ConverseTurn<'a>> {
    let writer = TurnWriter {
        request,
        blobs,
        documents: Cell::new(0),
    };
    let mut joined: Vec<ConverseTurn<'a>> = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        let (role, blocks) = match message.role {
            Role::Assistant => ("assistant", writer.answer(message)),
            Role::User | Role::Tool | Role::System => ("user", writer.user_blocks(message)),
        };
        match joined.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => last.blocks.extend(blocks),
            _ => joined.push(ConverseTurn { role, blocks }),
        }
    }
    let mut turns = Vec::with_capacity(joined.len() + 2);
    if joined.first().is_none_or(|turn| turn.role == "assistant") {
        turns.push(turn_of("user", "(The conversation goes on.)"));
    }
    for turn in joined {
        push_apart(turn, &request.model.id, &mut turns);
    }
    if turns.last().is_some_and(|turn| turn.role == "assistant") {
        turns.push(turn_of("user", "(Go on.)"));
    }
    turns
}

fn turn_of<'a>(role: &'static str, text: &'static str) -> ConverseTurn<'a> {
    let blocks = vec![object! {"text": text}];
    ConverseTurn { role, blocks }
}

/// Adds a turn. Words beside results get their own turn, and so do words beside calls, except at models that
/// write both in one answer: Amazon's and Anthropic's.
fn push_apart<'a>(turn: ConverseTurn<'a>, model: &str, turns: &mut Vec<ConverseTurn<'a>>) {
    let is_users = turn.role == "user";
    let kind = if is_users { "toolResult" } else { "toolUse" };
    let is_kept = !is_users && is_of_amazon_or_anthropic(model);
    let (of_tools, words): (Vec<_>, Vec<_>) = turn.blocks.into_iter().partition(|block| block.has(kind));
    let role = turn.role;
    if is_kept || of_tools.is_empty() || words.is_empty() {
        // Calls come last in the answers of models.
        let blocks = words.into_iter().chain(of_tools).collect();
        turns.push(ConverseTurn { role, blocks });
        add_words_to_documents(turns);
        return;
    }
    let (first, between, second) = if is_users {
        (of_tools, turn_of("assistant", "(I have the results.)"), words)
    } else {
        (words, turn_of("user", "(Go on.)"), of_tools)
    };
    turns.push(ConverseTurn { role, blocks: first });
    turns.push(between);
    turns.push(ConverseTurn { role, blocks: second });
    add_words_to_documents(turns);
}

/// Adds a text to the last turn if it has a document and no text, as the API demands
/// (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html>).
fn add_words_to_documents(turns: &mut [ConverseTurn<'_>]) {
    if let Some(last) = turns.last_mut() {
        let has = |key: &str| last.blocks.iter().any(|block| block.has(key));
        if has("document") && !has("text") {
            last.blocks.push(object! {"text": "(See the document.)"});
        }
    }
}

/// Returns whether a model takes the status of a result, and writes words and calls in one answer
/// (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html>).
fn is_of_amazon_or_anthropic(model: &str) -> bool {
    ["amazon.", "anthropic."]
        .iter()
        .any(|vendor| model.contains(vendor))
}

struct TurnWriter<'a, 'b> {
    request: &'a ModelRequest,
    blobs: &'b dyn BlobSource,
    /// The number of documents so far: their names are unique in a request.
    documents: Cell<u64>,
}

impl<'a> TurnWriter<'a, '_> {
    fn has_tools(&self) -> bool {
        !self.request.tools.is_empty()
    }

    /// The blocks of the model's own message.
    fn answer(&self, message: &'a Message) -> Vec<BorrowedJson<'a>> {
        let mut blocks = Vec::with_capacity(message.content.len());
        for part in &message.content {
            match part {
                ContentPart::Text(part) if part.text.trim().is_empty() => {}
                ContentPart::Text(part) => blocks.push(object! {"text": &part.text}),
                ContentPart::Thinking(part) => blocks.extend(self.reasoning(part)),
                ContentPart::ToolCall(call) => blocks.push(self.call(call)),
                ContentPart::Opaque(part) => {
                    let data = part.provider.data_for(API, &self.request.model.id);
                    blocks.extend(data.map(BorrowedJson::from));
                }
                _ => {}
            }
        }
        if blocks.iter().all(|block| block.has("reasoningContent")) {
            blocks.clear();
        }
        blocks
    }

    /// Reasoning that this model signed. Without a signature none is accepted ("User messages cannot contain
    /// reasoning content", <https://github.com/aws-samples/bedrock-chat/pull/851>).
    fn reasoning(&self, part: &'a ThinkingPart) -> Option<BorrowedJson<'a>> {
        let provider = part.provider.as_ref()?;
        let signature = provider.data_for(API, &self.request.model.id)?.get(SIGNATURE)?;
        let text = object! {"text": &part.text, "signature": signature};
        Some(object! {"reasoningContent": object! {"reasoningText": text}})
    }

    fn call(&self, call: &'a ToolCallPart) -> BorrowedJson<'a> {
        let name = tool_name(&call.name, LONGEST_NAME);
        if !self.has_tools() {
            return object! {"text": format!("[called {name} with {}]", call.input)};
        }
        let input = if call.input.is_object() {
            BorrowedJson::Value(&call.input)
        } else {
            object! {}
        };
        let id = tool_use_id(call.tool_call_id.as_str());
        object! {"toolUse": object! {"toolUseId": id, "name": name, "input": input}}
    }

    /// The blocks of a person or of tools. An empty input is sent too: without it the model would have two
    /// turns in a row.
    fn user_blocks(&self, message: &'a Message) -> Vec<BorrowedJson<'a>> {
        let mut blocks = Vec::with_capacity(message.content.len());
        for part in &message.content {
            match part {
                ContentPart::ToolResult(result) => self.result(result, &mut blocks),
                part => blocks.extend(self.shown(part)),
            }
        }
        if blocks.is_empty() && message.role == Role::User {
            blocks.push(object! {"text": "(an empty message)"});
        }
        blocks
    }

    /// A text or a medium; `None` for blank texts and for parts that only answers have.
    fn shown(&self, part: &'a ContentPart) -> Option<BorrowedJson<'a>> {
        match part {
            ContentPart::Text(part) if part.text.trim().is_empty() => None,
            ContentPart::Text(part) => Some(object! {"text": &part.text}),
            ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                Some(self.medium(part))
            }
            ContentPart::Thinking(_)
            | ContentPart::ToolCall(_)
            | ContentPart::ToolResult(_)
            | ContentPart::Opaque(_) => None,
        }
    }

    fn result(&self, result: &'a ToolResultPart, blocks: &mut Vec<BorrowedJson<'a>>) {
        let mut content: Vec<BorrowedJson<'a>> = result
            .content
            .iter()
            .filter_map(|part| self.shown(part))
            .collect();
        if !self.has_tools() {
            blocks.push(object! {"text": format!("[result of {}]", tool_name(&result.name, LONGEST_NAME))});
            blocks.append(&mut content);
            return;
        }
        if content.is_empty() {
            // "The content field … cannot be empty when status value is error":
            // <https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15>.
            content.push(object! {"text": "(no output)"});
        }
        let id = tool_use_id(result.tool_call_id.as_str());
        let mut block = object! {"toolUseId": id, "content": content};
        if result.is_error && is_of_amazon_or_anthropic(&self.request.model.id) {
            block.set("status", "error");
        }
        blocks.push(object! {"toolResult": block});
    }

    /// A medium as a block, or the words in its place.
    fn medium(&self, part: &'a MediaPart) -> BorrowedJson<'a> {
        let unsent = |why: &str| object! {"text": placeholder(part, why)};
        let media = Media::of(part, self.blobs);
        if let Media::Missing(why) = media {
            return unsent(why);
        }
        match (media_kind(&part.media_type), media) {
            (MediaKind::Image, Media::Base64(data)) => match picture_format(self.blobs.media_type(part)) {
                Some(format) => {
                    let source = object! {"bytes": data};
                    object! {"image": object! {"format": format, "source": source}}
                }
                None => unsent("this API cannot be sent it"),
            },
            (MediaKind::Pdf, Media::Base64(data)) if !self.request.model.refuses(InputMedium::File) => {
                self.documents.set(self.documents.get() + 1);
                // The model reads the name, so it says nothing.
                let name = format!("document {}", self.documents.get());
                let source = object! {"bytes": data};
                object! {"document": object! {"format": "pdf", "name": name, "source": source}}
            }
            (MediaKind::Text, media @ Media::Base64(_)) => {
                let name = without_author_tags(part.name.as_deref().unwrap_or(&part.media_type));
                object! {"text": format!("{name}:\n\n{}", media.text().unwrap_or_default())}
            }
            (_, Media::Url(url)) => unsent(url),
            (_, Media::Base64(_) | Media::Missing(_)) => unsent("this API cannot be sent it"),
        }
    }
}

/// The name of the format of a picture
/// (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html>).
fn picture_format(media_type: &str) -> Option<&'static str> {
    match media_type.split(';').next().unwrap_or_default().trim() {
        "image/png" => Some("png"),
        "image/jpeg" => Some("jpeg"),
        "image/gif" => Some("gif"),
        "image/webp" => Some("webp"),
        _ => None,
    }
}

/// The id of a call in a form that the API takes: the ids of other APIs may be longer, and have other
/// characters. Different ids stay different.
fn tool_use_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(fits) {
        return id.into();
    }
    let kept: String = id.chars().filter(|c| fits(*c)).take(KEPT_OF_ID).collect();
    format!("{kept}_{:016x}", fnv1a(id.as_bytes())).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_other_apis_become_ids_of_this_one_and_stay_apart() {
        assert_eq!(tool_use_id("tooluse_aB-3"), "tooluse_aB-3");
        let long = "x".repeat(200);
        let (dots, slashes) = (tool_use_id("call.1"), tool_use_id("call/1"));
        assert_ne!(dots, slashes);
        for id in [dots, slashes, tool_use_id(&long), tool_use_id("")] {
            assert!((1..=LONGEST_ID).contains(&id.len()), "{id}");
            assert!(
                id.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)),
                "{id}"
            );
        }
    }
}
