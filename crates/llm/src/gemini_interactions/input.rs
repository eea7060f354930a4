//! The conversation as `input` steps of an Interactions request.

use agentx_types::{
    ContentPart, MediaPart, Message, ModelRequest, ProviderData, Role, ThinkingPart, ToolCallPart,
    ToolResultPart, without_author_tags,
};
use serde_json::Value;

use super::{API, SIGNATURE};
use crate::gemini::function_name;
use crate::json::{BorrowedJson, object};
use crate::media::{BlobSource, Media, MediaKind, media_kind, placeholder};

/// The steps of a conversation, in its order. A person's comes last: an answer that ends a conversation is
/// continued.
pub(super) fn steps<'a>(request: &'a ModelRequest, blobs: &dyn BlobSource) -> Vec<BorrowedJson<'a>> {
    let writer = StepWriter {
        model: &request.model.id,
        blobs,
    };
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    for message in &request.messages {
        match message.role {
            Role::Assistant => writer.answer(message, &mut out),
            Role::User | Role::Tool | Role::System => writer.user_parts(message, &mut out),
        }
    }
    let is_models = |step: &BorrowedJson<'_>| {
        step.kind()
            .is_some_and(|kind| !matches!(kind, "user_input" | "function_result"))
    };
    if out.first().is_none_or(is_models) {
        out.insert(0, user_text("(The conversation goes on.)"));
    }
    if out.last().is_some_and(is_models) {
        out.push(user_text("(Go on.)"));
    }
    out
}

fn user_text(text: &str) -> BorrowedJson<'_> {
    object! {"type": "user_input", "content": vec![object! {"type": "text", "text": text}]}
}

struct StepWriter<'a, 'b> {
    model: &'a str,
    blobs: &'b dyn BlobSource,
}

impl<'a> StepWriter<'a, '_> {
    /// Adds the model's own message: a step for each part. A thought belongs to the next step: at the end of
    /// an answer that broke off, it is left out.
    fn answer(&self, message: &'a Message, out: &mut Vec<BorrowedJson<'a>>) {
        let start = out.len();
        for part in &message.content {
            match part {
                ContentPart::Text(part) if part.text.trim().is_empty() => {}
                ContentPart::Text(part) => {
                    let content = vec![object! {"type": "text", "text": &part.text}];
                    out.push(object! {"type": "model_output", "content": content});
                }
                ContentPart::Thinking(part) => out.extend(self.thought(part)),
                ContentPart::ToolCall(call) => out.push(self.call(call)),
                ContentPart::Opaque(part) => {
                    out.extend(part.provider.data_for(API, self.model).map(BorrowedJson::from));
                }
                _ => {}
            }
        }
        while out.len() > start && out.last().and_then(BorrowedJson::kind) == Some("thought") {
            out.pop();
        }
    }

    fn signature(&self, provider: Option<&'a ProviderData>) -> Option<&'a Value> {
        let data = provider.and_then(|provider| provider.data_for(API, self.model))?;
        data.get(SIGNATURE).filter(|signature| signature.is_string())
    }

    /// The reasoning with its signature; `None` without one, and if another model produced it.
    fn thought(&self, part: &'a ThinkingPart) -> Option<BorrowedJson<'a>> {
        let signature = self.signature(part.provider.as_ref())?;
        let mut step = object! {"type": "thought", "signature": signature};
        if !part.text.is_empty() {
            step.set("summary", vec![object! {"type": "text", "text": &part.text}]);
        }
        Some(step)
    }

    fn call(&self, call: &'a ToolCallPart) -> BorrowedJson<'a> {
        let arguments = if call.input.is_object() {
            BorrowedJson::Value(&call.input)
        } else {
            object! {}
        };
        let (id, name) = (call.tool_call_id.as_str(), function_name(&call.name));
        let mut step = object! {"type": "function_call", "id": id, "name": name, "arguments": arguments};
        if let Some(signature) = self.signature(call.provider.as_ref()) {
            step.set(SIGNATURE, signature);
        }
        step
    }

    /// Adds the results of tools, each as a separate step, then the rest as one step.
    fn user_parts(&self, message: &'a Message, out: &mut Vec<BorrowedJson<'a>>) {
        let mut rest = Vec::new();
        for part in &message.content {
            match part {
                ContentPart::Text(part) if part.text.trim().is_empty() => {}
                ContentPart::Text(part) => rest.push(object! {"type": "text", "text": &part.text}),
                ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                    rest.push(self.medium(part));
                }
                ContentPart::ToolResult(result) => out.push(self.result(result, &mut rest)),
                ContentPart::Thinking(_) | ContentPart::ToolCall(_) | ContentPart::Opaque(_) => {}
            }
        }
        if rest.is_empty() && message.role == Role::User {
            rest.push(object! {"type": "text", "text": "(an empty message)"});
        }
        if !rest.is_empty() {
            out.push(object! {"type": "user_input", "content": rest});
        }
    }

    /// A result: a text, or a list if it has pictures. Other media follow it as input of the user.
    fn result(&self, result: &'a ToolResultPart, beside: &mut Vec<BorrowedJson<'a>>) -> BorrowedJson<'a> {
        let (mut text, mut pictures) = (String::new(), Vec::new());
        for part in &result.content {
            let json = match part {
                ContentPart::Text(part) => object! {"type": "text", "text": &part.text},
                ContentPart::Image(part) | ContentPart::Audio(part) | ContentPart::File(part) => {
                    self.medium(part)
                }
                _ => continue,
            };
            match json.kind() {
                Some("text") => {
                    let between = if text.is_empty() { "" } else { "\n" };
                    text.extend([between, json.text("text").unwrap_or_default()]);
                }
                Some("image") => pictures.push(json),
                _ => beside.push(json),
            }
        }
        let id = result.tool_call_id.as_str();
        let mut step =
            object! {"type": "function_result", "call_id": id, "name": function_name(&result.name)};
        if pictures.is_empty() {
            step.set("result", text);
        } else {
            let words = (!text.is_empty()).then(|| object! {"type": "text", "text": text});
            step.set("result", words.into_iter().chain(pictures).collect::<Vec<_>>());
        }
        if result.is_error {
            step.set("is_error", true);
        }
        step
    }

    /// A medium as content, or the words in its place.
    fn medium(&self, part: &'a MediaPart) -> BorrowedJson<'a> {
        let unsent = |why: &str| object! {"type": "text", "text": placeholder(part, why)};
        let media = Media::of(part, self.blobs);
        if let Media::Missing(why) = media {
            return unsent(why);
        }
        let media_type = self.blobs.media_type(part);
        let kind = match media_kind(&part.media_type) {
            MediaKind::Image if media_type == "image/gif" => {
                return unsent("Gemini reads no pictures of this type");
            }
            MediaKind::Image => "image",
            MediaKind::Pdf => "document",
            MediaKind::Audio => "audio",
            MediaKind::Text if matches!(media, Media::Base64(_)) => {
                let name = without_author_tags(part.name.as_deref().unwrap_or(&part.media_type));
                let words = format!("{name}:\n\n{}", media.text().unwrap_or_default());
                return object! {"type": "text", "text": words};
            }
            MediaKind::Text | MediaKind::Other => return unsent("this API cannot be sent it"),
        };
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_owned();
        let mut content = object! {"type": kind, "mime_type": essence};
        match media {
            Media::Base64(data) => content.set("data", data),
            Media::Url(url) => content.set("uri", url),
            Media::Missing(_) => {}
        }
        content
    }
}
