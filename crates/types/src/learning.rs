//! Learning: after a number of inputs, an agent has a model propose what to remember of them, and after a
//! long talk what it was like. The settings, the action and the fact.
//!
//! The inputs in the log decide when an agent asks, and the answer is a fact; so a replay asks nobody. The
//! fact names the proposals and has not their words: these are in the person's own store, which others who
//! may read the session do not see.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::vocabulary::payloads;
use crate::{ContextItem, EffectBill, ModelRequest};

/// The beginning of the id of the message that asks for proposals, behind the prefix of its kind.
pub const TO_LEARN: &str = "to_learn_";
/// The end of the content in a prompt that a webhook delivered. No person said that content, so an input with
/// this mark teaches nothing.
pub const WEBHOOK_END: &str = "</webhook>";
/// Maximum number of inputs of a person about which an agent asks at once.
pub const MAX_LEARNED_INPUTS: usize = 1_000;

/// The times at which an agent has proposals made for the memory of its person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearningSettings {
    /// The number of inputs of the owner after which a model is asked what to remember of them, at most
    /// 1,000; 0 for never.
    pub threshold_turns: u32,
    /// The number of inputs after which it is also asked to reflect on the conversation; 0 for never.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub reflect_turns: u32,
}

/// Have a model propose what to remember of a part of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProposeMemories {
    /// The events of the owner's inputs in the part, in their order: the possible origins of a proposal.
    pub inputs: Vec<u64>,
    /// Whether the model also reflects on the conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reflect: bool,
    /// The directory that the agent works in, absolute.
    pub workspace: String,
    /// The request to the model.
    pub request: Arc<ModelRequest>,
}

payloads! {
    /// A model was asked what to remember, or could not be. The `cause` is the action that asked for it.
    MemoriesProposed {
        /// The new proposals, each with its origin.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<ContextItem>,
        /// The reason why there are none, or not all, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        /// The cost of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bill: Option<Box<EffectBill>>,
    }
}

impl ModelRequest {
    /// Returns whether the request asks for proposals of memories.
    pub fn asks_for_memories(&self) -> bool {
        matches!(&self.messages[..], [asked] if asked.message_id.as_str().contains(TO_LEARN))
    }
}

impl MemoriesProposed {
    /// An answer without proposals, which cost nothing.
    pub fn nothing() -> Self {
        Self {
            items: Vec::new(),
            problem: None,
            bill: None,
        }
    }

    /// An answer without proposals, with the reason for people.
    pub fn failed(problem: impl Into<String>) -> Self {
        Self {
            problem: Some(problem.into()),
            ..Self::nothing()
        }
    }
}
