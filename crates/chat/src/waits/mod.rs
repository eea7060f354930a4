//! Work that waits for a time: sessions whose agent waits (`agentx waits`), and prompts that run at set times
//! (`agentx schedule`).
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

use std::path::PathBuf;

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
}

impl WantedRun {
    /// Continues a session.
    fn of_session(session: &str) -> Self {
        Self {
            words: ["--quiet", "--session", session].map(str::to_owned).to_vec(),
            workspace: None,
        }
    }
}
