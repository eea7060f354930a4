//! The media in requests to OpenAI's APIs, independent of the API's form. Chat Completions and Responses
//! accept the same kinds and differ only in the names of fields.

use std::borrow::Cow;

use agentx_types::{MediaPart, without_author_tags};

use crate::media::{BlobSource, Media, MediaKind, media_kind, placeholder};

/// A medium of a message.
pub(crate) enum OpenAiMedium<'a> {
    /// A text file, or the text that replaces a medium that cannot be sent.
    Text(Cow<'a, str>),
    /// The address of a picture: a `data:` URL, or an `https:` URL that the provider loads.
    Image(Cow<'a, str>),
    /// Audio, as base64.
    Audio {
        data: Cow<'a, str>,
        /// `wav` or `mp3`.
        format: &'static str,
    },
    /// A PDF.
    File {
        name: Cow<'a, str>,
        /// A `data:` URL.
        data: String,
    },
}

impl<'a> OpenAiMedium<'a> {
    /// Reads the bytes of a medium and selects its form.
    pub(crate) fn of(part: &'a MediaPart, blobs: &dyn BlobSource) -> Self {
        let unsent = |why: &str| Self::Text(placeholder(part, why).into());
        let media = Media::of(part, blobs);
        if let Media::Missing(why) = media {
            return unsent(why);
        }
        match (media_kind(&part.media_type), media) {
            (MediaKind::Image, Media::Url(url)) => Self::Image(url.into()),
            (MediaKind::Image, Media::Base64(data)) => {
                Self::Image(data_url(blobs.media_type(part), &data).into())
            }
            (MediaKind::Audio, Media::Base64(data)) => match audio_format(&part.media_type) {
                Some(format) => Self::Audio { data, format },
                None => unsent("this API cannot be sent it"),
            },
            (MediaKind::Pdf, Media::Base64(data)) => Self::File {
                name: without_author_tags(part.name.as_deref().unwrap_or("document.pdf")),
                data: data_url(&part.media_type, &data),
            },
            (MediaKind::Text, media @ Media::Base64(_)) => {
                let name = without_author_tags(part.name.as_deref().unwrap_or(&part.media_type));
                Self::Text(format!("{name}:\n\n{}", media.text().unwrap_or_default()).into())
            }
            (_, Media::Url(url)) => unsent(url),
            (_, Media::Base64(_) | Media::Missing(_)) => unsent("this API cannot be sent it"),
        }
    }
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
