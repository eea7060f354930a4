//! Media in a Chat Completions request.
//!
//! | media | part of the message |
//! | --- | --- |
//! | image | `{"type":"image_url","image_url":{"url":"data:image/png;base64,…"}}` |
//! | audio, as `wav` or `mp3` | `{"type":"input_audio","input_audio":{"data":"…","format":"wav"}}` |
//! | PDF | `{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,…"}}` |
//! | text file | its text, after its name |
//! | other types, and blobs that are no longer stored | a text with its name and type |

use std::borrow::Cow;

use agentx_types::{MediaPart, without_author_tags};

use crate::json::{BorrowedJson, object};
use crate::request::{BlobSource, Media, MediaKind, media_kind, placeholder};

/// Media of a message.
pub(super) enum ShownMedia<'a> {
    /// A text, or what stands instead of a medium.
    Words(Cow<'a, str>),
    /// A content part for a medium.
    Medium(BorrowedJson<'a>),
}

impl<'a> From<ShownMedia<'a>> for BorrowedJson<'a> {
    fn from(shown: ShownMedia<'a>) -> Self {
        match shown {
            ShownMedia::Words(words) => object! {"type": "text", "text": words},
            ShownMedia::Medium(part) => part,
        }
    }
}

/// A medium as this API can show it.
pub(super) fn shown<'a>(part: &'a MediaPart, blobs: &dyn BlobSource) -> ShownMedia<'a> {
    let words = |words: String| ShownMedia::Words(words.into());
    let media = Media::of(part, blobs);
    if let Media::Missing(why) = media {
        return words(placeholder(part, why));
    }
    match (media_kind(&part.media_type), media) {
        (MediaKind::Image, Media::Url(url)) => image(url.into()),
        (MediaKind::Image, Media::Base64(data)) => image(data_url(blobs.media_type(part), &data).into()),
        (MediaKind::Audio, Media::Base64(data)) => match audio_format(&part.media_type) {
            Some(format) => {
                let sound = object! {"data": data, "format": format};
                ShownMedia::Medium(object! {"type": "input_audio", "input_audio": sound})
            }
            None => words(placeholder(part, "this API cannot be sent it")),
        },
        (MediaKind::Pdf, Media::Base64(data)) => {
            let filename = without_author_tags(part.name.as_deref().unwrap_or("document.pdf"));
            let file = object! {"filename": filename, "file_data": data_url(&part.media_type, &data)};
            ShownMedia::Medium(object! {"type": "file", "file": file})
        }
        (MediaKind::Text, media @ Media::Base64(_)) => {
            let name = without_author_tags(part.name.as_deref().unwrap_or(&part.media_type));
            words(format!("{name}:\n\n{}", media.text().unwrap_or_default()))
        }
        (_, Media::Url(url)) => words(placeholder(part, url)),
        (_, Media::Base64(_) | Media::Missing(_)) => words(placeholder(part, "this API cannot be sent it")),
    }
}

/// A part `image_url`. The address is a `data:` URL, or an `https:` URL that the provider loads.
fn image(url: Cow<'_, str>) -> ShownMedia<'_> {
    ShownMedia::Medium(object! {"type": "image_url", "image_url": object! {"url": url}})
}

/// The bytes of a medium, which are base64 already, as a `data:` URL.
fn data_url(media_type: &str, data: &str) -> String {
    format!("data:{media_type};base64,{data}")
}

/// The name of the format in the API; `None` for formats that it does not accept.
fn audio_format(media_type: &str) -> Option<&'static str> {
    match media_type.split(';').next().unwrap_or_default().trim() {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}
