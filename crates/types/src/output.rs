//! AgentOutputs: what an agent says inside its own boundary, in four layers. Derived from EnvironmentEvents by the
//! agent's own machine; from outside only the AgentBridge reads them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

use crate::{
    ContextChange, Medium, Message, MessageId, NanoUsd, Rule, RunId, StopReason, ToolCallId, ToolStatus,
    Usage,
};

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "layer", content = "output", rename_all = "snake_case")]
pub enum AgentOutput {
    /// As it arrives.
    Stream(StreamOutput),
    /// What the agent is doing.
    State(StateOutput),
    /// Whole messages.
    Message(MessageOutput),
    /// Request and answer.
    Turn(TurnOutput),
}

/// As it arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamOutput {
    /// A model begins an answer.
    MessageStart {
        /// The answer's id.
        message_id: MessageId,
    },
    /// Words of the answer.
    TextDelta {
        /// As they came.
        text: String,
    },
    /// Words of the reasoning.
    ThinkingDelta {
        /// As they came.
        text: String,
    },
    /// The model begins to ask for a tool.
    ToolUseStart {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Which tool.
        name: String,
    },
    /// A piece of the arguments.
    InputJsonDelta {
        /// Which call.
        tool_call_id: ToolCallId,
        /// JSON text.
        json: String,
    },
    /// The call is whole.
    ToolUseStop {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Its arguments.
        input: Value,
    },
    /// The call was answered.
    ToolResult {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Whether as a failure.
        is_error: bool,
    },
    /// A tool of the agent says something to whoever listens to the agent.
    Emitted {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Of which medium.
        medium: Medium,
        /// The words, or JSON text.
        text: String,
        /// What was emitted, where it is more than words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// The answer has ended.
    MessageStop {
        /// Why.
        stop_reason: StopReason,
    },
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Its input waits.
    Pending,
    /// What the model will read is put together.
    BuildingContext,
    /// The model was asked.
    AwaitingLlm,
    /// A person has to decide.
    AwaitingApproval,
    /// Tools run.
    AwaitingTool,
    /// What runs is being stopped.
    Stopping,
    /// It has its answer.
    Completed,
    /// It could not go on.
    Failed,
    /// It reached a limit.
    TimedOut,
    /// It was stopped from outside.
    Interrupted,
}

impl RunStatus {
    /// Whether nothing more will happen in the run.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::TimedOut | Self::Interrupted
        )
    }
}

/// What the agent is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StateOutput {
    /// A run begins.
    RunStarted {
        /// Which.
        run_id: RunId,
        /// Its input.
        message_id: MessageId,
    },
    /// A run is in another state.
    RunStatus {
        /// Which.
        run_id: RunId,
        /// Its state.
        status: RunStatus,
        /// How often the model was answered with tool results.
        iterations: u32,
    },
    /// A run has ended.
    RunFinished {
        /// Which.
        run_id: RunId,
        /// How.
        status: RunStatus,
        /// Why.
        reason: Option<String>,
        /// How often the model was answered with tool results.
        iterations: u32,
    },
    /// An input waits.
    InputQueued {
        /// Which.
        message_id: MessageId,
        /// How many wait.
        position: u32,
    },
    /// A person has to decide.
    ApprovalRequested {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Which tool.
        name: String,
        /// Its arguments.
        input: Value,
        /// Which rule or default asks.
        reason: String,
        /// The rule that `session` or `always` would keep.
        suggested: Rule,
    },
    /// What a person was asked about a call that a tool wants to make is settled.
    ApprovalSettled {
        /// Which call.
        tool_call_id: ToolCallId,
        /// Whether it may be made.
        allowed: bool,
    },
    /// A tool is on its way.
    ToolStarted {
        /// Which call.
        tool_call_id: ToolCallId,
    },
    /// A tool has ended.
    ToolEnded {
        /// Which call.
        tool_call_id: ToolCallId,
        /// How.
        status: ToolStatus,
    },
    /// A model call was paid for.
    Spent {
        /// Which model.
        model: String,
        /// Tokens of the call.
        usage: Usage,
        /// Money of the call.
        cost: NanoUsd,
    },
    /// What its model reads changes.
    Context {
        /// How.
        change: ContextChange,
    },
    /// The agent is gone.
    Closed {
        /// Why.
        reason: String,
    },
}

/// Whole messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessageOutput {
    /// An input joined the conversation.
    User {
        /// The message.
        message: Arc<Message>,
    },
    /// The model's answer.
    Assistant {
        /// The message.
        message: Arc<Message>,
        /// Whether the stream broke off.
        partial: bool,
    },
    /// The outcome of a call.
    ToolResult {
        /// The message.
        message: Arc<Message>,
    },
}

/// Request and answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnOutput {
    /// A person's request.
    Request {
        /// Which run answers it.
        run_id: RunId,
        /// What was said.
        text: String,
    },
    /// The answer.
    Response {
        /// Which run.
        run_id: RunId,
        /// The last answer.
        text: String,
        /// Milliseconds of the whole run.
        duration_ms: u64,
        /// Tokens of all its model calls.
        usage: Usage,
        /// Money of all its model calls.
        cost: NanoUsd,
        /// How many model calls.
        model_calls: u32,
    },
}
