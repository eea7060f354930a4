//! EnvironmentEvents: the facts that came from outside. A session log holds nothing else.
//!
//! Rules of a model's stream: it is between one `stream_start` and one `stream_end`. A chunk belongs to the
//! open part; a part ends when a chunk of another kind, a `provider_part` with `attach: false`, a tool call
//! or a `part_end` arrives. A `provider_part` with `attach: true` belongs to the part before it.

use std::sync::Arc;

use serde_json::Value;

use crate::vocabulary::{payloads, present, vocabulary};
use crate::{
    AccessChanged, ActionKind, AgentClosed, AgentConfig, AgentSpawned, AnswerSchema, ApprovalDecision,
    AttemptFailed, CommandRan, CondenseRequested, CondensingFailed, ConfigChange, ContentPart, ContextBuilt,
    ContextCondensed, ContextRestored, EffectEnded, EffectStarted, FilesRestored, FilesRestoring,
    InnerCallAsked, InputMode, InputPinned, InputRevised, InterruptRequested, InvalidInput, MemoriesProposed,
    MessageId, OutputChannel, OwnerId, Prices, RequestRecorded, RiskAssessed, Rule, SessionForked,
    SessionImported, SessionRedacted, StopReason, SystemCommand, Timer, Timestamp, ToolCallId, ToolStatus,
    Usage, WheelChanged, WriterAttached,
};

vocabulary! {
    /// An event from outside: from people, models, tools, transports, clocks or the system.
    pub enum EnvironmentEvent {
        /// A person sends an input.
        UserMessage = "user_message",
        /// A person wants to stop the run.
        InterruptRequested = "interrupt_requested",
        /// A person takes back a queued input, or gives it another mode.
        InputRevised = "input_revised",
        /// A person decides about a tool call.
        Approval = "approval",
        /// A person gives the system a command.
        SystemCommand = "system_command",
        /// A model begins to answer.
        StreamStart = "stream_start",
        /// Words of the answer.
        TextChunk = "text_chunk",
        /// Words of the model's reasoning.
        ThinkingChunk = "thinking_chunk",
        /// The open part ends: the next chunk of the same kind begins a new part.
        PartEnd = "part_end",
        /// A model begins to ask for a tool; the arguments follow.
        ToolCallStart = "tool_call_start",
        /// A piece of the arguments, as text.
        ToolCallChunk = "tool_call_chunk",
        /// A model asks for a tool: the whole call.
        ToolCall = "tool_call",
        /// Something that only the provider understands.
        ProviderPart = "provider_part",
        /// The tokens of the call so far; a later one replaces an earlier one of the same stream.
        UsageReport = "usage",
        /// The provider lets another model continue the answer.
        ModelFellBack = "model_fell_back",
        /// A model did not answer: the next one of the agent's fallbacks is asked.
        FallbackAsked = "fallback_asked",
        /// A model has ended its answer.
        StreamEnd = "stream_end",
        /// An answer was checked against the run's answer schema.
        AnswerChecked = "answer_checked",
        /// An attempt to call a model failed.
        AttemptFailed = "attempt_failed",
        /// An action is about to be performed: written before any of its effects.
        ActionStarted = "action_started",
        /// Output of a tool while it runs.
        ToolOutputChunk = "tool_output_chunk",
        /// A running call begins a step that touches the world: written before any of its effects.
        EffectStarted = "effect_started",
        /// A step of a running call has ended.
        EffectEnded = "effect_ended",
        /// Recorded before a running call makes a nested call that a person may have to decide about.
        InnerCallAsked = "inner_call_asked",
        /// The outcome of a tool call: one for each call.
        ToolResult = "tool_result",
        /// A command that a call left running in the background has ended by itself.
        JobEnded = "job_ended",
        /// A command that a person ran outside the conversation has ended.
        CommandRan = "command_ran",
        /// A client's request was carried out: sent again with the same key, it is not carried out again.
        RequestRecorded = "request_recorded",
        /// A transport is up.
        Connected = "connected",
        /// A transport is down.
        Disconnected = "disconnected",
        /// A timer is due.
        TimerFired = "timer_fired",
        /// A session begins.
        SessionOpened = "session_opened",
        /// A process became the session's writer. All earlier work has ended.
        WriterAttached = "writer_attached",
        /// The session continues from a point in another one.
        SessionForked = "session_forked",
        /// The session was read from a document up to here.
        SessionImported = "session_imported",
        /// The session has a title.
        SessionTitled = "session_titled",
        /// Texts were taken out of the session: the named events are stored without them.
        SessionRedacted = "session_redacted",
        /// Another person drives.
        WheelChanged = "wheel_changed",
        /// A person may do more or less than before.
        AccessChanged = "access_changed",
        /// Files are about to be restored: recorded before any of them is touched.
        FilesRestoring = "files_restoring",
        /// Files were put back.
        FilesRestored = "files_restored",
        /// The session is over.
        SessionClosed = "session_closed",
        /// The agent's configuration changes.
        ConfigChanged = "config_changed",
        /// An agent comes into being.
        AgentSpawned = "agent_spawned",
        /// An agent is gone.
        AgentClosed = "agent_closed",
        /// A person pins or unpins an input for condensing.
        InputPinned = "input_pinned",
        /// A person requests that the conversation be condensed.
        CondenseRequested = "condense_requested",
        /// A service has built context for a run, or could not.
        ContextBuilt = "context_built",
        /// An analyzer has assessed the risk of a call.
        RiskAssessed = "risk_assessed",
        /// A model was asked what to remember of a part of the conversation.
        MemoriesProposed = "memories_proposed",
        /// A range of the conversation is represented by a summary.
        ContextCondensed = "context_condensed",
        /// A summary failed.
        CondensingFailed = "condensing_failed",
        /// A range that was condensed is again as it was.
        ContextRestored = "context_restored",
        /// A run was stopped from outside.
        Interrupted = "interrupted",
        /// Something went wrong that ends the run. Data, not an exception.
        ErrorOccurred = "error",
    }
}

