//! Pictures and other media in a request: the source of their bytes, their kinds, and the words in place of
//! media that are not sent.

use agentx_types::{BlobId, MediaPart, MediaSource, without_author_tags};

use crate::base64;

/// A source of the bytes of content-addressed blobs, such as pictures. Building a request does no I/O, so the
/// caller reads the blobs first; a `BTreeMap<BlobId, Vec<u8>>` is a source.
pub trait BlobSource {
    /// Returns the bytes of a blob; `None` if they are gone. The model then reads that the medium is missing.
    fn blob(&self, id: &BlobId) -> Option<&[u8]>;

    /// Returns whether requests may contain pictures. If not, a text takes the place of each picture, because
    /// the provider would refuse the whole request and each later one of the conversation. The default is
    /// `true`.
    fn shows_pictures(&self) -> bool {
        true
    }

    /// Returns the reason why this picture is not sent, although the model accepts pictures; `None` if it is
    /// sent, which is the default.
    fn left_out(&self, part: &MediaPart) -> Option<&'static str> {
        let _ = part;
        None
    }

    /// Returns the media type of a medium: the type of its bytes if they are known, otherwise the type that
    /// it claims.
    fn media_type<'p>(&self, part: &'p MediaPart) -> &'p str {
        &part.media_type
    }
}

/// A source without blobs, for conversations of text.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBlobs;

impl BlobSource for NoBlobs {
    fn blob(&self, _: &BlobId) -> Option<&[u8]> {
        None
    }
}

impl BlobSource for std::collections::BTreeMap<BlobId, Vec<u8>> {
    fn blob(&self, id: &BlobId) -> Option<&[u8]> {
        self.get(id).map(Vec::as_slice)
    }
}

/// The bytes of a medium in the form of the wire.
pub(crate) enum Media<'a> {
    /// The bytes as base64.
    Base64(std::borrow::Cow<'a, str>),
    /// An address.
    Url(&'a str),
    /// The reason why the medium is not sent: the blob is gone, or the model does not support pictures.
    Missing(&'static str),
}

impl<'a> Media<'a> {
    pub(crate) fn of(part: &'a MediaPart, blobs: &dyn BlobSource) -> Self {
        if !blobs.shows_pictures() && media_kind(&part.media_type) == MediaKind::Image {
            return Self::Missing("a picture, and this model takes none");
        }
        if let Some(why) = blobs.left_out(part) {
            return Self::Missing(why);
        }
        match &part.source {
            MediaSource::Base64(data) => Self::Base64(data.as_str().into()),
            MediaSource::Url(url) => Self::Url(url),
            MediaSource::Blob(id) => match blobs.blob(id) {
                Some(bytes) => Self::Base64(base64::encode(bytes).into()),
                None => Self::Missing("it is no longer stored"),
            },
        }
    }

    /// The text in it, if it is text.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Base64(data) => {
                let bytes = base64::decode(data)?;
                Some(without_author_tags(&String::from_utf8_lossy(&bytes)).into_owned())
            }
            Self::Url(_) | Self::Missing(_) => None,
        }
    }
}

/// The kind of a media type that an API knows by heart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaKind {
    Image,
    Pdf,
    Text,
    Audio,
    Other,
}

pub(crate) fn media_kind(media_type: &str) -> MediaKind {
    let essence = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => MediaKind::Image,
        "application/pdf" => MediaKind::Pdf,
        "application/json"
        | "application/xml"
        | "application/yaml"
        | "application/toml"
        | "application/javascript" => MediaKind::Text,
        text if text.starts_with("text/") => MediaKind::Text,
        audio if audio.starts_with("audio/") => MediaKind::Audio,
        _ => MediaKind::Other,
    }
}

/// Returns the text that the model reads in place of a part that cannot be sent.
pub(crate) fn placeholder(part: &MediaPart, why: &str) -> String {
    let words = match &part.name {
        Some(name) => format!("[{name} ({}): {why}]", part.media_type),
        None => format!("[{}: {why}]", part.media_type),
    };
    without_author_tags(&words).into_owned()
}
