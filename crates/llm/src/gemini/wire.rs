//! The chunks of a stream as they are read. Every field may be missing, and unknown ones are ignored: new
//! kinds of parts come without notice.
//!
//! ```text
//! {"candidates":[{"index":0,"content":{"role":"model","parts":[
//!     {"text":"**Plan**","thought":true},
//!     {"functionCall":{"id":"c1","name":"read","args":{"path":"a.md"}},"thoughtSignature":"CiIB…"}]},
//!   "finishReason":"STOP","finishMessage":"Model generated function call(s)."}],
//!  "usageMetadata":{"promptTokenCount":54,"candidatesTokenCount":14,"thoughtsTokenCount":64,"totalTokenCount":132},
//!  "modelVersion":"gemini-3.8-flash","responseId":"2ACz"}
//! ```
//!
//! A blocked prompt has no candidates: `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error;
use crate::lenient_json::{LenientCount, Str};
use crate::stream_error::StreamError;

/// A chunk of a stream, or a complete answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiChunk<'a> {
    /// The answers; one, because only one is requested.
    #[serde(borrow)]
    pub(super) candidates: Option<Vec<Candidate<'a>>>,
    /// Whether the prompt was blocked.
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<PromptFeedback<'a>>,
    /// Cumulative: the last one counts.
    pub(super) usage_metadata: Option<UsageMetadata>,
    /// The model that answers; an alias is resolved.
    #[serde(borrow)]
    pub(super) model_version: Option<Str<'a>>,
    /// The id of the answer, equal in all its chunks.
    #[serde(borrow)]
    pub(super) response_id: Option<Str<'a>>,
    /// Instead of everything else, if the server fails in the middle.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> GeminiChunk<'a> {
    pub(super) fn parse(data: &'a str) -> Result<Self, StreamError> {
        serde_json::from_str(data).map_err(|error| StreamError::malformed(error, data))
    }

    /// Returns whether the chunk is an error.
    pub(super) fn is_error(&self) -> bool {
        self.error.is_some_and(error::is_reported)
    }

    /// Returns why the prompt was blocked, if it was.
    pub(super) fn block_reason(&self) -> Option<&str> {
        let reason = self.prompt_feedback.as_ref()?.block_reason.as_deref()?;
        (!reason.is_empty() && reason != "BLOCKED_REASON_UNSPECIFIED").then_some(reason)
    }
}

/// One of several answers; a request asks for one only.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    pub(super) index: Option<LenientCount>,
    #[serde(borrow)]
    pub(super) content: Option<ContentWire<'a>>,
    /// The reason why the model stopped; in the last chunk.
    #[serde(borrow)]
    pub(super) finish_reason: Option<Str<'a>>,
    /// Words for people about the reason.
    #[serde(borrow)]
    pub(super) finish_message: Option<Str<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContentWire<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<&'a RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PromptFeedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) block_reason_message: Option<Str<'a>>,
}

/// The current token counts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct UsageMetadata {
    /// All input tokens, including cached ones.
    pub(super) prompt_token_count: Option<LenientCount>,
    /// The part of the prompt that was read from the cache.
    pub(super) cached_content_token_count: Option<LenientCount>,
    /// The tokens that Google's own tools returned to the model; not part of the prompt.
    pub(super) tool_use_prompt_token_count: Option<LenientCount>,
    /// The answer without the reasoning.
    pub(super) candidates_token_count: Option<LenientCount>,
    /// The reasoning, which is charged like the answer.
    pub(super) thoughts_token_count: Option<LenientCount>,
}

/// A part of an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PartWire<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
    #[serde(borrow)]
    thought: Option<&'a RawValue>,
    /// The encrypted reasoning before this part.
    #[serde(borrow)]
    pub(super) thought_signature: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCallWire<'a>>,
}

impl<'a> PartWire<'a> {
    pub(super) fn parse(data: &'a RawValue) -> Result<Self, StreamError> {
        let data = data.get();
        serde_json::from_str(data).map_err(|error| StreamError::malformed(error, data))
    }

    /// Returns whether the text is reasoning.
    pub(super) fn is_thought(&self) -> bool {
        self.thought.is_some_and(|thought| thought.get() == "true")
    }

    /// The signature, if there is one.
    pub(super) fn signature(&self) -> Option<&str> {
        self.thought_signature
            .as_deref()
            .filter(|signature| !signature.is_empty())
    }
}

/// A call of a tool, or a piece of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FunctionCallWire<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Str<'a>>,
    /// The complete arguments, an object; absent if there are none.
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    /// Pieces of the arguments, if they are streamed (Vertex AI, on request).
    #[serde(borrow)]
    pub(super) partial_args: Option<Vec<PartialArg<'a>>>,
    #[serde(borrow)]
    will_continue: Option<&'a RawValue>,
}

impl FunctionCallWire<'_> {
    /// Returns whether more pieces of this call follow.
    pub(super) fn continues(&self) -> bool {
        self.will_continue.is_some_and(|more| more.get() == "true")
    }
}

/// A piece of one argument, at a place in the arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    /// The path, for example `$.operations[0].action`.
    #[serde(borrow)]
    pub(super) json_path: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) string_value: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) number_value: Option<&'a RawValue>,
    pub(super) bool_value: Option<bool>,
    #[serde(borrow)]
    will_continue: Option<&'a RawValue>,
}

impl PartialArg<'_> {
    /// Returns whether more of this text follows.
    pub(super) fn continues(&self) -> bool {
        self.will_continue.is_some_and(|more| more.get() == "true")
    }
}
