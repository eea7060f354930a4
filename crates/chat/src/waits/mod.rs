//! What waits for a time: sessions whose agent waits (`agentx waits`), and prompts that are run at set times
//! (`agentx schedule`).
//!
//! Both are continued by a watch ([`watch()`]): it looks for what is due and has each run done by the program, one after
//! another, with the words of `agentx run`. So a run that nobody started may do what `agentx run` may do without a
//! person, and nothing more. Whoever has the lease of a session, or the turn of a schedule, is the one that runs it:
//! several watches do nothing twice.

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

/// A run that a watch wants, as `agentx run` is told of it.
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
