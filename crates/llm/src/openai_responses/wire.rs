//! The events of a Responses stream, and the parts of a response, as they are read. Every field may be
//! missing, and unknown ones are ignored: new kinds of events and items come without notice.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error;
use crate::lenient_json::{LenientCount, Str};
use crate::openai_chat::UsageWire;
use crate::stream_error::StreamError;

/// An event of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Str<'a>>,
    /// The partial or complete response.
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    /// The place of an item in the output.
    pub(super) output_index: Option<LenientCount>,
    /// The id of the item that a piece belongs to.
    #[serde(borrow)]
    pub(super) item_id: Option<Str<'a>>,
    /// The place of a part within a message.
    pub(super) content_index: Option<LenientCount>,
    /// The place of a part within the summary of reasoning.
    pub(super) summary_index: Option<LenientCount>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<Str<'a>>,
    /// The error inside the stream of a gateway.
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> ResponsesEvent<'a> {
    pub(super) fn parse(data: &'a str) -> Result<Self, StreamError> {
        serde_json::from_str(data).map_err(|error| StreamError::malformed(error, data))
    }
}

/// A response: the beginning of one, or a whole one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseWire<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) model: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    pub(super) usage: Option<UsageWire>,
    /// The tier that served it; `priority` costs more than the list price.
    #[serde(borrow)]
    pub(super) service_tier: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<IncompleteDetails<'a>>,
}

impl<'a> ResponseWire<'a> {
    pub(super) fn parse(data: &'a str) -> Result<Self, StreamError> {
        serde_json::from_str(data).map_err(|error| StreamError::malformed(error, data))
    }

    /// Returns the provider's word for the reason why the response is incomplete.
    pub(super) fn incomplete_reason(&self) -> Option<&str> {
        self.incomplete_details.as_ref()?.reason.as_deref()
    }

    /// The error of a response that failed.
    pub(super) fn error(&self) -> Option<&'a RawValue> {
        self.error.filter(|error| error::is_reported(error))
    }
}

/// The reason why a response is incomplete.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct IncompleteDetails<'a> {
    /// The word for the reason: `max_output_tokens` or `content_filter`.
    #[serde(borrow)]
    pub(super) reason: Option<Str<'a>>,
}

/// An item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputItem<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Str<'a>>,
    /// The id of the item.
    #[serde(borrow)]
    pub(super) id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<Str<'a>>,
    /// The id of a call in the conversation. The `id` of an item names an item that a server stores.
    #[serde(borrow)]
    pub(super) call_id: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<Str<'a>>,
    /// The arguments of a `function_call`: JSON, as a string. Kinds of calls that the server makes itself
    /// have other forms.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    /// The input of a `custom_tool_call`: any text.
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
    /// The content of a message, or of reasoning that is not encrypted.
    #[serde(borrow)]
    pub(super) content: Option<Vec<ItemPart<'a>>>,
    #[serde(borrow)]
    pub(super) summary: Option<Vec<ItemPart<'a>>>,
    #[serde(borrow)]
    pub(super) encrypted_content: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) phase: Option<Str<'a>>,
}

/// A part of a message, of reasoning or of its summary.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ItemPart<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Str<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Str<'a>>,
}
