//! The programs that run beside a chat: commands in the background, and the one that the person runs.

pub mod jobs;
pub(super) mod shell;
pub(super) mod withheld_variables;

use agentx::config::Settings;

use crate::chat::programs::jobs::JobList;
use crate::chat::programs::shell::ShellCommand;
use crate::chat::programs::withheld_variables::WithheldNotice;
use crate::render::unheld_commands::UnheldNotice;

/// The programs that run beside a chat.
pub(crate) struct Programs {
    /// The commands in the background.
    pub(super) jobs: JobList,
    /// The running command of the person.
    pub(super) running: Option<ShellCommand>,
    /// The event of the latest command that the person ran.
    pub(super) recorded: Option<u64>,
    /// The notice about variables that commands do not get.
    pub(super) withheld: WithheldNotice,
    /// The notice about commands that nothing holds.
    pub(super) unheld: UnheldNotice,
}

impl Programs {
    /// Creates the list without any running program.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            jobs: JobList::default(),
            running: None,
            recorded: None,
            withheld: WithheldNotice::new(settings),
            unheld: UnheldNotice::default(),
        }
    }
}
