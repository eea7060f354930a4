//! The words of OpenHands' logs, each with its equivalent in AgentX. A test checks that the tables in
//! `docs/OPENHANDS.md` are generated from this file.
//!
//! Upstream: `openhands/core/schema/{action,observation,agent}.py` of All-Hands-AI/OpenHands (V0), and
//! `openhands-sdk/openhands/sdk/event/` of OpenHands/software-agent-sdk (V1).

/// The part of an imported session that a word of a log becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordRole {
    /// A part of the agent's configuration: the system prompt and the tools.
    Configuration,
    /// An input of a run: `user_message`.
    Input,
    /// An answer of the model without a call: `stream_start` … `stream_end`.
    Answer,
    /// An answer of the model that calls a tool: `stream_start` … `tool_call` … `stream_end`.
    Call,
    /// A call that ends the run.
    LastCall,
    /// The outcome of a call: `tool_result`. Without an open call, an input from the environment.
    Outcome,
    /// A summary in place of a part of the conversation: `context_condensed`.
    Summary,
    /// The end of a stopped run: `interrupt_requested`, `interrupted`.
    Stop,
    /// The end of a failed run: `error`.
    Failure,
    /// The tokens and the cost of an answer: `usage`.
    Usage,
    /// No part: it is only counted by its name in the report.
    Counted,
}

impl WordRole {
    /// Returns the resulting facts, as the documentation names them.
    pub fn facts(self) -> &'static str {
        match self {
            Self::Configuration => "`session_opened`",
            Self::Input => "`user_message`",
            Self::Answer => "`stream_start`, `text_chunk`, `stream_end`",
            Self::Call => "`tool_call` in an answer, `action_started`",
            Self::LastCall => "`tool_call` of a tool that quits, `tool_result`",
            Self::Outcome => "`tool_result`",
            Self::Summary => "`context_condensed`",
            Self::Stop => "`interrupt_requested`, `interrupted`",
            Self::Failure => "`error`",
            Self::Usage => "`usage`",
            Self::Counted => "– (counted)",
        }
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordRow {
    /// The word in logs.
    pub word: &'static str,
    /// The part of the session that it becomes.
    pub role: WordRole,
    /// The equivalent in AgentX.
    pub here: &'static str,
}

macro_rules! words {
    ($(#[doc = $doc:literal])* $name:ident { $($variant:ident = $word:literal, $role:ident, $here:literal;)* }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $(
                #[doc = concat!("`", $word, "`: ", $here, ".")]
                $variant,
            )*
            /// A word that this table does not contain, unchanged.
            Unknown(String),
        }

        impl $name {
            /// One row per word, in upstream's order.
            pub const TABLE: &'static [WordRow] = &[
                $(WordRow { word: $word, role: WordRole::$role, here: $here },)*
            ];

            /// Reads a word. An unknown one is kept.
            pub fn read(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)*
                    other => Self::Unknown(other.to_owned()),
                }
            }

            /// Returns the word as logs have it.
            pub fn word(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Unknown(word) => word,
                }
            }

            /// Returns the part of the session that it becomes; `None` for an unknown word, which is judged
            /// by its event.
            pub fn role(&self) -> Option<WordRole> {
                match self {
                    $(Self::$variant => Some(WordRole::$role),)*
                    Self::Unknown(_) => None,
                }
            }
        }
    };
}

words! {
    /// The actions of V0 (`ActionType`): requests of an agent, a person or the controller.
    ActionType {
        Message = "message", Input, "a message of a person; one of the agent is an answer";
        System = "system", Configuration, "`AgentConfig::system_prompt` and `tools`";
        Start = "start", Counted, "a session is opened by its first input";
        Read = "read", Call, "the tool `read`";
        Write = "write", Call, "the tool `write`";
        Edit = "edit", Call, "the tool `edit`";
        Run = "run", Call, "the tool `bash`; of a person `!COMMAND`, fact `command_ran`";
        RunIpython = "run_ipython", Call, "the tool `bash` with `python3`";
        Browse = "browse", Call, "`browser_navigate`, which opens a page and reads it; `web_extract` without scripts";
        BrowseInteractive = "browse_interactive", Call, "`browser_click`, `browser_type` and the other tools of the browser";
        CallToolMcp = "call_tool_mcp", Call, "a tool of an MCP server";
        Delegate = "delegate", Call, "the tool `delegate`: `agent_spawned`, and the child's own run";
        Think = "think", Call, "reasoning: `thinking_chunk`; no tool";
        Finish = "finish", LastCall, "the answer that ends the run";
        Reject = "reject", LastCall, "the answer that ends the run";
        Null = "null", Counted, "nothing";
        Pause = "pause", Stop, "`Session::interrupt`";
        Resume = "resume", Counted, "the next input";
        Stop = "stop", Stop, "`Session::interrupt`";
        ChangeAgentState = "change_agent_state", Counted, "the state itself is observed: `agent_state_changed`";
        Push = "push", Call, "the tool `bash` with `git push`";
        SendPr = "send_pr", Call, "the tool `bash`";
        Recall = "recall", Counted, "instructions of files are part of the configuration; its observation is an input";
        Condensation = "condensation", Summary, "condensing: `Condense`, `ContextCondensed`";
        CondensationRequest = "condensation_request", Counted, "`CondenseRequested`";
        TaskTracking = "task_tracking", Call, "the tool `todo`";
        LoopRecovery = "loop_recovery", Counted, "a fork at the event before the loop";
    }
}

