//! AgentOutputs: the output of an agent inside its own boundary, in four layers. Derived from
//! EnvironmentEvents by the agent's own machine; from outside only the AgentBridge reads them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

use crate::{
    ContextChange, LoopDetected, Medium, Message, MessageId, NanoUsd, Rule, RunId, StopReason, ToolCallId,
    ToolStatus, Usage,
};

/// An output of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "layer", content = "output", rename_all = "snake_case")]
pub enum AgentOutput {
    /// A piece of a message as it arrives.
    Stream(StreamOutput),
    /// The state of the agent.
    State(StateOutput),
    /// Whole messages.
    Message(MessageOutput),
    /// Request and answer.
    Turn(TurnOutput),
}

/// A piece of a message as it arrives.
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
        /// The text as it arrived.
        text: String,
    },
    /// Words of the reasoning.
    ThinkingDelta {
        /// The text as it arrived.
        text: String,
    },
    /// The model begins to ask for a tool.
    ToolUseStart {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
    },
    /// A piece of the arguments.
    InputJsonDelta {
        /// The call.
        tool_call_id: ToolCallId,
        /// JSON text.
        json: String,
    },
    /// The call is complete.
    ToolUseStop {
        /// The call.
        tool_call_id: ToolCallId,
        /// The arguments.
        input: Value,
    },
    /// The call was answered.
    ToolResult {
        /// The call.
        tool_call_id: ToolCallId,
        /// Whether as a failure.
        is_error: bool,
    },
    /// A tool of the agent emits output for listeners of the agent.
    Emitted {
        /// The call.
        tool_call_id: ToolCallId,
        /// The medium.
        medium: Medium,
        /// The words, or JSON text.
        text: String,
        /// The emitted value, if it is more than text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// The answer has ended.
    MessageStop {
        /// The reason.
        stop_reason: StopReason,
    },
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The input waits.
    Pending,
    /// The request to the model is being built.
    BuildingContext,
    /// The model was called.
    AwaitingLlm,
    /// A person has to decide.
    AwaitingApproval,
    /// Tools are running.
    AwaitingTool,
    /// The running actions are being stopped.
    Stopping,
    /// The run has its answer.
    Completed,
    /// The run failed.
    Failed,
    /// The run reached a limit.
    TimedOut,
    /// The run was stopped from outside.
    Interrupted,
}

impl RunStatus {
    /// Returns whether nothing more will happen in the run.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::TimedOut | Self::Interrupted
        )
    }
}

/// The state of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StateOutput {
    /// A run begins.
    RunStarted {
        /// The run.
        run_id: RunId,
        /// The id of the input.
        message_id: MessageId,
    },
    /// A run is in another state.
    RunStatus {
        /// The run.
        run_id: RunId,
        /// The status of the run.
        status: RunStatus,
        /// The number of times that the model was answered with tool results.
        iterations: u32,
    },
    /// A run has ended.
    RunFinished {
        /// The run.
        run_id: RunId,
        /// The new status.
        status: RunStatus,
        /// The reason.
        reason: Option<String>,
        /// The number of times that the model was answered with tool results.
        iterations: u32,
    },
    /// An input waits.
    InputQueued {
        /// The input.
        message_id: MessageId,
        /// The number of waiting inputs with mode `queue`, including this one.
        position: u32,
    },
    /// A person has to decide.
    ApprovalRequested {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
        /// The arguments.
        input: Value,
        /// The rule or default that asks.
        reason: String,
        /// The rule that `session` or `always` would keep.
        suggested: Rule,
        /// For a question to a person: the JSON Schema of the answer. The note of an `approval` with `once`
        /// is the answer, as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Box<Value>>,
        /// Set if the call is a question of the model to the person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Box<crate::AskedQuestion>>,
    },
    /// The agent repeats itself.
    LoopDetected(LoopDetected),
    /// The question about a call that a tool wants to make is answered.
    ApprovalSettled {
        /// The call.
        tool_call_id: ToolCallId,
        /// Whether it may be made.
        allowed: bool,
    },
    /// A tool is on its way.
    ToolStarted {
        /// The call.
        tool_call_id: ToolCallId,
    },
    /// A tool has ended.
    ToolEnded {
        /// The call.
        tool_call_id: ToolCallId,
        /// The outcome.
        status: ToolStatus,
    },
    /// A model call was paid for.
    Spent {
        /// The model, as `provider/id`; in sessions with rules before version 9 only the id.
        model: String,
        /// Tokens of the call.
        usage: Usage,
        /// Money of the call.
        cost: NanoUsd,
    },
    /// The part of the conversation that the model reads changed.
    Context {
        /// The change.
        change: ContextChange,
    },
    /// The agent is gone.
    Closed {
        /// The reason.
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
        /// The run that answers the input.
        run_id: RunId,
        /// The text of the input.
        text: String,
    },
    /// The answer.
    Response {
        /// The run.
        run_id: RunId,
        /// The last answer.
        text: String,
        /// Milliseconds in which the run was worked on: not those in which no program continued it or, from
        /// version 9 of the rules on, it waited for the answer of a person.
        duration_ms: u64,
        /// Tokens of all its model calls.
        usage: Usage,
        /// Money of all its model calls.
        cost: NanoUsd,
        /// The number of model calls.
        model_calls: u32,
    },
}
