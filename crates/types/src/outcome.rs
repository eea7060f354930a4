//! Small closed sets in facts: the mode of an input, a person's decision, why a model stopped, how a tool
//! call ended.

use serde::{Deserialize, Serialize};

use crate::{ActionId, ToolCallId};

/// When the agent handles an input.
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

/// Processes of a command that outlived the program that ran it, which the next program that opens the
/// session ends; or a command in the background that ended with its program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftRunning {
    /// The call that was cut off; absent if the call had ended and this continued in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The name of the first program, as the system shows it, or `!` and the command that a person ran; the
    /// beginning of the command line of one that ended with its program.
    pub program: String,
    /// The number of its processes; 0 for a command that ended with its program.
    pub processes: u32,
}

/// The output of a call before the end of its program cut it off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutOffOutput {
    /// The action that started the call.
    pub action_id: ActionId,
    /// The end of the recorded output, as a terminal would show it: 16 KiB at most.
    pub text: String,
    /// The number of bytes before `text` that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
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