words! {
    /// The observations of V0 (`ObservationType`): outcomes of actions, and messages of the environment.
    ObservationType {
        Read = "read", Outcome, "the result of `read`";
        Write = "write", Outcome, "the result of `write`";
        Edit = "edit", Outcome, "the result of `edit`";
        Browse = "browse", Outcome, "the result of a call";
        Run = "run", Outcome, "the result of `bash`, with `exit_code`";
        RunIpython = "run_ipython", Outcome, "the result of `bash`";
        Chat = "chat", Input, "a message of a person";
        Delegate = "delegate", Outcome, "the result of `delegate`";
        Message = "message", Outcome, "an input that the environment gives";
        Error = "error", Outcome, "a result with the status `failed`";
        Success = "success", Outcome, "a result with the status `success`";
        Null = "null", Counted, "nothing";
        Think = "think", Outcome, "the result of a call";
        AgentStateChanged = "agent_state_changed", Counted, "the status of the run, see the states";
        UserRejected = "user_rejected", Outcome, "a result with the status `denied`";
        Condense = "condense", Outcome, "condensing; in a log an input that the environment gives";
        Recall = "recall", Outcome, "an input that the environment gives";
        Mcp = "mcp", Outcome, "the result of a tool of an MCP server";
        Download = "download", Outcome, "the result of a call";
        TaskTracking = "task_tracking", Outcome, "the result of a call";
        LoopDetection = "loop_detection", Stop, "`loop_detected` of the `StuckDetector`";
    }
}

words! {
    /// The states of V0's controller (`AgentState`).
    AgentState {
        Loading = "loading", Counted, "`pending`";
        Running = "running", Counted, "`building_context`, `awaiting_llm`, `awaiting_tool`";
        AwaitingUserInput = "awaiting_user_input", Counted, "no run: the last one is `completed`";
        Paused = "paused", Stop, "`interrupted`";
        Stopped = "stopped", Stop, "`interrupted`";
        Finished = "finished", Counted, "`completed`";
        Rejected = "rejected", Counted, "`completed`";
        Error = "error", Failure, "`failed`";
        AwaitingUserConfirmation = "awaiting_user_confirmation", Counted, "`awaiting_approval`";
        UserConfirmed = "user_confirmed", Counted, "`approval` with `once`";
        UserRejected = "user_rejected", Counted, "`approval` with `deny`";
        RateLimited = "rate_limited", Counted, "`awaiting_llm`; `attempt_failed` before it";
    }
}

words! {
    /// The events of V1, by their `kind`.
    EventKind {
        SystemPrompt = "SystemPromptEvent", Configuration, "`AgentConfig::system_prompt` and `tools`";
        Message = "MessageEvent", Input, "a message of a person; one of the agent is an answer";
        Action = "ActionEvent", Call, "a call; `finish` ends the run";
        Observation = "ObservationEvent", Outcome, "the result of a call";
        UserReject = "UserRejectObservation", Outcome, "a result with the status `denied`";
        AgentError = "AgentErrorEvent", Outcome, "a result with the status `failed`";
        Condensation = "Condensation", Summary, "`ContextCondensed`";
        CondensationRequest = "CondensationRequest", Counted, "`CondenseRequested`";
        CondensationSummary = "CondensationSummaryEvent", Input, "the summary within `ContextCondensed`";
        Pause = "PauseEvent", Stop, "`Session::interrupt`";
        Interrupt = "InterruptEvent", Stop, "`Session::interrupt`";
        StateUpdate = "ConversationStateUpdateEvent", Usage, "`usage` of the next answer; other keys are counted";
        ConversationError = "ConversationErrorEvent", Failure, "`error`: the run is `failed`";
        HookExecution = "HookExecutionEvent", Counted, "none: rules decide before a call";
        LlmCompletionLog = "LLMCompletionLogEvent", Counted, "`agentx context ID`, made of the facts";
        StreamingDelta = "StreamingDeltaEvent", Counted, "`text_chunk`; the whole answer is there too";
        Token = "TokenEvent", Counted, "no event has token ids";
        AcpToolCall = "ACPToolCallEvent", Call, "a call and its result in one";
    }
}

words! {
    /// The states of a V1 conversation (`ConversationExecutionStatus`).
    ExecutionStatus {
        Idle = "idle", Counted, "no run";
        Running = "running", Counted, "`building_context`, `awaiting_llm`, `awaiting_tool`";
        Paused = "paused", Counted, "`interrupted`: the event before it says so";
        WaitingForConfirmation = "waiting_for_confirmation", Counted, "`awaiting_approval`";
        Finished = "finished", Counted, "`completed`";
        Error = "error", Counted, "`failed`: the event before it says so";
        Stuck = "stuck", Counted, "`loop_detected`, `failed`";
        Deleting = "deleting", Counted, "`session_closed`";
    }
}

/// Every table with its title, in the order of the documentation.
pub const TABLES: [(&str, &[WordRow]); 5] = [
    ("Actions of V0", ActionType::TABLE),
    ("Observations of V0", ObservationType::TABLE),
    ("States of V0", AgentState::TABLE),
    ("Events of V1", EventKind::TABLE),
    ("States of V1", ExecutionStatus::TABLE),
];

/// Returns the tables as Markdown, as `docs/OPENHANDS.md` has them.
pub fn markdown() -> String {
    let mut text = String::new();
    for (title, rows) in TABLES {
        text.push_str(&format!(
            "### {title}\n\n| word | here | facts of an import |\n| --- | --- | --- |\n"
        ));
        for row in rows {
            text.push_str(&format!(
                "| `{}` | {} | {} |\n",
                row.word,
                row.here,
                row.role.facts()
            ));
        }
        text.push('\n');
    }
    text
}
