//! The capabilities of a server or a model of this API, as the catalog and a person set them.

use serde::{Deserialize, Serialize};

use super::family::GeminiThinking;

/// Options of a server or a model of this API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeminiOptions {
    /// The way to request reasoning, if it is not the one that the model's name implies.
    pub thinking: Option<GeminiThinking>,
    /// Whether calls and results have ids. Vertex AI refuses them: "Unknown name "id" at
    /// 'contents\[1\].parts\[0\].function_call': Cannot find field"
    /// (<https://github.com/vercel/ai/issues/15664>).
    pub call_ids: bool,
}

impl Default for GeminiOptions {
    fn default() -> Self {
        Self {
            thinking: None,
            call_ids: true,
        }
    }
}
