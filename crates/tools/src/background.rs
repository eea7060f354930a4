//! The background processes of a toolbox, for callers that do not choose its tools.

use std::path::Path;

use agentx_runtime::BoxFuture;
use agentx_types::{LeftRunning, SessionId, ToolCallId};

/// The processes that the tools of a [`Toolbox`](crate::Toolbox) leave running when their calls have ended,
/// usually commands.
pub trait Background: Send + Sync {
    /// Ends the commands that an earlier process left running for a session that it never closed. `open` has
    /// the calls that were cut off. Returns the ended commands.
    fn end_left<'a>(
        &'a self,
        session: &'a SessionId,
        open: &'a [ToolCallId],
    ) -> BoxFuture<'a, Vec<LeftRunning>>;

    /// Returns whether an earlier process may have left something running for a session, by its records
    /// alone.
    fn may_have_left(&self, session: &SessionId) -> bool;

    /// Returns whether an earlier process left anything running for a session.
    fn has_left<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, bool>;

    /// Finds the running processes of a session that an earlier process left, without stopping them.
    fn left<'a>(&'a self, session: &'a SessionId, open: &'a [ToolCallId]) -> BoxFuture<'a, Vec<LeftRunning>>;

    /// Ends one job on request of a person. Returns whether it ran.
    fn stop<'a>(&'a self, session: &'a SessionId, job: &'a str) -> BoxFuture<'a, bool>;

    /// Returns the sandbox step that holds the next command in this directory, as a word of settings: "none"
    /// if the settings let it run although no sandbox works, or "unavailable" if it will not run for that.
    /// `None` if there is no sandbox. `is_unasked` is true for a command that runs without a question.
    fn sandbox(&self, _workspace: &Path, _is_unasked: bool) -> Option<String> {
        None
    }

    /// Ends the commands of a session. They are gone when the future ends.
    fn shutdown<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()>;
}
