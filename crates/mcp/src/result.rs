//! Converts a server's answer into the outcome of a call: bounded text, pictures as parts of their own, and a
//! note about content that models do not accept.

use std::sync::Arc;

use agentx_runtime::{BlobStore, ToolOutcome};
use agentx_tools::shortened;
use agentx_types::{ContentPart, MediaPart, MediaSource, ToolStatus};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::json;

use crate::hidden::HiddenValues;
use crate::limits::{PICTURE_BYTES, PICTURES};
use crate::server_tool::shown;

/// The pictures that models take.
const PICTURE_TYPES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Turns an answer into an outcome.
pub(crate) async fn outcome_of(
    answer: CallToolResult,
    most: usize,
    hidden: &HiddenValues,
    blobs: &Arc<dyn BlobStore>,
) -> ToolOutcome {
    let mut text = String::new();
    let mut pictures = Vec::new();
    for block in answer.content {
        let said = match block {
            ContentBlock::Image(image) => match picture(&image.data, &image.mime_type, pictures.len()) {
                Ok(bytes) => match blobs.put_blob(bytes).await {
                    Ok(blob) => {
                        pictures.push(ContentPart::Image(MediaPart {
                            media_type: image.mime_type,
                            source: MediaSource::Blob(blob),
                            name: None,
                        }));
                        continue;
                    }
                    Err(error) => format!("[a picture could not be kept: {error}]"),
                },
                Err(why) => format!("[a picture is left out: {why}]"),
            },
            other => in_words(other),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&said);
    }
    if text.is_empty()
        && pictures.is_empty()
        && let Some(structured) = &answer.structured_content
    {
        text = structured.to_string();
    }
    let is_error = answer.is_error.unwrap_or_default();
    if text.is_empty() && pictures.is_empty() {
        text = if is_error {
            "It failed and said no reason."
        } else {
            "Done; it said nothing."
        }
        .to_owned();
    }
    let text = hidden.removed_from(&text).replace('\0', "\u{FFFD}");
    let bytes = text.len();
    let (text, blob) = shortened(text, most, blobs).await;
    let mut content = Vec::new();
    if !text.is_empty() {
        content.push(ContentPart::text(text));
    }
    content.append(&mut pictures);
    ToolOutcome {
        content,
        status: if is_error {
            ToolStatus::Failed
        } else {
            ToolStatus::Success
        },
        details: Some(json!({ "output_bytes": bytes, "blob": blob })),
    }
}

/// The bytes of a picture.
fn picture(data: &str, media_type: &str, before: usize) -> Result<Vec<u8>, String> {
    if before >= PICTURES {
        return Err(format!("a result may have {PICTURES}"));
    }
    if !PICTURE_TYPES.contains(&media_type) {
        return Err(format!("models do not take {:?}", shown(media_type)));
    }
    let bytes = STANDARD
        .decode(data.trim())
        .map_err(|_| "it is not valid base64".to_owned())?;
    if bytes.len() > PICTURE_BYTES {
        return Err(format!(
            "it has {} bytes, and at most {PICTURE_BYTES} are taken",
            bytes.len()
        ));
    }
    Ok(bytes)
}

/// Returns the text for a block that is not an image.
fn in_words(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Audio(audio) => {
            let bytes = audio.data.len() / 4 * 3;
            format!(
                "[a sound is left out: {:?}, about {bytes} bytes]",
                shown(&audio.mime_type)
            )
        }
        ContentBlock::ResourceLink(link) => format!("[resource {}: {}]", shown(&link.name), shown(&link.uri)),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {}]\n{text}", shown(&uri))
            }
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                let bytes = blob.len() / 4 * 3;
                format!("[resource {} is left out: about {bytes} bytes]", shown(&uri))
            }
            _ => "[a resource is left out that AgentX does not know]".to_owned(),
        },
        _ => "[something is left out that AgentX does not know]".to_owned(),
    }
}
