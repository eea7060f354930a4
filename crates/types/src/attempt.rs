//! A failed attempt to call a model, the limits that its error reports, and errors as clients read them.

use serde::{Deserialize, Serialize};

use crate::vocabulary::payloads;
use crate::{MessageId, RequestPart};

payloads! {
    /// A model call attempt failed.
    AttemptFailed {
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The stable code for programs: `rate_limited`, `overloaded`, `unauthorized`, …
        code: String,
        /// The message for people.
        message: String,
        /// The HTTP status, if there was an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Milliseconds until the next attempt; `None` if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
        /// Milliseconds for which the server is still waited for at most, the pause before the next attempt
        /// included; `None` if none follows, or attempts are counted instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gives_up_in_ms: Option<u32>,
        /// The sizes that the server reports, if the conversation did not fit into the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overflow: Option<Box<Overflow>>,
        /// The part of the request whose form the provider refuses, if it does: the same request would be
        /// refused again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<RequestPart>,
        /// The longest answer that the provider accepts, in tokens, if it refuses the requested one and names
        /// its limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longest_answer: Option<u32>,
        /// The maximum number of pictures and other media that the provider accepts in one request, if it
        /// refuses the request for their number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most_media: Option<u16>,
        /// Whether the request had no reasoning of earlier answers, although the conversation may have some:
        /// then leaving it out changes nothing. Only said of a refusal that names no part.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_thinking: bool,
        /// The place in the conversation of what the refusal names, if it names one by its place in the
        /// request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused_place: Option<Box<MessagePlace>>,
    }
    /// Something went wrong.
    ErrorRaised {
        /// The code for programs; it is stable.
        code: String,
        /// The message for people.
        message: String,
        /// Whether the session can continue.
        recoverable: bool,
        /// Milliseconds until the next automatic attempt; `None` if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
        /// Milliseconds after which it gives up, if time bounds the attempts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gives_up_in_ms: Option<u64>,
        /// The HTTP status, if a model server answered with one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    }
}

/// The text in a request in place of a part that the provider refused.
pub const LEFT_OUT_PART: &str = "[left out: the provider refused this part]";

/// A part of a message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessagePlace {
    /// The message.
    pub message_id: MessageId,
    /// The index of the part in the message as it was sent; absent for the whole message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<u32>,
}

/// The sizes that a server names when it refuses a conversation as too long; absent if it names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Overflow {
    /// Tokens that fit into one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Tokens of the request as it counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
}
