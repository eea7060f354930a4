//! The request of a model call before any wire format. `agentx-llm` turns it into the bytes of one API.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{AnswerSchema, Message, ModelParams, ModelSpec, RequestPart, ToolSpec};

/// The id of the message of a request that stands for earlier ones, which are no longer sent. It is not a
/// message of the conversation.
pub const EARLIER_MESSAGES: &str = "msg_left_out";

/// Everything that is sent to the model in one call, independent of its API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The model.
    pub model: ModelSpec,
    /// Settings.
    pub params: ModelParams,
    /// Standing instructions, in order; the same in every call of a session, so that providers can cache
    /// them.
    pub system: Vec<Arc<str>>,
    /// The conversation so far.
    pub messages: Vec<Arc<Message>>,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// Whether to send it without settings that a server may not know, because its provider refused one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// Whether it has no roles but a person and the assistant, in turns, because a chat template has refused
    /// another one or another order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turns: bool,
    /// Single settings that it is sent without, or under another name, because its provider has refused them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<RequestPart>,
    /// The schema of the answer, if the run has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Arc<AnswerSchema>>,
}

impl ModelRequest {
    /// A request without tools and a schema, for one answer in words.
    pub fn new(
        model: ModelSpec,
        params: ModelParams,
        system: Vec<Arc<str>>,
        messages: Vec<Arc<Message>>,
    ) -> Self {
        Self {
            model,
            params,
            system,
            messages,
            tools: Arc::from([]),
            plain: false,
            turns: false,
            without: Vec::new(),
            answer_schema: None,
        }
    }

    /// Returns whether the request is sent without this setting.
    pub fn is_without(&self, setting: RequestPart) -> bool {
        self.without.contains(&setting)
    }
}
