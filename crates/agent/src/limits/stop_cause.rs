//! The cause for which a run stops, and how far the log knows it.

use agentx_types::RunStatus;
use serde::{Deserialize, Serialize};

use crate::limits::ReachedLimit;

/// The cause of a stop. The first cause counts: later ones change nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopCause {
    /// The final status of the run: `interrupted`, `failed` or `timed_out`.
    pub status: RunStatus,
    /// The stable code for programs, such as `time_limit`; empty for an interrupt.
    pub code: String,
    /// The message for people, and for the model in the results of calls that were not run.
    pub message: String,
    /// The progress of recording the cause.
    pub record: StopRecord,
}

/// The progress of recording the cause of a stop. A run ends only once the log has its reason, so that a
/// replay ends it in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRecord {
    /// Only the agent knows the reason: a report is due once nothing is open.
    Due,
    /// The agent requested the report as an action. If the process dies now, the next one requests it again.
    Asked,
    /// The log has it; the run may end.
    Made,
}

impl StopCause {
    /// A stop from outside: a person, an agent above, or the end of the agent.
    pub(crate) fn interrupt(reason: &str) -> Self {
        Self {
            status: RunStatus::Interrupted,
            code: String::new(),
            message: reason.to_owned(),
            record: StopRecord::Due,
        }
    }

    /// A stop because the run cannot continue. `code` is for programs, `message` for people.
    pub(crate) fn error(status: RunStatus, code: &str, message: &str) -> Self {
        Self {
            status,
            code: code.to_owned(),
            message: message.to_owned(),
            record: StopRecord::Due,
        }
    }

    /// A stop because the run reached a limit. It ends as `timed_out` for every limit.
    pub(crate) fn limit(limit: &ReachedLimit) -> Self {
        Self::error(RunStatus::TimedOut, limit.code, &limit.message)
    }

    /// Returns this cause as recorded: a fact of the log has it already, so no report is needed.
    pub(crate) fn on_record(mut self) -> Self {
        self.record = StopRecord::Made;
        self
    }
}
