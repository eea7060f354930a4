//! The limits of vendors for the pictures of a request: requests are built by them, and a message whose own
//! pictures fit in no request is refused before anything is sent.

use crate::{Api, ContentPart, MediaSource, ModelSpec};

/// The limits of a request for pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureLimits {
    /// The longest side of any picture in pixels.
    pub side: u32,
    /// Bytes of base64 of one picture.
    pub bytes: usize,
    /// Bytes of base64 of all pictures; the rest of a request is for words.
    pub all_bytes: usize,
    /// Maximum number of pictures.
    pub count: usize,
    /// The number of pictures from which on the longest side of each is 2,000 pixels at most.
    pub many: usize,
}

/// OpenAI: 50 MB and 500 pictures a request (<https://platform.openai.com/docs/guides/images-vision>); larger
/// pictures are scaled there. Other servers with this protocol document nothing or less, so the sum is
/// smaller.
const CHAT: PictureLimits = PictureLimits {
    side: u32::MAX,
    bytes: 20 << 20,
    all_bytes: 20 << 20,
    count: 500,
    many: usize::MAX,
};

impl PictureLimits {
    /// The limits of the API of a model.
    pub fn of(model: &ModelSpec) -> Self {
        match model.api {
            Api::Anthropic => Self::of_claude(model, 26 << 20),
            // 20 MB a request:
            // <https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html>.
            Api::Bedrock => Self::of_claude(model, 16 << 20),
            // 20 pictures of 3.75 MB, which are 5 MB of base64, and 8,000 pixels a side:
            // <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html>.
            Api::BedrockConverse => Self {
                side: 8_000,
                bytes: 5 << 20,
                all_bytes: 16 << 20,
                count: 20,
                many: usize::MAX,
            },
            Api::VertexAnthropic => Self::of_claude(model, 20 << 20),
            _ => CHAT,
        }
    }

    /// The limits of a gateway that hands requests on to a model of Anthropic's. Its own limit of bytes is
    /// not known.
    pub fn of_gateway_to_claude(model: &ModelSpec) -> Self {
        Self::of_claude(model, CHAT.all_bytes)
    }

    /// Anthropic: 8,000 pixels a side, 2,000 in a request of more than 20 pictures, 100 pictures (600 for
    /// windows over 200,000 tokens), 32 MB a request, of which words get the rest:
    /// <https://platform.claude.com/docs/en/build-with-claude/vision>. 10 MB of base64 a picture, 5 MB on
    /// other platforms: <https://platform.claude.com/docs/en/api/overview>. Both read 2026-11-22.
    fn of_claude(model: &ModelSpec, all_bytes: usize) -> Self {
        Self {
            side: 8_000,
            bytes: 10 << 20,
            all_bytes,
            count: if model.context_window <= 200_000 { 100 } else { 600 },
            many: 20,
        }
    }

    /// The same limits with room for further pictures.
    #[must_use]
    pub fn with_room(self) -> Self {
        Self {
            all_bytes: self.all_bytes / 4 * 3,
            count: self.count / 4 * 3,
            many: self.many / 4 * 3,
            ..self
        }
    }

    /// The reason why the pictures of one message fit in no request; `None` if they do. Those that are stored
    /// already or that the vendor fetches have no known size.
    pub fn excess(&self, content: &[ContentPart]) -> Option<String> {
        let sizes = content.iter().filter_map(|part| match part {
            ContentPart::Image(picture) => Some(match &picture.source {
                MediaSource::Base64(data) => data.len(),
                MediaSource::Blob(_) | MediaSource::Url(_) => 0,
            }),
            _ => None,
        });
        let (number, bytes) = sizes.fold((0_usize, 0_usize), |(number, sum), size| (number + 1, sum + size));
        if number > self.count {
            return Some(format!(
                "the message has {number} pictures, and a request takes at most {}; send fewer at once",
                self.count
            ));
        }
        (bytes > self.all_bytes).then(|| {
            format!(
                "the {number} pictures of the message have {} in base64, and all pictures of a request may have {}; send fewer at once, or smaller ones",
                megabytes(bytes),
                megabytes(self.all_bytes)
            )
        })
    }
}

/// A number of bytes with one decimal.
fn megabytes(bytes: usize) -> String {
    let tenths = bytes.saturating_mul(10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MediaPart;

    #[test]
    fn pictures_of_one_message_that_fit_in_no_request_are_named_with_the_bound() {
        let limits = CHAT.with_room();
        let picture = |bytes: usize| {
            ContentPart::Image(MediaPart {
                media_type: "image/png".into(),
                source: MediaSource::Base64("A".repeat(bytes)),
                name: None,
            })
        };
        let five: Vec<_> = (0..5).map(|_| picture(3 << 20)).collect();
        assert_eq!(limits.excess(&five), None);
        let six: Vec<_> = (0..6).map(|_| picture(3 << 20)).collect();
        let why = limits.excess(&six).unwrap_or_default();
        assert!(
            why.contains("the 6 pictures of the message have 18.0 MiB in base64") && why.contains("15.0 MiB"),
            "{why}"
        );
        let many: Vec<_> = (0..376).map(|_| picture(4)).collect();
        assert!(limits.excess(&many).unwrap_or_default().contains("376 pictures"));
        assert_eq!(limits.excess(&[ContentPart::text("words")]), None);
    }
}
