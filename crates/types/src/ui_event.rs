//! The view `ui`: a small projection for simple clients, with the names and payloads that NEXUS clients know,
//! and the call ids that theirs lacked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::vocabulary::{payloads, vocabulary};
use crate::{OwnerId, ToolCallId};

vocabulary! {
    /// An event for a simple client.
    pub enum UiEvent {
        /// A run begins.
        UiRunStarted = "run_started",
        /// A piece of the answer.
        UiTextChunk = "text_chunk",
        /// A tool runs.
        UiToolCallStarted = "tool_call_started",
        /// The call has ended.
        UiToolCallFinished = "tool_call_finished",
        /// A person has to decide about a call.
        UiApprovalRequested = "approval_requested",
        /// A run has ended.
        UiRunFinished = "run_finished",
        /// Something went wrong.
        UiError = "error",
        /// A command was carried out.
        UiCommandResult = "command_result",
        /// The owner of the session and its reader; the first frame of a subscription.
        UiConnectionState = "connection_state",
    }
}

/// The outcome of a tool call, for simple clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UiToolStatus {
    /// The call succeeded.
    Success,
    /// The call failed.
    Error,
}

payloads! {
    /// A run begins.
    UiRunStarted {
        /// The owner of the session.
        owner_key: OwnerId,
        /// The text of the input.
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
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        tool_name: String,
        /// The arguments.
        args: Value,
    }
    /// The call has ended.
    UiToolCallFinished {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        tool_name: String,
        /// The outcome.
        status: UiToolStatus,
        /// The text for the model.
        result: String,
    }
    /// A person has to decide about a call.
    UiApprovalRequested {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        tool_name: String,
        /// The arguments.
        args: Value,
        /// The rule or default that asks.
        reason: String,
        /// Set if the call is a question of the model to the person: then the note of the approval is the
        /// answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Box<crate::AskedQuestion>>,
    }
    /// A run has ended.
    UiRunFinished {
        /// `completed`, `failed`, `timed_out` or `interrupted`.
        status: String,
    }
    /// Something went wrong.
    UiError {
        /// The message for people.
        message: String,
        /// More about it: its code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    }
    /// A command was carried out.
    UiCommandResult {
        /// The name of the command.
        command: String,
        /// The outcome.
        result: UiResult,
    }
    /// The outcome of a command.
    UiResult {
        /// The outcome.
        status: UiToolStatus,
        /// The message for people.
        message: String,
        /// The data for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    }
    /// The owner of the session and its reader.
    UiConnectionState {
        /// Whether the reader is anonymous.
        visitor: bool,
    }
}
