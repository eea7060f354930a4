//! Small closed sets in facts: the mode of an input, a person's decision, why a model stopped, how a tool
//! call ended.

use serde::{Deserialize, Serialize};

/// The time at which the agent handles an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputMode {
    /// After the current run.
    #[default]
    Queue,
    /// Before the next model call of the current run.
    Steer,
    /// Now: the current run is stopped.
    Interrupt,
}

/// The decision of a person about a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// Allow the call, this once.
    Once,
    /// Allow this call, and similar ones for the rest of the session.
    Session,
    /// Allow this call, and similar ones from now on.
    Always,
    /// Deny the call.
    Deny,
}

/// The reason why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model finished its answer.
    EndTurn,
    /// The model calls tools.
    ToolUse,
    /// The answer reached its longest length.
    MaxTokens,
    /// A stop sequence came.
    StopSequence,
    /// The provider paused a long turn; asking again continues with it.
    PauseTurn,
    /// The provider or the model declined.
    Refusal,
    /// The context window is full.
    ContextWindow,
    /// The stream broke; the text so far is partial.
    Broken,
    /// The tool was stopped from outside.
    Interrupted,
    /// Something else; `raw` has the provider's word.
    Other,
}

/// The outcome of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Success.
    Success,
    /// Failure; the result has the reason.
    Failed,
    /// The arguments or the name made no sense.
    Invalid,
    /// A rule or a person refused it.
    Denied,
    /// A limit refused it: of the run, or of how many agents there may be.
    Refused,
    /// Stopped because it took too long.
    TimedOut,
    /// The tool was stopped from outside.
    Interrupted,
    /// The program died while it ran: it may or may not have had its effect.
    Unknown,
}

/// The channel of a piece of tool output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutputChannel {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// A note about its progress.
    Progress,
}

/// Arguments of a tool call that are not JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InvalidInput {
    /// The arguments as the model wrote them.
    pub raw: String,
    /// The error.
    pub error: String,
}
