//! The effector for the runtime's own tools: it looks each one up by its name, and ends commands that
//! sessions leave running.
//!
//! A call takes one of the slots for calls that run at once, unless its tool says that it only waits for
//! others. It is called through [`Toolbox::get_for_agent`], so wrappers of tools for an agent, such as
//! instructions of folders, apply. A call with an unknown name fails with the nearest name as a suggestion,
//! and the run continues.
//!
//! When a session is opened after a crash, commands that its last process left are ended before the session
//! continues, and this is recorded. When a session is closed, its background jobs end with it.

use std::sync::Arc;

use agentx_runtime::{BoxFuture, CallSlots, Effector, EventSink, SessionLog, SystemEvents, ToolCallRunner};
use agentx_tools::Toolbox;
use agentx_types::{Action, LeftRunning, SessionId, ToolCallId};
use tokio_util::sync::CancellationToken;

/// Runs tools, many at once, each as its own task. Clones share the same state.
#[derive(Clone)]
pub struct ToolEffector {
    /// The tools, by name; shared with the runtime that lists them.
    tools: Arc<Toolbox>,
    /// Runs calls in turn, and reports their results.
    calls: ToolCallRunner,
}

impl ToolEffector {
    /// An effector over these tools; outputs that are too long for the model go to the blobs of `log`.
    pub fn new(tools: Toolbox, log: Arc<dyn SessionLog>) -> Self {
        Self {
            tools: Arc::new(tools),
            calls: ToolCallRunner::new(log),
        }
    }

    /// Lets tools read the events of the other agents of their session from `events`.
    #[must_use]
    pub fn hearing(mut self, events: SystemEvents) -> Self {
        self.calls = self.calls.hearing(events);
        self
    }

    /// Sets the slots for calls outside of a session; by default 64 separate ones.
    #[must_use]
    pub fn with_slots(mut self, slots: CallSlots) -> Self {
        self.calls = self.calls.with_slots(slots);
        self
    }
}

impl Effector for ToolEffector {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let this = self.clone();
        Box::pin(async move {
            let find = |name: &str| {
                this.tools
                    .get_for_agent(name)
                    .ok_or_else(|| this.tools.unknown(name))
            };
            this.calls.perform(&action, (events, cancel), find).await;
        })
    }

    fn session_taken_over(
        &self,
        session: &SessionId,
        open: Vec<ToolCallId>,
    ) -> BoxFuture<'static, Vec<LeftRunning>> {
        let (tools, session) = (self.tools.clone(), session.clone());
        Box::pin(async move { tools.end_left_running(&session, &open).await })
    }

    fn session_closed(&self, session: &SessionId) -> BoxFuture<'static, ()> {
        let (tools, session) = (self.tools.clone(), session.clone());
        Box::pin(async move { tools.shutdown(&session).await })
    }
}
