//! Errors of a schedule or its file.

use std::path::Path;

/// The reason why a schedule cannot be used, kept or run.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// The pattern is not a valid cron pattern.
    #[error("{pattern:?} is not a cron pattern: {what}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The mistake.
        what: String,
    },
    /// The pattern never matches.
    #[error("{pattern:?} matches no time of the next years")]
    Never {
        /// The pattern.
        pattern: String,
    },
    /// This machine does not know the time zone.
    #[error("this machine knows no time zone {zone:?}")]
    Zone {
        /// The zone.
        zone: String,
    },
    /// The name cannot be one of a schedule.
    #[error("{name:?} cannot be the name of a schedule: {what}")]
    Name {
        /// The name.
        name: String,
        /// The mistake.
        what: &'static str,
    },
    /// The prompt cannot be run.
    #[error("the prompt {what}")]
    Prompt {
        /// The mistake.
        what: String,
    },
    /// There is a schedule with this name.
    #[error("there is a schedule {0:?} already")]
    Exists(String),
    /// There is no schedule with this name.
    #[error("there is no schedule {0:?}")]
    NotFound(String),
    /// There are as many schedules as there may be.
    #[error("there are already {0} schedules, which is the maximum")]
    Full(usize),
    /// As many deliveries of webhooks wait as there may be.
    #[error("{0} deliveries of webhooks wait already, which is the maximum")]
    FullInbox(usize),
    /// Another process changes the file for too long.
    #[error("another process is changing {path}")]
    Busy {
        /// The file.
        path: String,
    },
    /// The file cannot be read or written, or has another content.
    #[error("{path}: {what}")]
    File {
        /// The file.
        path: String,
        /// The mistake.
        what: String,
    },
}

impl ScheduleError {
    /// An error of this file.
    pub(crate) fn file(path: &Path, what: impl std::fmt::Display) -> Self {
        Self::File {
            path: path.display().to_string(),
            what: what.to_string(),
        }
    }
}
