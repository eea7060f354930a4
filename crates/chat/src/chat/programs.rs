//! The programs that run beside a chat: commands in the background, and the one that the person runs.

use agentx::config::Settings;

use super::jobs::JobList;
use super::shell::ShellCommand;
use super::withheld_variables::WithheldNotice;

/// The programs that run beside a chat.
pub(crate) struct Programs {
    /// Commands in the background.
    pub(super) jobs: JobList,
    /// The command of the person's own that runs.
    pub(super) running: Option<ShellCommand>,
    /// The event that records the command that the person ran last here.
    pub(super) recorded: Option<u64>,
    /// What commands go without.
    pub(super) withheld: WithheldNotice,
}

impl Programs {
    /// Nothing runs.
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            jobs: JobList::default(),
            running: None,
            recorded: None,
            withheld: WithheldNotice::new(settings),
        }
    }
}
