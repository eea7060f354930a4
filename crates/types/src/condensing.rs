//! Condensing: a range of a conversation is represented by a summary, and what it says stays in the log. How it is set up, what
//! is wanted, what is on record of it, and what front ends hear of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::vocabulary::payloads;
use crate::{EffectBill, MessageId, ModelRequest, ModelSpec, OwnerId, RequestPart};

/// The beginning of the id of the message that asks for a summary, behind the prefix of its kind.
pub const TO_CONDENSE: &str = "to_condense_";

impl ModelRequest {
    /// Whether it asks for a summary: one message that no later request begins with.
    pub fn asks_for_summary(&self) -> bool {
        matches!(&self.messages[..], [asked] if asked.message_id.as_str().contains(TO_CONDENSE))
    }
}

/// When and how an agent's conversation is condensed. An agent without it never condenses by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Condensing {
    /// How full the model's window is when it is done, in percent; 0 for only when a person wants it, or the model says that
    /// the window is full.
    pub at_percent: u8,
    /// How many of the latest exchanges stay as they are, as long as they fit into a quarter of the window.
    pub tail: u32,
    /// The model that writes the summaries; the agent's own where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<ModelSpec>>,
    /// Whether what is sent keeps its beginning as long as it can: `recall` is on offer from the start, and thinking is left out
    /// that was made after another beginning. Sessions of before are sent as they were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_beginning: bool,
}

impl Default for Condensing {
    fn default() -> Self {
        Self {
            at_percent: 80,
            tail: 8,
            model: None,
            keeps_beginning: false,
        }
    }
}

/// Ask a model for a summary of a range of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condense {
    /// The first event of the range.
    pub from_seq: u64,
    /// The last event of the range.
    pub to_seq: u64,
    /// Messages in the range that stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<MessageId>,
    /// Tokens of what the summary stands for, estimated: one that has no fewer is of no use.
    pub tokens: u64,
    /// What the model is asked.
    pub request: Arc<ModelRequest>,
    /// Whether a model that is away is not waited for: the next request of the conversation fits without the summary, or the last
    /// summary came to nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

payloads! {
    /// A person wants the conversation condensed now.
    CondenseRequested {
        /// What the summary must not leave out, in their words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        /// Who, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A range of the conversation is represented by a summary; the range itself stays in the log.
    ContextCondensed {
        /// The first event of the range.
        from_seq: u64,
        /// The last event of the range.
        to_seq: u64,
        /// What stands for it.
        summary: String,
        /// Messages in the range that stay as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<MessageId>,
        /// What the summary cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bill: Option<Box<EffectBill>>,
    }
    /// A summary came to nothing; the conversation stays as it is.
    CondensingFailed {
        /// Stable, for programs: that of the model's error, `interrupted`, `refused`, `no_summary`, …
        code: String,
        /// For people.
        message: String,
        /// What it cost all the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bill: Option<Box<EffectBill>>,
    }
    /// A condensed range is restored, together with later summaries that contain it.
    ContextRestored {
        /// The first event of the range.
        from_seq: u64,
        /// The last event of the range.
        to_seq: u64,
        /// Who, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A person wants an input to stay as it is when the conversation is condensed, or no longer.
    InputPinned {
        /// The input.
        message_id: MessageId,
        /// Whether it stays.
        pinned: bool,
        /// Who, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// The part of the conversation that a model reads changed, or could not be changed.
    ContextChanged {
        /// The change.
        change: ContextChange,
    }
}

/// How the part of a conversation that a model reads changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextChange {
    /// A model was asked for a summary of this range.
    Condensing(ContextRange),
    /// A summary stands for this range from now on.
    Condensed(ContextRange),
    /// It stays as it is.
    Failed {
        /// Stable, for programs.
        code: String,
        /// For people.
        message: String,
    },
    /// This range is again as it was.
    Restored(ContextRange),
    /// A provider refused the form of a request: this part of what was said so far is left out from now on, or said in plain
    /// words, and the model is asked again.
    Repaired(RequestPart),
    /// A provider refused how tools are described: they are not on offer from now on, until they change or another model is asked, and
    /// the model is asked again.
    ToolsLeftOut {
        /// Their names.
        tools: Vec<String>,
    },
    /// The server cut the beginning of what was sent and did not say so: its counts show it. The smaller window holds from now on, and
    /// the conversation is condensed to fit into it.
    Cut {
        /// How many tokens the server reads at most.
        window: u64,
        /// How many were assumed.
        assumed: u64,
    },
    /// The conversation did not fit, and no summary would help: less of it is sent, with shorter results of tools, and the model is
    /// asked again.
    Shortened {
        /// How many tokens are taken for the model's window from now on.
        window: u64,
    },
}

/// A range of the conversation, and what it weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextRange {
    /// The first event of the range.
    pub from_seq: u64,
    /// The last event of the range.
    pub to_seq: u64,
    /// How many messages a summary stands for.
    pub messages: u64,
    /// Their tokens, estimated.
    pub tokens: u64,
    /// Tokens of what stands for them, estimated; 0 where that is not there yet.
    pub summary_tokens: u64,
}

/// A range that is condensed now, as front ends show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CondensedRange {
    /// The event that says so.
    pub seq: u64,
    /// Which, and what it weighs.
    pub range: ContextRange,
    /// What stands for it.
    pub summary: String,
}
