//! Things that tools keep for a session between calls and that must not outlive it, such as a browser.

use agentx_runtime::BoxFuture;
use agentx_types::SessionId;

/// Things that tools of a [`Toolbox`](crate::Toolbox) keep for each session. Unlike
/// [`Background`](crate::Background), no person sees or stops them one by one.
pub trait SessionResources: Send + Sync {
    /// Releases everything that is kept for a session. It is gone when the future ends.
    fn release<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, ()>;
}
