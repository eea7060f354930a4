//! Turns the answer of a server into the outcome of a call: bounded text, pictures, sounds and resources as
//! separate parts, and a note about content that a model cannot get.

use std::sync::Arc;

use agentx_runtime::{BlobStore, ToolOutcome};
use agentx_tools::shortened;
use agentx_types::{ContentPart, MediaPart, MediaSource, ToolStatus};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::{Value, json};

use crate::hidden::HiddenValues;
use crate::limits::{PICTURE_BYTES, PICTURES};
use crate::server_tool::shown;

/// The pictures that models take.
const PICTURE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The longest first line of a result that people are shown, in characters.
const FIRST_LINE_CHARS: usize = 120;

/// The longest name of a type of media.
const TYPE_BYTES: usize = 100;

/// Turns an answer into an outcome.
pub(crate) async fn outcome_of(
    answer: CallToolResult,
    most: usize,
    hidden: &HiddenValues,
    blobs: &Arc<dyn BlobStore>,
) -> ToolOutcome {
    let mut text = String::new();
    let mut media = Vec::new();
    for block in answer.content {
        let said = match medium_of(block) {
            Ok(medium) => match medium.kept(media.len(), blobs).await {
                Ok(part) => {
                    media.push(part);
                    continue;
                }
                Err(why) => why,
            },
            Err(block) => in_words(*block),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&said);
    }
    if text.is_empty()
        && media.is_empty()
        && let Some(structured) = &answer.structured_content
    {
        text = structured.to_string();
    }
    let is_error = answer.is_error.unwrap_or_default();
    if text.is_empty() && media.is_empty() {
        text = if is_error {
            "It failed without giving a reason."
        } else {
            "Done; it said nothing."
        }
        .to_owned();
    }
    let text = hidden.removed_from(&text).replace('\0', "\u{FFFD}");
    let bytes = text.len();
    let first_line = first_line(&text);
    let text = if bytes > most { in_lines(text) } else { text };
    let (text, blob) = shortened(text, most, blobs).await;
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(ContentPart::text(text));
    }
    content.append(&mut media);
    ToolOutcome {
        content,
        status: if is_error {
            ToolStatus::Failed
        } else {
            ToolStatus::Success
        },
        details: Some(json!({ "output_bytes": bytes, "blob": blob, "first_line": first_line })),
    }
}

/// The first line of a text with something in it, for people; `…` says that there is more.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or_default();
    let mut shown: String = line.chars().take(FIRST_LINE_CHARS).collect();
    if shown.len() < line.len() || lines.next().is_some() {
        shown.push_str(" …");
    }
    shown
}

/// A medium in a result: a picture, a sound, or a resource that is not text.
struct ResultMedium {
    word: &'static str,
    media_type: String,
    /// In base64.
    data: String,
    name: Option<String>,
}

/// The medium of a block.
///
/// # Errors
/// Returns the block itself if it is not a medium.
fn medium_of(block: ContentBlock) -> Result<ResultMedium, Box<ContentBlock>> {
    let (word, media_type, data, name) = match block {
        ContentBlock::Image(image) => ("picture", image.mime_type, image.data, None),
        ContentBlock::Audio(audio) => ("sound", audio.mime_type, audio.data, None),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::BlobResourceContents {
                uri, blob, mime_type, ..
            } => ("resource", mime_type.unwrap_or_default(), blob, Some(shown(&uri))),
            resource => return Err(Box::new(ContentBlock::resource(resource))),
        },
        other => return Err(Box::new(other)),
    };
    Ok(ResultMedium {
        word,
        media_type,
        data,
        name,
    })
}

impl ResultMedium {
    /// The part of the result, whose bytes are kept as a blob.
    ///
    /// # Errors
    /// Returns a note for the model if it is left out.
    async fn kept(self, before: usize, blobs: &Arc<dyn BlobStore>) -> Result<ContentPart, String> {
        let what = match &self.name {
            Some(name) => format!("the {} {name}", self.word),
            None => format!("a {}", self.word),
        };
        let bytes = self
            .bytes(before)
            .map_err(|why| format!("[{what} is left out: {why}]"))?;
        let blob = blobs.put_blob(bytes).await;
        let blob = blob.map_err(|error| format!("[{what} could not be kept: {error}]"))?;
        let part = MediaPart {
            media_type: self.media_type,
            source: MediaSource::Blob(blob),
            name: self.name,
        };
        Ok(match part.media_type.split('/').next() {
            Some("image") => ContentPart::Image(part),
            Some("audio") => ContentPart::Audio(part),
            _ => ContentPart::File(part),
        })
    }

    fn bytes(&self, before: usize) -> Result<Vec<u8>, String> {
        if before >= PICTURES {
            return Err(format!("a result may have {PICTURES}"));
        }
        if !is_media_type(&self.media_type) {
            return Err(format!("models do not take {:?}", shown(&self.media_type)));
        }
        let bytes = STANDARD
            .decode(self.data.trim())
            .map_err(|_| "it is not valid base64".to_owned())?;
        if bytes.len() > PICTURE_BYTES {
            return Err(format!(
                "it has {} bytes, and at most {PICTURE_BYTES} are taken",
                bytes.len()
            ));
        }
        Ok(bytes)
    }
}

/// Returns whether a part may have this type: a picture that models take, or anything that is none. The codec
/// tells the model about parts that it cannot read.
fn is_media_type(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-+._".contains(&b))
    };
    let parts = name.split_once('/');
    let is_type = parts.is_some_and(|(kind, sub)| is_word(kind) && is_word(sub)) && name.len() <= TYPE_BYTES;
    is_type && (!name.starts_with("image/") || PICTURE_TYPES.contains(&name))
}

/// Makes the parts of a text readable: JSON on one line gets a line for each value.
fn in_lines(text: String) -> String {
    let is_json = text.starts_with(['{', '[']) && !text.contains('\n');
    let value = is_json
        .then(|| serde_json::from_str::<Value>(&text).ok())
        .flatten();
    value.map_or(text, |value| format!("{value:#}"))
}

/// Returns the text for a block that is not a medium.
fn in_words(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::ResourceLink(link) => format!("[resource {}: {}]", shown(&link.name), shown(&link.uri)),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {}]\n{text}", shown(&uri))
            }
            _ => "[a resource is left out that AgentX does not know]".to_owned(),
        },
        _ => "[something is left out that AgentX does not know]".to_owned(),
    }
}
