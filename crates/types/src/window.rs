//! The content that fills the window of a model, as front ends show it: the share of each kind of content.

use serde::{Deserialize, Serialize};

/// The tokens of the next request, by kind of content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowFill {
    /// The last event that is in it.
    pub seq: u64,
    /// Tokens that fit into one call, answer included.
    pub window: u64,
    /// The number of tokens kept free for the answer.
    pub answer: u64,
    /// The number of used tokens: the provider's last count, plus an estimate of everything since.
    pub in_use: u64,
    /// The number of messages that are no longer sent because they do not fit. Messages that are always sent
    /// do not count: the goal, the current task and pinned messages.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: u64,
    /// The parts, in the order in which each kind first occurs in the request.
    pub shares: Vec<WindowShare>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_none(n: &u64) -> bool {
    *n == 0
}

/// All content of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowShare {
    /// The kind of content.
    pub kind: WindowKind,
    /// The number of pieces.
    pub count: u64,
    /// Tokens, estimated.
    pub tokens: u64,
    /// Bytes of the texts that the model reads, with calls and tools as JSON. Media are not counted: they are
    /// sent apart.
    pub bytes: u64,
}

/// The kinds of content that fill a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WindowKind {
    /// The standing instructions of the agent.
    SystemPrompt,
    /// Files of instructions of the workspace.
    Instructions,
    /// Descriptions of the tools on offer.
    Tools,
    /// Summaries of condensed ranges.
    Summaries,
    /// Messages of people and of other agents.
    Inputs,
    /// Answers of the model.
    Answers,
    /// The reasoning, if it is sent back.
    Reasoning,
    /// Calls of tools.
    ToolCalls,
    /// Results of tools.
    ToolResults,
    /// Pictures, sound and files.
    Media,
    /// Data that only the provider can read.
    Opaque,
    /// Content of a kind that only a newer version knows.
    Unknown,
}
