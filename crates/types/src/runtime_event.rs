//! RuntimeEvents: the meaning of EnvironmentEvents for the system. They are derived, never the stored truth,
//! and serve UIs, logs and monitors. Each has exactly one emitter, named in the doc of its variant.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::vocabulary::{payloads, present, vocabulary};
use crate::{
    AgentStateId, ApprovalRequested, ApprovalSettled, AssistantMessageAdded, Chunk, Closed, CommandFinished,
    ContentPart, ContextChanged, Eof, ErrorRaised, InputMode, LeftRunning, LoopDetected, MessageId,
    OutputChannel, OwnerId, Prices, RunFinished, RunStarted, RunStatusChanged, SessionId, StopReason,
    ToolCallId, ToolCallMessageAdded, ToolResultMessageAdded, ToolStatus, TurnRequest, TurnResponse, Usage,
    UserMessageAdded,
};

vocabulary! {
    /// The meaning of an EnvironmentEvent for the system.
    pub enum RuntimeEvent {
        /// StreamReceptor: a model begins an answer.
        MessageStart = "message_start",
        /// StreamReceptor: the provider lets another model continue the answer.
        FallbackAnswers = "fallback_answers",
        /// StreamReceptor: words of the answer.
        TextDelta = "text_delta",
        /// StreamReceptor: words of the reasoning.
        ThinkingDelta = "thinking_delta",
        /// StreamReceptor: the model asks for a tool.
        ToolCallRequested = "tool_call",
        /// StreamReceptor: the model will read this about its call.
        ToolCallAnswered = "tool_result",
        /// StreamReceptor: the answer has ended.
        MessageStop = "message_stop",
        /// StreamReceptor: a run was stopped from outside.
        RunInterrupted = "interrupted",
        /// ToolReceptor: the model has begun to ask for a tool.
        ToolPlanned = "tool_planned",
        /// ToolReceptor: the tool runs.
        ToolExecuting = "tool_executing",
        /// ToolReceptor: the tool writes output while it runs.
        ToolOutput = "tool_output",
        /// ToolReceptor: the tool succeeded.
        ToolCompleted = "tool_completed",
        /// ToolReceptor: the tool failed.
        ToolFailed = "tool_failed",
        /// ToolReceptor: a command in the background has ended.
        JobFinished = "job_finished",
        /// ToolReceptor: a command that a person ran outside the conversation has ended.
        CommandFinished = "command_finished",
        /// ConversationReceptor: an input waits.
        ConversationQueued = "conversation_queued",
        /// ConversationReceptor: a queued input was taken back, or got another mode.
        ConversationRevised = "conversation_revised",
        /// ConversationReceptor: an input is taken up.
        ConversationStart = "conversation_start",
        /// ConversationReceptor: the model was called.
        ConversationThinking = "conversation_thinking",
        /// ConversationReceptor: the first words of an answer.
        ConversationResponding = "conversation_responding",
        /// ConversationReceptor: the last answer was given.
        ConversationEnd = "conversation_end",
        /// ConversationReceptor: the run was stopped.
        ConversationInterrupted = "conversation_interrupted",
        /// AgentReceptor: an agent exists.
        AgentStarted = "agent_started",
        /// AgentReceptor: an agent takes input.
        AgentReady = "agent_ready",
        /// AgentReceptor: an agent is gone.
        AgentDestroyed = "agent_destroyed",
        /// SessionReceptor: a session begins.
        SessionCreated = "session_created",
        /// SessionReceptor: a session continues in another process.
        SessionResumed = "session_resumed",
        /// SessionReceptor: title or configuration changed.
        SessionUpdated = "session_updated",
        /// SessionReceptor: the session continues from another one.
        ForkCreated = "session_forked",
        /// SessionReceptor: the session is over.
        SessionDeleted = "session_deleted",
        /// TransportReceptor: a transport is up.
        ConnectionEstablished = "connection_established",
        /// TransportReceptor: a transport is down.
        ConnectionLost = "connection_lost",
        /// TransportReceptor: the connection will be tried again.
        Reconnecting = "reconnecting",
        /// TransportReceptor: a sign of life.
        Heartbeat = "heartbeat",
        /// ErrorReceptor: something went wrong.
        ErrorRaised = "error",
        /// AgentBridge: a run begins.
        RunStarted = "run_started",
        /// AgentBridge: a run is in another state.
        RunStatusChanged = "run_status",
        /// AgentBridge: a run has ended.
        RunFinished = "run_finished",
        /// AgentBridge: the part of the conversation that a model reads changes, or could not be changed.
        ContextChanged = "context_changed",
        /// AgentBridge: an agent repeats itself.
        LoopDetected = "loop_detected",
        /// AgentBridge: a person has to decide about a call.
        ApprovalRequested = "approval_requested",
        /// AgentBridge: the question about a call that a tool wants to make is answered.
        ApprovalSettled = "approval_settled",
        /// AgentBridge: a whole piece of an agent's output stream, one medium at a time.
        Chunk = "chunk",
        /// AgentBridge: an agent's output stream for this input has ended.
        Eof = "eof",
        /// AgentBridge: an agent's output stream has finally ended.
        Closed = "closed",
        /// AgentBridge, Message layer: an input joined the conversation.
        UserMessageAdded = "user_message",
        /// AgentBridge, Message layer: the model's answer, whole.
        AssistantMessageAdded = "assistant_message",
        /// AgentBridge, Message layer: the calls in that answer, for readers that follow only tools.
        ToolCallMessageAdded = "tool_call_message",
        /// AgentBridge, Message layer: the outcome of a call joined the conversation.
        ToolResultMessageAdded = "tool_result_message",
        /// AgentBridge, Turn layer: a person's request.
        TurnRequest = "turn_request",
        /// AgentBridge, Turn layer: the answer to it, with its cost.
        TurnResponse = "turn_response",
    }
}

