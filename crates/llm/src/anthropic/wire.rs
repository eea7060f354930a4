//! The events of a Messages stream as they are read: everything optional, unknown keys ignored, text
//! borrowed. One struct covers all the usual events, so that the common ones are parsed once.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::lenient_json::{LenientCount, Str};

/// An event of the stream, with the fields of all kinds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Str<'a>>,
    /// The block that the event belongs to.
    pub(super) index: Option<LenientCount>,
    #[serde(borrow)]
    pub(super) delta: Option<BlockDelta<'a>>,
    /// The block of `content_block_start`.
    pub(super) content_block: Option<Map<String, Value>>,
    /// The message of `message_start`.
    #[serde(borrow)]
    pub(super) message: Option<MessageStart<'a>>,
    /// The usage of `message_delta`.
    pub(super) usage: Option<AnthropicUsageWire>,
}

/// The delta of a block, or of the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BlockDelta<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Str<'a>>,
    pub(super) citation: Option<Value>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) stop_sequence: Option<Str<'a>>,
    pub(super) stop_details: Option<Value>,
}

impl BlockDelta<'_> {
    /// The type of the block that words belong to; `None` if the delta has none.
    pub(super) fn kind_of_words(&self) -> Option<&'static str> {
        let has = |text: &Option<Str<'_>>| text.as_deref().is_some_and(|text| !text.is_empty());
        match self.kind.as_deref()? {
            "text_delta" => has(&self.text).then_some("text"),
            "thinking_delta" => has(&self.thinking).then_some("thinking"),
            _ => None,
        }
    }

    /// Returns whether the delta has a piece of the arguments of a call.
    pub(super) fn has_arguments(&self) -> bool {
        let piece = self.partial_json.as_deref().unwrap_or_default();
        self.kind.as_deref() == Some("input_json_delta") && !matches!(piece.trim(), "" | "{}")
    }
}

/// The message as it begins.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageStart<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Str<'a>>,
    pub(super) usage: Option<AnthropicUsageWire>,
}

/// The token counts, cumulative within an answer: a later report replaces an earlier one.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AnthropicUsageWire {
    pub(super) input_tokens: Option<LenientCount>,
    pub(super) output_tokens: Option<LenientCount>,
    pub(super) cache_creation_input_tokens: Option<LenientCount>,
    pub(super) cache_read_input_tokens: Option<LenientCount>,
    /// The kinds of the tokens written into the cache; only at the beginning of a message.
    pub(super) cache_creation: Option<CacheCreation>,
    pub(super) output_tokens_details: Option<OutputDetails>,
    /// The region of the answer: each except `global` costs a tenth more on newer models
    /// (<https://platform.claude.com/docs/en/manage-claude/data-residency>).
    pub(super) inference_geo: InferenceGeo,
}

/// The region of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InferenceGeo {
    /// At the list price, or unknown.
    #[default]
    Usual,
    /// In one region.
    Region,
}

impl<'de> Deserialize<'de> for InferenceGeo {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Value::deserialize(deserializer)?;
        let is_region = |word: &str| !matches!(word, "" | "global" | "not_available");
        Ok(if word.as_str().is_some_and(is_region) {
            Self::Region
        } else {
            Self::Usual
        })
    }
}

/// The tokens written into the cache, by the time for which they are kept.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheCreation {
    pub(super) ephemeral_1h_input_tokens: Option<LenientCount>,
}

/// The kinds of output tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    pub(super) thinking_tokens: Option<LenientCount>,
}

/// A complete answer that was not streamed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageBody<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Str<'a>>,
    pub(super) content: Option<Vec<Map<String, Value>>>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) stop_sequence: Option<Str<'a>>,
    pub(super) stop_details: Option<Value>,
    pub(super) usage: Option<AnthropicUsageWire>,
}
