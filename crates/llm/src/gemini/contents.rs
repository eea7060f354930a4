//! The conversation as `contents` of a request.
//!
//! The API wants the two sides in turns, a person's first and last, and behind a turn with calls one with as
//! many results: "Please ensure that the number of function response parts is equal to the number of function
//! call parts of the function call turn" (<https://github.com/google-gemini/gemini-cli/issues/5443>).

use std::borrow::Cow;
use std::collections::BTreeMap;

use agentx_types::{
    ContentPart, MediaPart, Message, ModelRequest, ProviderData, RequestPart, Role, ToolCallPart,
    ToolResultPart, without_author_tags,
};
use serde_json::Value;

use super::{API, SIGNATURE, SIGNED_FROM, family};
use crate::json::{BorrowedJson, object};
use crate::media::{BlobSource, Media, MediaKind, media_kind, placeholder};
use crate::request_words::tool_name;
use crate::wire_options::gemini::GeminiOptions;

/// The longest name of a function in all versions of the API; newer ones take 128 characters.
const LONGEST_NAME: usize = 64;

/// A placeholder for a missing signature, which is not checked
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const UNCHECKED: &str = "skip_thought_signature_validator";

/// The name of a function begins with a letter or an underscore.
pub(crate) fn function_name(name: &str) -> Cow<'_, str> {
    let name = tool_name(name, LONGEST_NAME);
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return name;
    }
    format!("_{}", &name[..name.len().min(LONGEST_NAME - 1)]).into()
}

/// Successive content of one side.
struct GeminiTurn<'a> {
    /// `user` or `model`.
    role: &'static str,
    /// The parts, never empty.
    parts: Vec<BorrowedJson<'a>>,
}

/// The turns of a conversation, in its order.
pub(super) fn contents<'a>(
    request: &'a ModelRequest,
    options: &GeminiOptions,
    blobs: &dyn BlobSource,
) -> Vec<BorrowedJson<'a>> {
    let mut writer = ContentWriter {
        model: &request.model.id,
        options: *options,
        blobs,
        calls: BTreeMap::new(),
        turns: Vec::with_capacity(request.messages.len() + 1),
    };
    for message in &request.messages {
        writer.message(message);
    }
    let mut turns = writer.turns;
    if turns.first().is_none_or(|turn| turn.role == "model") {
        turns.insert(0, user_text("(The conversation goes on.)"));
    }
    if turns.last().is_some_and(|turn| turn.role == "model") {
        turns.push(user_text("(Go on.)"));
    }
    let wants_signatures =
        family::is_gemini_3(&request.model.id) || request.is_without(RequestPart::ThoughtSignature);
    if wants_signatures {
        turns.iter_mut().for_each(sign_first_call);
    }
    turns
        .into_iter()
        .map(|turn| object! {"role": turn.role, "parts": turn.parts})
        .collect()
}

fn user_text(text: &str) -> GeminiTurn<'_> {
    GeminiTurn {
        role: "user",
        parts: vec![object! {"text": text}],
    }
}

/// Adds a signature to the first call of an answer if it is missing. Later calls of an answer carry no
/// signature.
fn sign_first_call(turn: &mut GeminiTurn<'_>) {
    let is_call = |part: &&mut BorrowedJson<'_>| part.has("functionCall");
    if let Some(call) = turn.parts.iter_mut().find(is_call) {
        call.set_missing(SIGNATURE, UNCHECKED);
    }
}

/// A call of the conversation.
struct KnownCall<'a> {
    name: Cow<'a, str>,
    place: usize,
}

struct ContentWriter<'a, 'b> {
    model: &'a str,
    options: GeminiOptions,
    blobs: &'b dyn BlobSource,
    /// The calls by id.
    calls: BTreeMap<&'a str, KnownCall<'a>>,
    turns: Vec<GeminiTurn<'a>>,
}

