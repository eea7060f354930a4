//! Loops of an agent that repeats itself: the settings of the detector, and the event for front ends.
//!
//! The detector itself (`StuckDetector`) is part of the machine, in agentx-agent.

use serde::{Deserialize, Serialize};

use crate::vocabulary::payloads;

/// The rules by which an agent counts as stuck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StuckMode {
    /// Nothing is detected.
    Off,
    /// Equal calls with equal results, counted with the thresholds of [`StuckSettings`].
    #[default]
    Calls,
    /// The rules and the fixed thresholds of OpenHands V0.
    V0,
}

/// The settings of the stuck detector. An agent without them is never stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct StuckSettings {
    /// The rules that apply.
    pub mode: StuckMode,
    /// Number of equal successful calls after which a note tells the model. At least 2.
    pub nudge_after: u32,
    /// Number of equal successful calls after which a person is asked, or the run is stopped.
    pub stop_after: u32,
    /// Number of equal failing calls after which a note tells the model. At least 2.
    pub nudge_after_errors: u32,
    /// Number of equal failing calls after which a person is asked, or the run is stopped.
    pub stop_after_errors: u32,
}

impl Default for StuckSettings {
    fn default() -> Self {
        Self {
            mode: StuckMode::Calls,
            nudge_after: 6,
            stop_after: 100,
            nudge_after_errors: 3,
            stop_after_errors: 8,
        }
    }
}

/// A kind of loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// The same call fails again and again with the same error.
    Error,
    /// The same call succeeds again and again with the same result.
    Repetition,
    /// The same few calls are made in turn, with the same results.
    Alternation,
    /// Calls with nearly the same arguments have the same result.
    NearRepetition,
    /// The same call fails again and again, each time in other words.
    ChangingError,
    /// The same call fails with the same error, with other calls in between.
    RecurringError,
    /// The model gives the same answer again and again and calls no tool.
    Monologue,
    /// The conversation is condensed again and again, and nothing new happens in between.
    ContextWindow,
    /// A kind from a newer version.
    Unknown,
}

/// The response to an agent that repeats itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopResponse {
    /// A note to the model, with its next input.
    Nudge,
    /// A person is asked about the next call of the loop.
    Question,
    /// The run is stopped: it fails with the code `stuck`.
    Stop,
    /// A response from a newer version.
    Unknown,
}

payloads! {
    /// An agent repeats itself.
    LoopDetected {
        /// The kind of loop.
        kind: LoopKind,
        /// The number of repetitions so far.
        times: u32,
        /// The tools of the calls that repeat, in their order; empty if the loop has no calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tools: Vec<String>,
        /// The action that follows.
        response: LoopResponse,
        /// The loop in a sentence, for people.
        message: String,
    }
}
