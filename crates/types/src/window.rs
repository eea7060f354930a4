//! The content that fills the window of a model, as front ends show it: the share of each kind of content.

use serde::{Deserialize, Serialize};

/// What a model would be given next, by what it is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WindowFill {
    /// The last event that is in it.
    pub seq: u64,
    /// Tokens that fit into one call, answer included.
    pub window: u64,
    /// How many of them are kept free for the answer.
    pub answer: u64,
    /// How many are in use: what the provider counted last, and an estimate of what has come since.
    pub in_use: u64,
    /// How many messages are not sent any more because they no longer fit. What stays of them is not counted: the goal, what is
    /// to be done now, and what is pinned.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out: u64,
    /// The parts that there are, in the order in which the model reads kinds of them first.
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
    /// Which.
    pub kind: WindowKind,
    /// How many pieces.
    pub count: u64,
    /// Tokens, estimated.
    pub tokens: u64,
    /// Bytes of the texts that the model reads, with calls and tools as JSON. Media are not counted: they are sent apart.
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
    /// Summaries that stand for what was condensed.
    Summaries,
    /// What persons said, and other agents.
    Inputs,
    /// What the model answered.
    Answers,
    /// Its reasoning, where it is sent back.
    Reasoning,
    /// Calls of tools.
    ToolCalls,
    /// What tools answered.
    ToolResults,
    /// Pictures, sound and files.
    Media,
    /// What only the provider can read.
    Opaque,
}