impl<'a> ContentWriter<'a, '_> {
    fn message(&mut self, message: &'a Message) {
        let (role, parts) = match message.role {
            Role::Assistant => ("model", self.answer(message)),
            Role::User | Role::Tool | Role::System => ("user", self.user_parts(message)),
        };
        match self.turns.last_mut() {
            _ if parts.is_empty() => {}
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.turns.push(GeminiTurn { role, parts }),
        }
        if role == "user"
            && let Some(last) = self.turns.last_mut()
        {
            // Results come first. They are written in the order of their calls.
            last.parts.sort_by_key(|part| !part.has("functionResponse"));
        }
    }

    /// The parts of the model's own message.
    fn answer(&mut self, message: &'a Message) -> Vec<BorrowedJson<'a>> {
        let mut parts = Vec::with_capacity(message.content.len());
        for part in &message.content {
            match part {
                ContentPart::Text(part) => {
                    let signed = self.signed(part.provider.as_ref());
                    texts(&part.text, signed, false, &mut parts);
                }
                ContentPart::Thinking(part) => {
                    let signed = self.signed(part.provider.as_ref());
                    if signed.is_some() {
                        texts(&part.text, signed, true, &mut parts);
                    }
                }
                ContentPart::ToolCall(call) => parts.push(self.call(call)),
                ContentPart::Opaque(part) => {
                    parts.extend(part.provider.data_for(API, self.model).map(BorrowedJson::from));
                }
                _ => {}
            }
        }
        parts
    }

    /// The data of a part that this model signed.
    fn signed(&self, provider: Option<&'a ProviderData>) -> Option<&'a Value> {
        provider
            .and_then(|provider| provider.data_for(API, self.model))
            .filter(|data| data[SIGNATURE].is_string())
    }

    fn call(&mut self, call: &'a ToolCallPart) -> BorrowedJson<'a> {
        let (id, name) = (call.tool_call_id.as_str(), function_name(&call.name));
        let place = self.calls.len();
        let known = KnownCall {
            name: name.clone(),
            place,
        };
        self.calls.insert(id, known);
        let args = if call.input.is_object() {
            BorrowedJson::Value(&call.input)
        } else {
            object! {}
        };
        let mut function = object! {"name": name, "args": args};
        if self.options.call_ids {
            function.set("id", id);
        }
        let mut part = object! {"functionCall": function};
        if let Some(data) = self.signed(call.provider.as_ref()) {
            part.set(SIGNATURE, &data[SIGNATURE]);
        }
        part
    }

    /// The parts of a person or of tools. An empty input is sent too: without it the model would have two
    /// turns in a row.
    fn user_parts(&self, message: &'a Message) -> Vec<BorrowedJson<'a>> {
        let mut parts = Vec::with_capacity(message.content.len());
        let mut results: Vec<&ToolResultPart> = Vec::new();
        for part in &message.content {
            match part {
                ContentPart::Text(part) if part.text.trim().is_empty() => {}
                ContentPart::Text(part) => parts.push(object! {"text": &part.text}),
                ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                    parts.push(self.medium(part));
                }
                ContentPart::ToolResult(result) => results.push(result),
                ContentPart::Thinking(_) | ContentPart::ToolCall(_) | ContentPart::Opaque(_) => {}
            }
        }
        let place = |result: &&ToolResultPart| {
            let call = self.calls.get(result.tool_call_id.as_str());
            call.map_or(usize::MAX, |call| call.place)
        };
        results.sort_by_key(place);
        for result in results {
            self.result(result, &mut parts);
        }
        if parts.is_empty() && message.role == Role::User {
            parts.push(object! {"text": "(an empty message)"});
        }
        parts
    }

    /// Adds a result. Gemini 3 and later read media within it; for others the media follow it
    /// (<https://ai.google.dev/gemini-api/docs/function-calling>).
    fn result(&self, result: &'a ToolResultPart, parts: &mut Vec<BorrowedJson<'a>>) {
        let holds_media = family::is_gemini_3(self.model);
        let (mut text, mut within, mut beside) = (String::new(), Vec::new(), Vec::new());
        for part in &result.content {
            let json = match part {
                ContentPart::Text(part) => object! {"text": &part.text},
                ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                    self.medium(part)
                }
                _ => continue,
            };
            match json.text("text") {
                Some(words) => {
                    let between = if text.is_empty() { "" } else { "\n" };
                    text.extend([between, words]);
                }
                None if holds_media && is_within(&json) => within.push(json),
                None => beside.push(json),
            }
        }
        let id = result.tool_call_id.as_str();
        let name = match self.calls.get(id) {
            Some(call) => call.name.clone(),
            None => function_name(&result.name),
        };
        let key = if result.is_error { "error" } else { "output" };
        let mut response = object! {"name": name, "response": BorrowedJson::Object(vec![(key, text.into())])};
        if self.options.call_ids {
            response.set("id", id);
        }
        if !within.is_empty() {
            response.set("parts", within);
        }
        parts.push(object! {"functionResponse": response});
        parts.extend(beside);
    }

    /// A medium as a part, or the words in its place.
    fn medium(&self, part: &'a MediaPart) -> BorrowedJson<'a> {
        let unsent = |why: &str| object! {"text": placeholder(part, why)};
        let media = Media::of(part, self.blobs);
        if let Media::Missing(why) = media {
            return unsent(why);
        }
        let media_type = self.blobs.media_type(part);
        match (media_kind(&part.media_type), media) {
            (MediaKind::Image, _) if media_type == "image/gif" => {
                unsent("Gemini reads no pictures of this type")
            }
            (MediaKind::Image | MediaKind::Pdf | MediaKind::Audio, Media::Base64(data)) => {
                let essence = media_type.split(';').next().unwrap_or_default().trim();
                object! {"inlineData": object! {"mimeType": essence.to_owned(), "data": data}}
            }
            (MediaKind::Image | MediaKind::Pdf | MediaKind::Audio, Media::Url(url)) => {
                object! {"fileData": object! {"mimeType": media_type.to_owned(), "fileUri": url}}
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

/// Returns whether a part may be within a result: bytes of a picture or a PDF.
fn is_within(part: &BorrowedJson<'_>) -> bool {
    let media_type = part.field("inlineData").and_then(|data| data.text("mimeType"));
    media_type.is_some_and(|name| name.starts_with("image/") || name == "application/pdf")
}

/// Adds a text as the server sent it: first the unsigned part, then the signed one. A blank text is sent only
/// if it is signed.
fn texts<'a>(text: &'a str, signed: Option<&'a Value>, is_thought: bool, parts: &mut Vec<BorrowedJson<'a>>) {
    let part = |text: &'a str| {
        let mut part = object! {"text": text};
        if is_thought {
            part.set("thought", true);
        }
        part
    };
    let Some(data) = signed else {
        if !text.trim().is_empty() {
            parts.push(part(text));
        }
        return;
    };
    let from = data[SIGNED_FROM]
        .as_u64()
        .and_then(|from| usize::try_from(from).ok());
    let (before, text) = from
        .and_then(|from| text.split_at_checked(from))
        .unwrap_or(("", text));
    if !before.is_empty() {
        parts.push(part(before));
    }
    let mut part = part(text);
    part.set(SIGNATURE, &data[SIGNATURE]);
    parts.push(part);
}
