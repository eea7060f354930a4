//! A request that a provider refused for its form.

use agentx_types::RequestPart;
use serde::{Deserialize, Serialize};

/// The words of a provider about a request that it refuses for its form.
///
/// It says which part to leave out or to make smaller, and if it is known how small. The request is repaired
/// by it once and sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedRequest {
    /// The part that it refuses.
    pub part: RequestPart,
    /// The number of tokens that it allows, if the part is the longest answer and it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_answer: Option<u64>,
    /// The number of pictures that it allows, if they are too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_media: Option<u16>,
    /// The names of the refused tools, if the part is the description of tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

impl RefusedRequest {
    /// The limit of the refused part that the provider names.
    pub fn most(&self) -> Option<u64> {
        self.longest_answer.or(self.most_media.map(u64::from))
    }
}
