//! The single words of the small closed sets. The matches are exhaustive: a new variant does not compile
//! until it is here.

use agentx_types::wire::WireView;
use agentx_types::*;
use serde_json::{Value, json};

/// Lists a set of words with their Rust names; a variant that is missing is a compile error.
macro_rules! words {
    ($($set:ident { $($variant:ident),* $(,)? })*) => {
        /// One line per set: its name and its words, as written.
        pub(crate) fn words() -> Vec<Value> {
            vec![$({
                #[allow(dead_code, reason = "it is here to be exhaustive")]
                fn known(word: $set) {
                    match word { $($set::$variant => {})* }
                }
                let all = [$($set::$variant),*];
                for word in all {
                    assert_eq!(serde_json::from_value::<$set>(json!(word)).unwrap(), word);
                }
                json!({stringify!($set): all})
            }),*]
        }
    };
}

words! {
    Source { User, Agent, Environment, System }
    Role { System, User, Assistant, Tool }
    InputMode { Queue, Steer, Interrupt }
    ApprovalDecision { Once, Session, Always, Deny }
    StopReason {
        EndTurn, ToolUse, MaxTokens, StopSequence, PauseTurn, Refusal, ContextWindow, Broken, Interrupted, Other,
    }
    ToolStatus { Success, Failed, Invalid, Denied, Refused, TimedOut, Interrupted, Unknown }
    OutputChannel { Stdout, Stderr, Progress }
    ActionKind {
        CallModel, Condense, BuildContext, AssessRisk, ProposeMemories, CallTool, AnswerCall, CheckAnswer, StartTimer, Cancel, DecideInnerCall, Report, SpawnAgent, SendInput, InterruptAgent, CloseAgent, Unknown,
    }
    Timer { RunLimit, Heartbeat, Wait, Reminder, Unknown }
    AgentKind { React, Match, Unknown }
    ApprovalMode { Ask, AcceptEdits, Auto, Deny }
    AskUser { Decide, Wait }
    StuckMode { Off, Calls, V0 }
    LoopKind {
        Error, Repetition, Alternation, NearRepetition, ChangingError, RecurringError, Monologue, ContextWindow, Unknown,
    }
    LoopResponse { Nudge, Question, Stop, Unknown }
    RuleEffect { Allow, Ask, Deny }
    TextOrigin { Web, Unknown }
    SecurityRisk { Unknown, Low, Medium, High }
    JudgeDecision { Allow, Ask, Refuse }
    ConfirmationPolicy { Always, Never, Risky }
    VarKind { String, Int, Float, Bool }
    Api { Anthropic, OpenaiChat, OpenaiResponses, Gemini, GeminiInteractions, Bedrock, BedrockConverse, VertexAnthropic, Scripted, Unknown }
    InputMedium { Image, Audio, File }
    Access { Internal, Read, Change, Run, Network }
    RunStatus {
        Pending, BuildingContext, AwaitingLlm, AwaitingApproval, AwaitingTool, Stopping, Completed, Failed, TimedOut, Interrupted,
    }
    SessionRole { Watch, Approve, Drive, Own }
    WheelReason { Taken, HandedOver, Released, TimedOut }
    WireView { Environment, Runtime, Ui }
    UiToolStatus { Success, Error }
    WindowKind {
        SystemPrompt, Instructions, Tools, Summaries, Inputs, Answers, Reasoning, ToolCalls, ToolResults, Media, Opaque, Unknown,
    }
}
