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

use agentx_types::MediaPart;

use crate::json::{BorrowedJson, object};
use crate::media::BlobSource;
use crate::openai_media::OpenAiMedium;

/// Media of a message.
pub(super) enum ShownMedia<'a> {
    /// A text, also in place of a medium.
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
    ShownMedia::Medium(match OpenAiMedium::of(part, blobs) {
        OpenAiMedium::Text(text) => return ShownMedia::Words(text),
        OpenAiMedium::Image(url) => object! {"type": "image_url", "image_url": object! {"url": url}},
        OpenAiMedium::Audio { data, format } => {
            object! {"type": "input_audio", "input_audio": object! {"data": data, "format": format}}
        }
        OpenAiMedium::File { name, data } => {
            object! {"type": "file", "file": object! {"filename": name, "file_data": data}}
        }
    })
}
