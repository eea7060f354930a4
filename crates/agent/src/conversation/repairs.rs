//! The data behind `repair`: which parts requests leave out, and the form of a message without them. `repair`
//! decides which parts these are.

use std::sync::Arc;

use agentx_types::{ContentPart, Message, MessagePlace, ModelSpec, RequestPart, Role};
use serde::{Deserialize, Serialize};

use super::refusable_parts::{
    has_attached, has_media, in_words, is_block, is_exchange, is_reasoning, is_signed, is_signed_thinking,
    without_attached, without_media, without_signature,
};

/// Leaves out everything, including messages that are still to come.
pub(super) const ALL: u64 = u64::MAX;

/// The pictures that one model refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MediaOf {
    /// It identifies the model together with the model's id.
    pub(super) provider: String,
    pub(super) model: String,
    /// The value of `Repairs::media` while that model was in use.
    pub(super) media: u64,
    /// The value of `Repairs::media_of` while that model was in use.
    pub(super) media_of: Vec<u64>,
    /// The maximum number of pictures in one request, if its server named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) most_media: Option<u32>,
}

impl MediaOf {
    /// Returns whether it is about this model, at this provider.
    pub(super) fn is_of(&self, model: &ModelSpec) -> bool {
        (&self.provider, &self.model) == (&model.provider, &model.id)
    }
}

/// The parts that requests leave out. Each number is the event up to which requests leave out a part, or 0.
///
/// The conversation itself keeps everything: a front end shows it, and another model may be sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Repairs {
    /// Thinking that its provider signs.
    pub(super) thinking: u64,
    /// Pictures and other media.
    pub(super) media: u64,
    /// The events of single messages whose pictures and other media requests leave out: the last ones at the
    /// time of a refusal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) media_of: Vec<u64>,
    /// The most pictures that a request may have; the newest stay: see [`super::media_limit`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) most_media: Option<u32>,
    /// The pictures that other models of the session refused: see [`super::model_switch`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) media_of_others: Vec<MediaOf>,
    /// Calls and results in their own form: they are sent as plain text. [`ALL`] for a template that knows no
    /// role for tools.
    pub(super) tool_calls: u64,
    /// Whether to leave out settings that a server of the same API may not know.
    pub(super) plain: bool,
    /// Whether only the roles user and assistant occur, and alternate.
    pub(super) roles: bool,
    /// The maximum number of tokens of an answer; 0 if the server decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<u64>,
    /// Parts of answers that only their provider reads.
    #[serde(skip_serializing_if = "agentx_types::is_default")]
    pub(super) blocks: u64,
    /// Data attached to text and calls that only their provider reads.
    #[serde(skip_serializing_if = "agentx_types::is_default")]
    pub(super) attached: u64,
    /// Reasoning that servers of Chat Completions are sent back.
    #[serde(skip_serializing_if = "agentx_types::is_default")]
    pub(super) reasoning: u64,
    /// Signatures of Gemini's, and parts that only it reads.
    #[serde(skip_serializing_if = "agentx_types::is_default")]
    pub(super) signatures: u64,
    /// The latest event when the model's server last refused reasoning: see [`super::refused_kinds`].
    #[serde(skip_serializing_if = "agentx_types::is_default")]
    pub(super) reasoning_refused: u64,
    /// The latest event when the model's server last refused blocks or attached data.
    #[serde(skip_serializing_if = "agentx_types::is_default")]
    pub(super) blocks_refused: u64,
    /// The settings that requests leave out, in the order of their refusals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) without: Vec<RequestPart>,
    /// Tools that are not on offer, by name: see [`super::refused_tools`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<String>,
    /// The parts and messages in whose place words are sent: see [`super::left_out`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) left_out: Vec<MessagePlace>,
}

impl Repairs {
    /// Returns whether requests are sent in full.
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether pictures and other media are left out of the message of this event.
    pub(super) fn leaves_out_media(&self, seq: u64) -> bool {
        seq <= self.media || self.media_of.contains(&seq)
    }

    /// The message of the event `seq` as it is sent; `None` if nothing of it is left. It is cloned only if
    /// something changes.
    pub(super) fn sent(&self, seq: u64, message: &Arc<Message>) -> Option<Arc<Message>> {
        let changes = |part: &ContentPart| {
            (seq <= self.thinking && is_signed_thinking(part))
                || (seq <= self.reasoning && is_reasoning(part))
                || (seq <= self.blocks && is_block(part))
                || (seq <= self.attached && has_attached(part))
                || (seq <= self.signatures && is_signed(part))
                || (has_media(part) && self.leaves_out_media(seq))
                || (seq <= self.tool_calls && is_exchange(part))
        };
        if !message.content.iter().any(changes) && !self.leaves_out_any(message) {
            return Some(message.clone());
        }
        let parts = 0..message.content.len();
        let mut content: Vec<ContentPart> = parts.filter_map(|at| self.sent_part(seq, message, at)).collect();
        if content.is_empty() {
            content.extend(self.words_alone(message));
        }
        let is_in_words = seq <= self.tool_calls && message.role == Role::Tool;
        (!content.is_empty()).then(|| {
            Arc::new(Message {
                message_id: message.message_id.clone(),
                role: if is_in_words { Role::User } else { message.role },
                content,
                by: message.by.clone(),
            })
        })
    }

    /// A part of the message of the event `seq` as it is sent; `None` if nothing of it is left.
    pub(super) fn sent_part(&self, seq: u64, message: &Message, at: usize) -> Option<ContentPart> {
        let mut part = self.kept_part(message, at)?;
        if (seq <= self.thinking && is_signed_thinking(&part))
            || (seq <= self.reasoning && is_reasoning(&part))
            || (seq <= self.blocks && is_block(&part))
        {
            return None;
        }
        if seq <= self.attached {
            part = without_attached(part);
        }
        if seq <= self.signatures {
            part = without_signature(part)?;
        }
        if self.leaves_out_media(seq) {
            part = without_media(part);
        }
        if seq <= self.tool_calls {
            part = in_words(part);
        }
        Some(part)
    }
}
