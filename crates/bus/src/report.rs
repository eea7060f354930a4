//! Reports of a set of reactors: values for the program, and the same as log lines for people.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

/// A reactor of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReactorId(pub(crate) u64);

/// The policy for a reactor that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Remove it.
    Never,
    /// Restarts the reactor at once, unless it was already restarted this many times within this period: then
    /// it is removed. It misses everything that was published between the failure and the restart.
    AtMost {
        /// The number of restarts.
        times: usize,
        /// The time span.
        within: Duration,
    },
}

/// A change of a reactor's state.
///
/// ```
/// use agentx_bus::{ReactorError, ReactorReport, ReactorChange};
///
/// let failed = ReactorChange::Failed { cause: ReactorError::Panic("index out of bounds".into()), restarting: true };
/// let report = ReactorReport { reactor: "recorder".into(), what: failed };
/// assert_eq!(report.to_string(), "reactor `recorder` panicked: index out of bounds; it is started again");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReactorReport {
    /// The name of the reactor.
    pub reactor: String,
    /// The change of the reactor.
    pub what: ReactorChange,
}

/// A change of a reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReactorChange {
    /// The reactor failed; the set restarts or removes it.
    Failed {
        /// The cause.
        cause: ReactorError,
        /// Whether it is started again; else it is removed.
        restarting: bool,
    },
    /// The reactor runs again after a failure, and gets everything published from now on.
    Restarted,
    /// The reactor ended on its own, without an error.
    Finished,
    /// The reactor stopped in time.
    Stopped,
    /// The reactor did not stop in time and was dropped.
    Overdue,
}

/// The failure of a reactor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReactorError {
    /// The reactor panicked with this message.
    Panic(String),
    /// The reactor returned this error.
    Error(String),
}

impl ReactorReport {
    /// Writes the report to the log.
    pub(crate) fn log(&self) {
        match self.what {
            ReactorChange::Failed {
                restarting: false, ..
            }
            | ReactorChange::Overdue => tracing::error!("{self}"),
            ReactorChange::Failed { restarting: true, .. } => tracing::warn!("{self}"),
            ReactorChange::Restarted | ReactorChange::Finished | ReactorChange::Stopped => {
                tracing::debug!("{self}")
            }
        }
    }
}

impl fmt::Display for ReactorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reactor `{}` ", self.reactor)?;
        match &self.what {
            ReactorChange::Failed {
                cause,
                restarting: true,
            } => write!(f, "{cause}; it is started again"),
            ReactorChange::Failed {
                cause,
                restarting: false,
            } => write!(f, "{cause}; it is removed"),
            ReactorChange::Restarted => f.write_str("runs again"),
            ReactorChange::Finished => f.write_str("finished"),
            ReactorChange::Stopped => f.write_str("stopped"),
            ReactorChange::Overdue => f.write_str("did not stop in time and was dropped"),
        }
    }
}

impl fmt::Display for ReactorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(message) => write!(f, "panicked: {message}"),
            Self::Error(message) => write!(f, "failed: {message}"),
        }
    }
}

/// The restarts of one reactor, for comparison with its policy.
pub(crate) struct Restarts {
    policy: Restart,
    /// The times of restarts, oldest first; at most as many as the policy allows.
    recent: VecDeque<Instant>,
}

impl Restarts {
    pub(crate) fn new(policy: Restart) -> Self {
        Self {
            policy,
            recent: VecDeque::new(),
        }
    }

    /// Returns whether one more is allowed now; if so, it counts.
    pub(crate) fn allow(&mut self, now: Instant) -> bool {
        let Restart::AtMost { times, within } = self.policy else {
            return false;
        };
        while self
            .recent
            .front()
            .is_some_and(|at| now.duration_since(*at) > within)
        {
            self.recent.pop_front();
        }
        let allowed = self.recent.len() < times;
        if allowed {
            self.recent.push_back(now);
        }
        allowed
    }
}