/// A change of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionChange {
    /// The session's title.
    Title(String),
    /// The named part of its agent's configuration.
    Config(String),
    /// A part of its conversation is represented by a summary.
    Condensed,
    /// A change of the session's driver.
    Wheel(crate::WheelChanged),
    /// The role of a person changed.
    Access(crate::AccessChanged),
}

payloads! {
    /// The provider lets another model continue the answer.
    FallbackAnswers {
        /// The answer's id.
        message_id: MessageId,
        /// The model that answers from now on, as the provider names it.
        model: String,
        /// The prices; absent if the catalog does not know the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prices: Option<Box<Prices>>,
    }
    /// A model begins an answer.
    MessageStart {
        /// The answer's id.
        message_id: MessageId,
        /// The model as the provider names it.
        model: String,
        /// The number of the attempt, from 1.
        attempt: u32,
    }
    /// Words of the answer.
    TextDelta {
        /// The text as it arrived.
        text: String,
    }
    /// Words of the reasoning.
    ThinkingDelta {
        /// The text as it arrived.
        text: String,
    }
    /// The model asks for a tool.
    ToolCallRequested {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
        /// The arguments.
        input: Value,
    }
    /// The model will read this about its call.
    ToolCallAnswered {
        /// The call.
        tool_call_id: ToolCallId,
        /// The text that the model reads.
        result: Vec<ContentPart>,
        /// Whether as a failure.
        is_error: bool,
    }
    /// The answer has ended.
    MessageStop {
        /// The answer's id.
        message_id: MessageId,
        /// The reason.
        stop_reason: StopReason,
        /// The tokens of the call.
        usage: Usage,
    }
    /// A run was stopped from outside.
    RunInterrupted {
        /// The reason.
        reason: String,
    }
    /// The model has begun to ask for a tool.
    ToolPlanned {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
    }
    /// The tool runs.
    ToolExecuting {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
        /// The arguments.
        input: Value,
    }
    /// The tool writes output while it runs.
    ToolOutput {
        /// The call.
        tool_call_id: ToolCallId,
        /// The channel of the output.
        channel: OutputChannel,
        /// The output.
        text: String,
    }
    /// The tool succeeded.
    ToolCompleted {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
        /// Milliseconds that it ran; 0 if it never ran.
        duration_ms: u64,
        /// For people and programs: exit code, diff, …
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        details: Option<Value>,
    }
    /// The tool failed.
    ToolFailed {
        /// The call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
        /// The outcome.
        status: ToolStatus,
        /// The beginning of the text for the model.
        error: String,
        /// Milliseconds that it ran; 0 if it never ran.
        duration_ms: u64,
        /// For people and programs.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        details: Option<Value>,
    }
    /// A command in the background has ended by itself, or because a person ended it.
    JobFinished {
        /// The job's name in the session.
        job: String,
        /// The command line, shortened if it is long.
        command: String,
        /// The outcome as text: `exit 0, 3.20 s`.
        how: String,
    }
    /// An input waits.
    ConversationQueued {
        /// The input.
        message_id: MessageId,
        /// The number of waiting inputs with mode `queue`, including this one.
        position: u32,
    }
    /// A queued input was taken back, or got another mode.
    ConversationRevised {
        /// The input.
        message_id: MessageId,
        /// The new mode; absent if the input is taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<InputMode>,
    }
    /// An input is taken up.
    ConversationStart {
        /// The input, if a person gave it.
        message_id: MessageId,
    }
    /// The model was called.
    ConversationThinking {}
    /// The first words of an answer.
    ConversationResponding {}
    /// The last answer was given.
    ConversationEnd {
        /// The last stop reason or the code of the error.
        reason: String,
    }
    /// Stopped.
    ConversationInterrupted {
        /// The reason.
        reason: String,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// An agent exists.
    AgentStarted {
        /// The name shown to people.
        name: String,
        /// The agent that made it; absent for the one that people talk to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<AgentStateId>,
        /// Whether it gives each input to one of its agents.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        routes: bool,
    }
    /// An agent takes input.
    AgentReady {}
    /// An agent is gone.
    AgentDestroyed {
        /// The reason.
        reason: String,
    }
    /// A session begins.
    SessionCreated {
        /// The model it begins with.
        model: String,
        /// The directory it works in.
        workspace: String,
    }
    /// A session continues in another process.
    SessionResumed {
        /// The number of its writers so far.
        epoch: u64,
        /// Commands that the previous process left running and this one ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ended: Vec<LeftRunning>,
    }
    /// Title or configuration changed.
    SessionUpdated {
        /// The change.
        change: SessionChange,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// The session continues from another one.
    ForkCreated {
        /// The other one.
        parent: SessionId,
        /// The last event that both have.
        at_seq: u64,
    }
    /// The session is over.
    SessionDeleted {
        /// The reason.
        reason: String,
    }
    /// A transport is up.
    ConnectionEstablished {
        /// The other side, without secrets.
        endpoint: String,
    }
    /// A transport is down.
    ConnectionLost {
        /// The address.
        endpoint: String,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
    /// The attempt will be repeated.
    Reconnecting {
        /// The other side, without secrets.
        endpoint: String,
        /// Milliseconds until then.
        retry_in_ms: u64,
    }
    /// A sign of life.
    Heartbeat {}
}