payloads! {
    /// A person sends an input.
    UserMessage {
        /// Unique in the session.
        message_id: MessageId,
        /// The content of the message.
        content: Vec<ContentPart>,
        /// The time at which the agent handles it.
        #[serde(default)]
        mode: InputMode,
        /// Identifies the message: one that is sent again with the same key is not recorded twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
        /// The schema of the answer to it, if it is one that opens a run; one that joins a run changes
        /// nothing there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_schema: Option<Arc<AnswerSchema>>,
    }
    /// An answer was checked against the run's answer schema. The `cause` is the action that wanted it.
    AnswerChecked {
        /// The number of the answer in its run, from 1.
        attempt: u32,
        /// The validator's messages, each with its place, at most 5; empty if the answer fits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
        /// Whether the schema itself cannot be used: no answer will ever fit. `problems` has the reason.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        invalid_schema: bool,
    }
    /// A person decides about a tool call.
    Approval {
        /// The call.
        tool_call_id: ToolCallId,
        /// The decision.
        decision: ApprovalDecision,
        /// A word to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// For `session` and `always`: the rule that is kept. For `deny`: the rule that closed the question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<Box<Rule>>,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
        /// Whether they may not decide for the operator of the server: then the decision allows nothing that
        /// the server's settings ask about, and keeps no rule.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        limited: bool,
    }
    /// A model begins to answer.
    StreamStart {
        /// The provider's id of the answer, or one made from the action's id.
        message_id: MessageId,
        /// The model as the provider names it.
        model: String,
        /// The number of the attempt, from 1.
        attempt: u32,
    }
    /// Words of the answer.
    TextChunk {
        /// The text as it arrived.
        text: String,
    }
    /// Words of the model's reasoning.
    ThinkingChunk {
        /// The text as it arrived.
        text: String,
    }
    /// The open part ends.
    PartEnd {}
    /// A model begins to ask for a tool.
    ToolCallStart {
        /// The model's name for this call.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
    }
    /// A piece of the arguments.
    ToolCallChunk {
        /// The call.
        tool_call_id: ToolCallId,
        /// A piece of JSON text.
        json: String,
    }
    /// A model asks for a tool.
    ToolCall {
        /// The model's name for this call, unique in the session.
        tool_call_id: ToolCallId,
        /// The tool's name.
        name: String,
        /// The arguments; `{}` if there were none or they are not JSON.
        input: Value,
        /// Set if the arguments are not JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invalid: Option<Box<InvalidInput>>,
    }
    /// Something that only the provider understands.
    ProviderPart {
        /// The API that it belongs to.
        api: String,
        /// Whether it belongs to the part before it; otherwise it is a separate part.
        attach: bool,
        /// The data as it arrived.
        data: Value,
    }
    /// The tokens of the call so far.
    UsageReport {
        /// Tokens since the stream began.
        usage: Usage,
    }
    /// The provider lets another model continue the answer: the tokens of the whole stream are paid at that
    /// model's prices.
    ModelFellBack {
        /// The model that answers from now on, as the provider names it.
        model: String,
        /// Its prices; absent if the catalog does not know it, and then the requested model's prices apply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prices: Option<Box<Prices>>,
    }
    /// A model did not answer, and the agent has fallback models: from now on the next of them is called,
    /// until the run ends. The envelope's `cause` is the action that requested it.
    FallbackAsked {
        /// The model that did not answer, as `provider/id`.
        from: String,
        /// The model that is asked from now on, as `provider/id`.
        to: String,
        /// The code of the failure, as in `error`.
        code: String,
        /// The words of the failure, for people.
        message: String,
    }
    /// A model has ended its answer.
    StreamEnd {
        /// The reason.
        stop_reason: StopReason,
        /// The provider's own word, if it is more precise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<String>,
    }
    /// An action is about to be performed. The envelope's `cause` is its id.
    ActionStarted {
        /// The kind of action.
        kind: ActionKind,
        /// The call, for tools and for a wait of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<ToolCallId>,
        /// The time at which a wait of the model ends: the next program that opens the session ends it then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due_at: Option<Timestamp>,
    }
    /// Output of a tool while it runs.
    ToolOutputChunk {
        /// The call.
        tool_call_id: ToolCallId,
        /// The channel of the output.
        channel: OutputChannel,
        /// The output; bytes that are not UTF-8 are replaced.
        text: String,
    }
    /// The outcome of a tool call.
    ToolResult {
        /// The call.
        tool_call_id: ToolCallId,
        /// The text for the model.
        result: Vec<ContentPart>,
        /// Whether the model should read it as a failure.
        is_error: bool,
        /// The outcome.
        status: ToolStatus,
        /// For people and programs, not for the model: exit code, diff, the blob with the whole output, the
        /// file as it was.
        #[serde(
            default,
            deserialize_with = "present",
            skip_serializing_if = "Option::is_none"
        )]
        details: Option<Value>,
    }
    /// A command that a call left running in the background has ended by itself. The envelope's `cause` is
    /// the call's action.
    JobEnded {
        /// Its name in the session, by which the model asks for its output.
        job: String,
        /// The command line, shortened if it is long.
        command: String,
        /// The outcome as text: `exit 0, 3.20 s`.
        how: String,
    }
    /// A transport is up.
    Connected {
        /// The address, without secrets.
        endpoint: String,
    }
    /// A transport is down.
    Disconnected {
        /// The address, without secrets.
        endpoint: String,
        /// The reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Milliseconds until the next attempt; `None` if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
    }
    /// A timer is due. The envelope's `cause` is the action that started it.
    TimerFired {
        /// The timer's purpose.
        timer: Timer,
    }
    /// A session begins. The envelope's `agent_state_id` is its first agent.
    SessionOpened {
        /// The owner.
        owner: OwnerId,
        /// The agent, resolved.
        config: Box<AgentConfig>,
        /// The program that opened it, with its version.
        program: String,
    }
    /// The session has a title.
    SessionTitled {
        /// The title shown in lists.
        title: String,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// The session is over.
    SessionClosed {
        /// The reason.
        reason: String,
    }
    /// The agent's configuration changes.
    ConfigChanged {
        /// The change.
        change: ConfigChange,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A run was stopped from outside.
    Interrupted {
        /// The reason.
        reason: String,
    }
    /// Something went wrong that ends the run.
    ErrorOccurred {
        /// The code for programs; it is stable.
        code: String,
        /// The message for people.
        message: String,
        /// Whether the session can continue.
        recoverable: bool,
    }
}
