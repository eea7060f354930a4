//! Payloads of the RuntimeEvents that only the AgentBridge emits: they need the agent's own state. Runs,
//! approvals, the pieces of an output stream, the Message layer, the Turn layer.

use serde_json::Value;

use crate::vocabulary::{payloads, present};
use crate::{Medium, Message, MessageId, NanoUsd, RunId, RunStatus, ToolCallId, Usage};

payloads! {
    /// A run begins.
    RunStarted {
        /// The run.
        run_id: RunId,
        /// The input that it answers.
        message_id: MessageId,
    }
    /// A run is in another state.
    RunStatusChanged {
        /// The run.
        run_id: RunId,
        /// The status of the run.
        status: RunStatus,
        /// The number of times that the model was answered with tool results.
        iterations: u32,
    }
    /// A run has ended.
    RunFinished {
        /// The run.
        run_id: RunId,
        /// The new status.
        status: RunStatus,
        /// The reason, unless it is `completed`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The number of times that the model was answered with tool results.
        iterations: u32,
    }
    /// A person has to decide about a call.
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
        suggested: crate::Rule,
        /// For a question to a person: the JSON Schema of the answer. The note of an `approval` with `once`
        /// is the answer, as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        form: Option<Box<Value>>,
        /// Set if the call is a question of the model to the person: then the note of the approval is the
        /// answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Box<crate::AskedQuestion>>,
    }
    /// The question about a call that a tool wants to make is answered. For calls of the model, their own
    /// events report it.
    ApprovalSettled {
        /// The call.
        tool_call_id: ToolCallId,
        /// Whether the call may be made. If not, a person or a later rule denied it, or the run was stopped.
        allowed: bool,
    }
    /// A whole piece of an agent's output stream.
    Chunk {
        /// The medium.
        medium: Medium,
        /// The piece; if a script emitted something else than words, its JSON text.
        text: String,
        /// The value that a script emitted, if it is more than text.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        data: Option<Value>,
        /// The call whose tool emits it; absent if the agent itself does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<ToolCallId>,
    }
    /// The end of the answer to this input.
    Eof {
        /// The run that has ended.
        run_id: RunId,
    }
    /// The stream has finally ended.
    Closed {
        /// The reason.
        reason: String,
    }
    /// An input joined the conversation.
    UserMessageAdded {
        /// The message.
        message: Message,
    }
    /// The model's answer, whole.
    AssistantMessageAdded {
        /// The message.
        message: Message,
        /// Whether the stream broke off before its end.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    }
    /// The calls in an answer.
    ToolCallMessageAdded {
        /// The answer that they are in.
        message_id: MessageId,
        /// The calls.
        tool_call_ids: Vec<ToolCallId>,
    }
    /// The outcome of a call joined the conversation.
    ToolResultMessageAdded {
        /// The message.
        message: Message,
    }
    /// A person's request.
    TurnRequest {
        /// The run that answers the input.
        run_id: RunId,
        /// The text of the input.
        text: String,
    }
    /// The answer to it.
    TurnResponse {
        /// The run.
        run_id: RunId,
        /// The last answer, as text.
        text: String,
        /// Milliseconds from the start of the run to its end, without the time in which no program continued
        /// it or, from version 9 of the rules on, it waited for the answer of a person.
        duration_ms: u64,
        /// Tokens of all its model calls.
        usage: Usage,
        /// Money of all its model calls.
        cost: NanoUsd,
        /// The number of model calls.
        model_calls: u32,
    }
}
