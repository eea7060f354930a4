//! Selects the pictures that a request may hold. A vendor that refuses one picture refuses the whole request
//! and each later one of the session, so such pictures are replaced by text. The selection depends only on
//! the conversation: the same pictures give the same request.

use std::collections::BTreeMap;

use agentx_types::{Api, ContentPart, MediaPart, MediaSource, ModelRequest, Picture, PictureLimits};

use crate::base64;
use crate::media::{BlobSource, MediaKind, media_kind};
use crate::openai_chat::is_claude;

/// The longest side of each of many pictures, in pixels.
const SIDE_OF_MANY: u32 = 2_000;

/// A picture at one place of the conversation.
#[derive(Clone, Copy)]
struct PlacedPicture {
    place: PicturePosition,
    /// The number of its message.
    message: usize,
    bytes: usize,
    side: u32,
}

/// The part of the request, by its address. The same picture may be in several parts: an older one may be
/// left out, and a newer one not.
type PicturePosition = *const MediaPart;

/// The media type of a picture, the size of its base64 and its longest side; or the reason why it cannot be
/// sent.
type PictureFacts = Result<(&'static str, usize, u32), &'static str>;

impl PlacedPicture {
    /// Returns whether it is too large for a request of many pictures.
    fn is_large(&self) -> bool {
        self.side > SIDE_OF_MANY
    }
}

/// The reason why a large picture is not sent.
const TOO_LARGE_OF_MANY: &str = "a picture of more than 2,000 pixels a side, which the provider refuses in a request of more than 20 pictures";
/// The reason why an older picture is not sent.
const TOO_OLD: &str = "an older picture: a request holds only so many, or so large ones";
/// The reason why a picture is not sent, although others of its message are.
const TOO_MANY: &str =
    "one of more pictures than a request holds: of this message, only the last ones are sent";

/// The facts about the pictures of a request.
#[derive(Debug, Default)]
pub(crate) struct Pictures<'a> {
    known: BTreeMap<PicturePosition, Result<&'static str, &'static str>>,
    /// The facts about pictures, by source: each is examined once.
    found: BTreeMap<&'a str, PictureFacts>,
    /// The number of pictures that the vendor fetches from an address. Their size is unknown, but they count.
    fetched: usize,
    /// The number of the message whose pictures are looked at.
    message: usize,
}

impl<'a> Pictures<'a> {
    /// Checks all pictures of a request.
    pub(crate) fn of(request: &'a ModelRequest, blobs: &dyn BlobSource) -> Self {
        let limits = match request.model.api {
            Api::OpenaiChat if is_claude(&request.model.id) => {
                PictureLimits::of_gateway_to_claude(&request.model)
            }
            _ => PictureLimits::of(&request.model),
        };
        let mut pictures = Self::default();
        let mut kept: Vec<PlacedPicture> = Vec::new();
        for (number, message) in request.messages.iter().enumerate() {
            pictures.message = number;
            for part in &message.content {
                pictures.look(part, blobs, &limits, &mut kept);
            }
        }
        pictures
    }

