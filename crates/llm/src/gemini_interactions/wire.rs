//! The events of a stream and the interaction itself, as they are read. Every field may be missing, and
//! unknown ones are ignored.
//!
//! ```text
//! {"event_type":"step.start","index":1,"step":{"type":"function_call","id":"61nz","name":"read","arguments":{}}}
//! {"event_type":"step.delta","index":1,"delta":{"type":"arguments_delta","arguments":"{\"path\":\"a.md\"}"}}
//! {"event_type":"step.stop","index":1}
//! ```

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient_json::{LenientCount, Str};
use crate::stream_error::StreamError;

/// An event of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionEvent<'a> {
    /// The kind of the event; the name of the server-sent event is the same.
    #[serde(borrow)]
    pub(super) event_type: Option<Str<'a>>,
    /// The partial or complete interaction.
    #[serde(borrow)]
    pub(super) interaction: Option<&'a RawValue>,
    /// The place of a step.
    pub(super) index: Option<LenientCount>,
    /// A step at its start.
    #[serde(borrow)]
    pub(super) step: Option<&'a RawValue>,
    /// A piece of the step at `index`.
    #[serde(borrow)]
    pub(super) delta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// The current tokens, at the end of a step.
    pub(super) usage: Option<InteractionUsage>,
}

/// An interaction: the beginning of one, or a whole one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionWire<'a> {
    /// Empty if nothing is stored.
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    /// The model that answers.
    #[serde(borrow)]
    pub(super) model: Option<Str<'a>>,
    /// `completed`, `requires_action`, `incomplete`, `continuation_required`, `failed` or `cancelled`.
    #[serde(borrow)]
    pub(super) status: Option<Str<'a>>,
    /// All steps of the answer, if it was not streamed.
    #[serde(borrow)]
    pub(super) steps: Option<Vec<&'a RawValue>>,
    pub(super) usage: Option<InteractionUsage>,
    /// The reason for the failure.
    #[serde(borrow)]
    pub(super) errors: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// The tokens of an interaction.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionUsage {
    /// All input tokens, including cached ones.
    pub(super) total_input_tokens: Option<LenientCount>,
    /// The part of the input that was read from the cache.
    pub(super) total_cached_tokens: Option<LenientCount>,
    /// The tokens that Google's own tools returned to the model; not part of the input.
    pub(super) total_tool_use_tokens: Option<LenientCount>,
    /// The answer without the reasoning.
    pub(super) total_output_tokens: Option<LenientCount>,
    /// The reasoning, which is charged like the answer.
    pub(super) total_thought_tokens: Option<LenientCount>,
}

/// A step of an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StepWire<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Str<'a>>,
    /// The arguments of a call: an object.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    /// The signature of a thought; that of a call is mostly empty.
    #[serde(borrow)]
    pub(super) signature: Option<Str<'a>>,
    /// The readable summary of a thought.
    #[serde(borrow)]
    pub(super) summary: Option<Vec<TextWire<'a>>>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<TextWire<'a>>>,
}

/// A piece of a step.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DeltaWire<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Str<'a>>,
    /// The content of a summary.
    #[serde(borrow)]
    pub(super) content: Option<TextWire<'a>>,
    /// A piece of JSON, as a string.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A text of a step; other media have none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TextWire<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
}

/// Reads a value of these.
pub(super) fn parse<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, StreamError> {
    serde_json::from_str(data).map_err(|error| StreamError::malformed(error, data))
}
