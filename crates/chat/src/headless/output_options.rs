//! The form and the parts of a run's standard output, and how long a run waits.

use std::time::Duration;

use agentx::runtime::View;

/// The form of a run on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text of the answer, as it streams.
    Text,
    /// An object with the answer, its cost, and the error if there was one.
    Json,
    /// Every event as it arrives, one JSON object per line; the last line is the object of `json`.
    StreamJson,
}

/// The output that a run prints.
#[derive(Clone, Copy, Debug)]
pub struct OutputOptions {
    /// The form of the run on standard output.
    pub format: Format,
    /// The view of the events that are printed, if events are.
    pub view: View,
    /// Whether each line begins with the name of its agent.
    pub streams: bool,
    /// Whether progress is not reported.
    pub quiet: bool,
    /// Whether the answer is one JSON document, which is printed when the run has ended.
    pub typed: bool,
    /// The longest wait of the model for a time that the command waits for too; by default as long as the run
    /// may take, or 10 minutes.
    pub longest_wait: Option<Duration>,
}