    /// The real media type of this picture; the declared one if its bytes are elsewhere.
    pub(crate) fn media_type<'p>(&self, part: &'p MediaPart) -> &'p str {
        match self.known.get(&std::ptr::from_ref(part)) {
            Some(Ok(media_type)) => media_type,
            _ => &part.media_type,
        }
    }

    /// Returns the reason why this picture is not sent.
    pub(crate) fn left_out(&self, part: &MediaPart) -> Option<&'static str> {
        self.known.get(&std::ptr::from_ref(part))?.err()
    }

    fn look(
        &mut self,
        part: &'a ContentPart,
        blobs: &dyn BlobSource,
        limits: &PictureLimits,
        kept: &mut Vec<PlacedPicture>,
    ) {
        let part = match part {
            ContentPart::ToolResult(result) => {
                let parts = result.content.iter();
                return parts.for_each(|part| self.look(part, blobs, limits, kept));
            }
            ContentPart::Image(part) | ContentPart::File(part)
                if media_kind(&part.media_type) == MediaKind::Image =>
            {
                part
            }
            _ => return,
        };
        let Some(source) = source(part) else {
            self.fetched += 1;
            return self.make_fit(limits, kept);
        };
        let Some(found) = self.found(source, part, blobs, limits) else {
            return;
        };
        let place = std::ptr::from_ref(part);
        self.known.insert(place, found.map(|(media_type, ..)| media_type));
        if let Ok((_, bytes, side)) = found {
            kept.push(PlacedPicture {
                place,
                message: self.message,
                bytes,
                side,
            });
            self.make_fit(limits, kept);
        }
    }

    /// Returns the facts about a picture; `None` if its bytes are gone.
    fn found(
        &mut self,
        source: &'a str,
        part: &MediaPart,
        blobs: &dyn BlobSource,
        limits: &PictureLimits,
    ) -> Option<PictureFacts> {
        if let Some(found) = self.found.get(source) {
            return Some(*found);
        }
        let found = match &part.source {
            MediaSource::Blob(id) => check(blobs.blob(id)?, limits),
            MediaSource::Base64(data) => match base64::decode(data) {
                Some(bytes) => check(&bytes, limits),
                None => Err("the picture is broken"),
            },
            MediaSource::Url(_) => return None,
        };
        self.found.insert(source, found);
        Some(found)
    }

    /// Leaves pictures out until the rest may be sent. If only a few are too large for a request of many
    /// pictures, these go. Otherwise the oldest go, until there is room for further ones: not one with each
    /// new picture, because each change of earlier messages invalidates the provider's cache. Pictures of the
    /// message that is looked at stay as long as they fit.
    fn make_fit(&mut self, limits: &PictureLimits, kept: &mut Vec<PlacedPicture>) {
        if self.fit(kept, limits) {
            return;
        }
        let few = kept.len().div_ceil(2);
        let few_are_large = kept.iter().filter(|shown| shown.is_large()).count() < few;
        let newest_is_large = kept.last().is_some_and(PlacedPicture::is_large);
        if self.has_many_with_a_large_one(kept, limits) && few_are_large && !newest_is_large {
            let large = kept.extract_if(.., |shown| shown.is_large());
            self.known
                .extend(large.map(|gone| (gone.place, Err(TOO_LARGE_OF_MANY))));
        }
        if self.fit(kept, limits) {
            return;
        }
        let roomy = limits.with_room();
        let is_first = |at: &usize| {
            let is_of_this_message = kept[*at].message == self.message;
            let bound = if is_of_this_message { limits } else { &roomy };
            self.fit(&kept[*at..], bound)
        };
        let gone = (0..kept.len()).find(is_first).unwrap_or(kept.len());
        for gone in kept.drain(..gone) {
            let why = if gone.message == self.message {
                TOO_MANY
            } else {
                TOO_OLD
            };
            self.known.insert(gone.place, Err(why));
        }
    }

    fn fit(&self, kept: &[PlacedPicture], limits: &PictureLimits) -> bool {
        let bytes: usize = kept.iter().map(|shown| shown.bytes).sum();
        self.count(kept) <= limits.count
            && bytes <= limits.all_bytes
            && !self.has_many_with_a_large_one(kept, limits)
    }

    fn has_many_with_a_large_one(&self, kept: &[PlacedPicture], limits: &PictureLimits) -> bool {
        self.count(kept) > limits.many && kept.iter().any(PlacedPicture::is_large)
    }

    fn count(&self, kept: &[PlacedPicture]) -> usize {
        self.fetched + kept.len()
    }
}

/// The media type of a picture, the bytes of its base64 and its longest side; or why it cannot be sent.
fn check(bytes: &[u8], limits: &PictureLimits) -> PictureFacts {
    let picture = Picture::of(bytes).map_err(|_| "the picture is broken")?;
    let encoded = bytes.len().div_ceil(3) * 4;
    if picture.longest_side() > limits.side {
        return Err("a picture of more than 8,000 pixels a side");
    }
    if encoded > limits.bytes {
        return Err("the picture has too many bytes");
    }
    Ok((picture.media_type, encoded, picture.longest_side()))
}

/// Returns the key that identifies a picture whose bytes are in the request.
fn source(part: &MediaPart) -> Option<&str> {
    match &part.source {
        MediaSource::Blob(id) => Some(id.as_str()),
        MediaSource::Base64(data) => Some(data),
        MediaSource::Url(_) => None,
    }
}
