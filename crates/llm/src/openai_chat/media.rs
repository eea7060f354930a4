//! Media in a Chat Completions request.

use agentx_types::MediaPart;
use serde_json::{Value, json};

use crate::request::{BlobSource, Media, MediaKind, media_kind, placeholder};

/// A content part for a medium, or the words that stand in its place.
pub(super) fn part(part: &MediaPart, blobs: &dyn BlobSource) -> Value {
    let media = Media::of(part, blobs);
    if let Media::Missing = media {
        return text(placeholder(part, "it is no longer stored"));
    }
    match (media_kind(&part.media_type), media) {
        (MediaKind::Image, Media::Url(url)) => json!({"type": "image_url", "image_url": {"url": url}}),
        (MediaKind::Image, Media::Base64(data)) => {
            json!({"type": "image_url", "image_url": {"url": data_url(part, &data)}})
        }
        (MediaKind::Audio, Media::Base64(data)) => match audio_format(&part.media_type) {
            Some(format) => json!({"type": "input_audio", "input_audio": {"data": data, "format": format}}),
            None => text(placeholder(part, "this API cannot be sent it")),
        },
        (MediaKind::Pdf, Media::Base64(data)) => {
            let filename = part.name.as_deref().unwrap_or("document.pdf");
            json!({"type": "file", "file": {"filename": filename, "file_data": data_url(part, &data)}})
        }
        (MediaKind::Text, media @ Media::Base64(_)) => {
            let name = part.name.as_deref().unwrap_or(&part.media_type);
            text(format!("{name}:\n\n{}", media.text().unwrap_or_default()))
        }
        (_, Media::Url(url)) => text(placeholder(part, url)),
        (_, Media::Base64(_) | Media::Missing) => text(placeholder(part, "this API cannot be sent it")),
    }
}

pub(super) fn text(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

fn data_url(part: &MediaPart, data: &str) -> String {
    format!("data:{};base64,{data}", part.media_type)
}

fn audio_format(media_type: &str) -> Option<&'static str> {
    match media_type.split(';').next().unwrap_or_default().trim() {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}
