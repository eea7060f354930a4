//! The failures of a server outside a call. They contain the server's messages without the secrets that it
//! was given.

use std::time::Duration;

/// The reason why a server cannot be used now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpFailure {
    /// Its program cannot be started.
    #[error("cannot be started: {0}")]
    Start(String),
    /// A file of the folder that it runs is not the one that a person trusted.
    #[error("{0}")]
    Changed(String),
    /// A header or address that no request can have.
    #[error("it cannot be asked: {0}")]
    Setup(String),
    /// The step took too long.
    #[error("it did not answer within {} s while {during}; `start_timeout` sets how long it may take{said}", .limit.as_secs_f32())]
    TimedOut {
        /// The time that it had.
        limit: Duration,
        /// The step that failed.
        during: &'static str,
        /// The program's output, to append to the error; may be empty.
        said: String,
    },
    /// The server requires authorization.
    #[error(
        "it requires authorization; `agentx mcp login NAME` logs in, or set a header: `mcp.NAME.headers.Authorization: ${{TOKEN}}`"
    )]
    Unauthorized,
    /// The login does not allow the call.
    #[error(
        "its login does not allow this; it requires the scope {0:?}: set `mcp.NAME.oauth.scope` and run `agentx mcp login NAME` again"
    )]
    Scope(String),
    /// The login did not come about, or cannot be renewed.
    #[error("the login failed: {0}")]
    Login(String),
    /// The connection ended, or never came about.
    #[error("the connection failed: {0}")]
    Connection(String),
    /// The cache of known servers cannot be written.
    #[error("cannot save its list of tools in {0}: {1}")]
    Store(String, String),
}
