//! Condensing: a summary represents a range of a conversation, whose messages stay in the log. The settings,
//! the action, the facts, and the events for front ends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::vocabulary::payloads;
use crate::{ContextItem, EffectBill, MessageId, ModelRequest, ModelSpec, OwnerId, RequestPart, TO_LEARN};

/// The beginning of the id of the message that asks for a summary, behind the prefix of its kind.
pub const TO_CONDENSE: &str = "to_condense_";

impl ModelRequest {
    /// Returns whether the request asks for a summary.
    pub fn asks_for_summary(&self) -> bool {
        matches!(&self.messages[..], [asked] if asked.message_id.as_str().contains(TO_CONDENSE))
    }

    /// Returns whether no later request begins with the message of this one: it asks for a summary, or for
    /// proposals of memories.
    pub fn is_asked_once(&self) -> bool {
        let is_beside = |id: &str| id.contains(TO_CONDENSE) || id.contains(TO_LEARN);
        matches!(&self.messages[..], [asked] if is_beside(asked.message_id.as_str()))
    }
}

/// The settings for condensing an agent's conversation. Without them the agent never condenses automatically.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Condensing {
    /// The fill of the model's window at which it is condensed, in percent; 0 means only if a person requests
    /// it or the model reports a full window.
    pub at_percent: u8,
    /// The number of latest exchanges that stay unchanged, as long as they fit into a quarter of the window
    /// and a third of what instructions and tools leave of it.
    pub tail: u32,
    /// The model that writes the summaries; `None` means the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<ModelSpec>>,
    /// Whether requests keep the same beginning as long as possible: `recall` is offered from the start, and
    /// thinking that followed another beginning is left out. Requests of older sessions stay as they were.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_beginning: bool,
    /// The number of latest results of tools that stay; a short text masks older ones. `None` masks none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masks: Option<u32>,
    /// The same for the results of tools that read web pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masks_web: Option<u32>,
    /// Maximum number of messages: beyond it the older half is left out, without a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recent: Option<u32>,
    /// Maximum number of messages: beyond it a summary replaces the older half, whatever its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_after: Option<u32>,
    /// Whether only a person's request brings a summary: the window of a conversation that does not fit moves
    /// on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_summary: bool,
}

impl Default for Condensing {
    fn default() -> Self {
        Self {
            at_percent: 80,
            tail: 8,
            model: None,
            keeps_beginning: false,
            masks: None,
            masks_web: None,
            recent: None,
            summary_after: None,
            no_summary: false,
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
    /// Tokens of the condensed range, estimated: a summary with as many or more is useless.
    pub tokens: u64,
    /// The request to the model.
    pub request: Arc<ModelRequest>,
    /// Whether a model that is away is not waited for: the next request of the conversation fits without the
    /// summary, or the last summary failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
    /// The summary, if no model writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The tools whose results in the range it masks; none for a summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<String>,
}

payloads! {
    /// A person requests that the conversation be condensed now.
    CondenseRequested {
        /// The required content of the summary, in the person's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A range of the conversation is represented by a summary; the range itself stays in the log.
    ContextCondensed {
        /// The first event of the range.
        from_seq: u64,
        /// The last event of the range.
        to_seq: u64,
        /// The summary.
        summary: String,
        /// Messages in the range that stay as they are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<MessageId>,
        /// The cost of the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bill: Option<Box<EffectBill>>,
        /// The tools whose results in the range the text of `summary` masks; everything else in the range
        /// stays. None for a summary.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        masked: Vec<String>,
    }
    /// A summary failed; the conversation stays as it is.
    CondensingFailed {
        /// The stable code for programs: that of the model's error, `interrupted`, `refused`, `no_summary`, …
        code: String,
        /// The message for people.
        message: String,
        /// The cost of the failed attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bill: Option<Box<EffectBill>>,
    }
    /// A condensed range is restored, together with later summaries that contain it.
    ContextRestored {
        /// The first event of the range.
        from_seq: u64,
        /// The last event of the range.
        to_seq: u64,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A person pins or unpins an input: a pinned input stays when the conversation is condensed.
    InputPinned {
        /// The input.
        message_id: MessageId,
        /// Whether it stays.
        pinned: bool,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// The part of the conversation that a model reads changed, or could not be changed.
    ContextChanged {
        /// The change.
        change: ContextChange,
    }
}

/// A change of the part of a conversation that a model reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextChange {
    /// A model was called for a summary of this range.
    Condensing(ContextRange),
    /// A summary now represents this range.
    Condensed(ContextRange),
    /// The conversation stays as it is.
    Failed {
        /// The code for programs; it is stable.
        code: String,
        /// The message for people.
        message: String,
    },
    /// The range was restored.
    Restored(ContextRange),
    /// A provider refused the form of a request: from now on this part of the earlier messages is left out or
    /// sent as plain text, and the model is called again.
    Repaired(RequestPart),
    /// A provider refused how tools are described: they are not on offer from now on, until they change or
    /// another model is asked, and the model is asked again.
    ToolsLeftOut {
        /// The names of the tools.
        tools: Vec<String>,
    },
    /// The server silently cut the beginning of a request, as its token counts show. The smaller window
    /// applies from now on, and the conversation is condensed to fit into it.
    Cut {
        /// The number of tokens that the server reads at most.
        window: u64,
        /// The number of tokens that was assumed.
        assumed: u64,
    },
    /// A service has built context for the run, or could not: the model reads `items` before it answers.
    Built {
        /// The name of the source.
        source: String,
        /// The items in it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<ContextItem>,
        /// The reason why nothing could be built.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// A model was asked what to remember of the conversation. The person decides about `items`.
    Proposed {
        /// The new proposals.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<ContextItem>,
        /// The reason why there are none, or not all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The model did not answer: the next of the agent's fallbacks is asked, until the run ends.
    FellBack {
        /// The model that did not answer, as `provider/id`.
        from: String,
        /// The model that is asked from now on, as `provider/id`.
        to: String,
        /// The code of the failure.
        code: String,
        /// The words of the failure, for people.
        message: String,
        /// Whether the price of the model that is asked is unknown, so that limits of money do not count it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unpriced: bool,
    },
    /// The conversation did not fit, and no summary would help: less of it is sent, with shorter results of
    /// tools, and the model is asked again.
    Shortened {
        /// The size of the model's window from now on, in tokens.
        window: u64,
    },
    /// The window of the model is a guess from now on, because its server refused a conversation as too long
    /// without a size: smaller than before, or larger again after requests near it were answered.
    WindowGuessed {
        /// The size of the model's window from now on, in tokens.
        window: u64,
        /// The size until now.
        before: u64,
        /// Whether it does not grow any more, because a larger one was refused.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fixed: bool,
    },
}

/// A range of the conversation, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextRange {
    /// The first event of the range.
    pub from_seq: u64,
    /// The last event of the range.
    pub to_seq: u64,
    /// The number of messages that a summary represents.
    pub messages: u64,
    /// The tokens of the messages, estimated.
    pub tokens: u64,
    /// Tokens of their summary, estimated; 0 if it does not exist yet.
    pub summary_tokens: u64,
}

/// A range that is condensed now, as front ends show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CondensedRange {
    /// The event that recorded it.
    pub seq: u64,
    /// The range and its size.
    pub range: ContextRange,
    /// The summary.
    pub summary: String,
}
