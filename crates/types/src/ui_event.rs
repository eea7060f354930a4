//! The view `ui`: a small projection for simple clients, with the names and payloads that NEXUS clients know, and the call
//! ids that theirs lacked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::vocabulary::{payloads, vocabulary};
use crate::{OwnerId, ToolCallId};

vocabulary! {
    /// What a simple client shows.
    pub enum UiEvent {
        /// A run begins.
        UiRunStarted = "run_started",
        /// A piece of the answer.
        UiTextChunk = "text_chunk",
        /// A tool runs.
        UiToolCallStarted = "tool_call_started",
        /// It has ended.
        UiToolCallFinished = "tool_call_finished",
        /// A person has to decide about a call.
        UiApprovalRequested = "approval_requested",
        /// A run has ended.
        UiRunFinished = "run_finished",
        /// Something went wrong.
        UiError = "error",
        /// A command was carried out.
        UiCommandResult = "command_result",
        /// Whose session it is and who looks at it; the first frame of a subscription.
        UiConnectionState = "connection_state",
    }
}

/// How a tool call ended, for simple clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UiToolStatus {
    /// It did what was asked.
    Success,
    /// It did not.
    Error,
}

payloads! {
    /// A run begins.
    UiRunStarted {
        /// Whose session it is.
        owner_key: OwnerId,
        /// What was said.
        user_input: String,
    }
    /// A piece of the answer.
    UiTextChunk {
        /// The words.
        chunk: String,
        /// `assistant`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<String>,
        /// Whether the answer ends here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_final: Option<bool>,
    }
    /// A tool runs.
    UiToolCallStarted {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Which tool.
        tool_name: String,
        /// With these arguments.
        args: Value,
    }
    /// It has ended.
    UiToolCallFinished {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Which tool.
        tool_name: String,
        /// How.
        status: UiToolStatus,
        /// What the model is told, as text.
        result: String,
    }
    /// A person has to decide about a call.
    UiApprovalRequested {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Which tool.
        tool_name: String,
        /// With these arguments.
        args: Value,
        /// Which rule or default asks.
        reason: String,
    }
    /// A run has ended.
    UiRunFinished {
        /// `completed`, `failed`, `timed_out` or `interrupted`.
        status: String,
    }
    /// Something went wrong.
    UiError {
        /// For people.
        message: String,
        /// More about it: its code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    }
    /// A command was carried out.
    UiCommandResult {
        /// Which.
        command: String,
        /// What came of it.
        result: UiResult,
    }
    /// What came of a command.
    UiResult {
        /// How.
        status: UiToolStatus,
        /// For people.
        message: String,
        /// For programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    }
    /// Whose session it is and who looks at it.
    UiConnectionState {
        /// Whether the reader has not said who they are.
        visitor: bool,
    }
}
