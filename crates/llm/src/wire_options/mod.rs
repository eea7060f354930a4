//! The capabilities of the APIs' servers, as the catalog has them for each model.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;

use serde::{Deserialize, Serialize};

use crate::wire_options::anthropic::AnthropicOptions;
use crate::wire_options::chat::ChatOptions;
use crate::wire_options::gemini::GeminiOptions;

/// Options in which the servers of one API differ. The catalog has those of each model
/// ([`Catalog::wire_options`](crate::Catalog::wire_options)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WireOptions {
    /// The options of Anthropic Messages.
    pub anthropic: AnthropicOptions,
    /// The options of OpenAI Chat Completions and Responses.
    pub chat: ChatOptions,
    /// The options of both Gemini APIs.
    pub gemini: GeminiOptions,
    /// The temperature of requests that name none, in hundredths (70 is 0.7), if a person set one for this
    /// model. The default is `None`.
    pub temperature: Option<u16>,
    /// Whether the model has a mode for answers that fit a JSON Schema. The catalog has this for the model at
    /// its provider. The default is `false`: then the schema is an instruction.
    pub answer_schema: bool,
}
