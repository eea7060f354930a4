//! The state of a configured server, for lists and for people.

use crate::failure::McpFailure;
use crate::known_servers::KnownServer;

/// The state of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpServerState {
    /// The server was never started, so its tools are unknown.
    Configured,
    /// The tools are known, and the server is not running.
    Known,
    /// A session uses it, in this process or another one.
    Running,
    /// The server requires a login, and there is none that it accepts.
    NeedsLogin,
    /// The server could not be started, for this reason. The next call tries again.
    Failed(String),
}

impl McpServerState {
    /// Returns the state of a server that does not run, from the recorded data about it.
    pub fn of(known: &KnownServer) -> Self {
        match (&known.failure, &known.identity) {
            (Some(why), _) if *why == McpFailure::Unauthorized.to_string() => Self::NeedsLogin,
            (Some(why), _) => Self::Failed(why.clone()),
            (None, None) => Self::Configured,
            (None, Some(_)) => Self::Known,
        }
    }

    /// Returns the word for tables.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Known => "known",
            Self::Running => "running",
            Self::NeedsLogin => "needs login",
            Self::Failed(_) => "failed",
        }
    }
}
