//! What the tools of a box leave running beside their calls, for whoever has no say about what that is.

use agentx_runtime::BoxFuture;
use agentx_types::{LeftRunning, SessionId, ToolCallId};

/// What the tools of a [`Toolbox`](crate::Toolbox) leave running when their calls have ended: commands, as a rule.
pub trait Background: Send + Sync {
    /// Ends what an earlier process left running for a session that it never closed. `open` are the calls that were cut off.
    /// Returns what was ended.
    fn end_left<'a>(
        &'a self,
        session: &'a SessionId,
        open: &'a [ToolCallId],
    ) -> BoxFuture<'a, Vec<LeftRunning>>;

    /// Whether an earlier process may have left something running for a session, by its records alone.
    fn may_have_left(&self, session: &SessionId) -> bool;

    /// Whether an earlier process left anything running for a session.
    fn has_left<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, bool>;

    /// What that is. It continues.
    fn left<'a>(&'a self, session: &'a SessionId, open: &'a [ToolCallId]) -> BoxFuture<'a, Vec<LeftRunning>>;

    /// Ends one thing because a person wants it. Returns whether it ran.
    fn stop<'a>(&'a self, session: &'a SessionId, job: &'a str) -> BoxFuture<'a, bool>;

    /// Ends what runs for a session. It is gone when the future ends.
    fn shutdown<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()>;
}
