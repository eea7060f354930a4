//! The ways in which a command ends.

use std::process::ExitStatus;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandEnd {
    /// By itself.
    Exited(ExitStatus),
    TimedOut,
    Interrupted,
    /// The output exceeded the limit.
    Flooded,
    /// Waiting for it failed.
    Lost,
}

impl CommandEnd {
    pub(super) fn is_exit(self) -> bool {
        matches!(self, Self::Exited(_))
    }
}
