//! A request that a provider refused for its form.

use agentx_types::{MessagePlace, RequestPart};
use serde::{Deserialize, Serialize};

/// A provider's refusal of a request for its form.
///
/// It names the part to leave out or to shorten, and the allowed size if that is known. The request is
/// repaired with it once and sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedRequest {
    /// The part that it refuses.
    pub part: RequestPart,
    /// The allowed number of tokens, if the part is the maximum answer length and the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_answer: Option<u64>,
    /// The number of pictures that it allows, if they are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_media: Option<u16>,
    /// Whether the same request was refused in each attempt of the call, with an HTTP 500: it need not be
    /// sent unchanged once more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// Whether the request had no reasoning of earlier answers: leaving it out changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_thinking: bool,
    /// The names of the refused tools, if the part is the description of tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The part of the conversation that the refusal names by its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Box<MessagePlace>>,
}

impl RefusedRequest {
    /// The limit of the refused part that the provider names.
    pub fn most(&self) -> Option<u64> {
        self.longest_answer.or(self.most_media.map(u64::from))
    }
}
