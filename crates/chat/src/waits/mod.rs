//! Work that waits for a time: sessions whose agent waits (`agentx waits`), and prompts that run at set times
//! (`agentx schedule`) or because a webhook was called.
//!
//! A watch ([`watch()`]) continues both: it looks for due work and has the program do the runs one after
//! another, with the arguments of `agentx run`. So a run that nobody started may do what `agentx run` may do
//! without a person, and nothing more. Only the holder of a session's lease, or of a schedule's turn, runs
//! it, so several watches do nothing twice.

mod arguments;
mod due_schedules;
mod schedule_checks;
mod schedules;
mod server_watch;
mod sessions;
mod watch;
mod webhook_runs;

use std::path::PathBuf;

use agentx::types::SessionId;
use agentx_schedule::BegunRunRecord;

use crate::error::ChatError;
pub use arguments::{ScheduleArguments, ScheduleCommand, WaitsCommand};
pub use schedules::run_schedules;
pub use server_watch::{ServerEnd, ServerWatch};
pub use sessions::list_waits;
pub use watch::{WatchLimit, watch};

/// A run that a watch requests, in the terms of `agentx run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedRun {
    /// The words behind `agentx run`.
    pub words: Vec<String>,
    /// The directory of a new session; an existing one has its own.
    pub workspace: Option<PathBuf>,
    /// The record of the schedule whose run it is.
    pub record: Option<BegunRunRecord>,
}

impl WantedRun {
    /// Continues a session.
    fn of_session(session: &str) -> Self {
        Self {
            words: ["--quiet", "--session", session].map(str::to_owned).to_vec(),
            workspace: None,
            record: None,
        }
    }
}

/// Records the session of a run before it gets its prompt, if the run is that of a schedule.
///
/// # Errors
/// Returns an error if the file of the schedules cannot be changed.
pub fn note_session(record: Option<&BegunRunRecord>, session: &SessionId) -> Result<(), ChatError> {
    let noted = record.map_or(Ok(()), |record| record.note_session(session));
    noted.map_err(schedules::failed)
}
