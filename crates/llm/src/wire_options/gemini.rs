//! Options of a server or a model of the Gemini APIs, which the catalog or a person sets.

use serde::{Deserialize, Serialize};

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

/// The way to request reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GeminiThinking {
    /// `thinkingLevel`: Gemini 3 and later; Gemini 4 refuses a budget
    /// (<https://github.com/BerriAI/litellm/discussions/46238>).
    Level,
    /// `thinkingBudget`, in tokens: Gemini 2.5.
    Budget,
    /// The model does not reason; the request has no such setting.
    None,
}
