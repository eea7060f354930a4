//! The kinds of actions and the purposes of timers. Facts name them, while an action holds content of facts,
//! so they are apart from the actions.

use serde::{Deserialize, Serialize};

/// The kinds of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    /// Ask the model.
    CallModel,
    /// Ask a model for a summary of a range of the conversation.
    Condense,
    /// Build the context of a source for a run.
    BuildContext,
    /// Assess the risk of a call.
    AssessRisk,
    /// Have a model propose what to remember.
    ProposeMemories,
    /// Run a tool.
    CallTool,
    /// Answer a tool call without running anything.
    AnswerCall,
    /// Hold an answer against its schema.
    CheckAnswer,
    /// Wake the agent later.
    StartTimer,
    /// Stop a running action.
    Cancel,
    /// Tell a running tool whether its nested call is allowed.
    DecideInnerCall,
    /// Record why the run ends, or that another model continues it.
    Report,
    /// Make another agent.
    SpawnAgent,
    /// Send an input to another agent.
    SendInput,
    /// Stop another agent.
    InterruptAgent,
    /// End another agent.
    CloseAgent,
    /// An action of a newer version, in a log.
    Unknown,
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// The run's wall time is used up.
    RunLimit,
    /// A sign of life is due.
    Heartbeat,
    /// A wait of the model is over.
    Wait,
    /// A reminder of the person is due.
    Reminder,
    /// Something of a newer version, in a log.
    Unknown,
}
