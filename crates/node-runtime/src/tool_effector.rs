//! The effector for tools: looks the tool up, gives it what it may use, and says its outcome.

use std::sync::Arc;
use std::time::Instant;

use agentx_runtime::{
    BoxFuture, Effector, EventSink, Places, SessionLog, SystemEvents, ToolContext, ToolOutcome, call_in_turn,
    result_of,
};
use agentx_tools::Toolbox;
use agentx_types::{Action, ActionBody, CallTool, LeftRunning, SessionId, ToolCallId};
use tokio_util::sync::CancellationToken;

/// Runs tools, many at once, each as its own task. Clones are the same.
#[derive(Clone)]
pub struct ToolEffector {
    tools: Arc<Toolbox>,
    log: Arc<dyn SessionLog>,
    events: Option<SystemEvents>,
    /// For calls outside of a session.
    places: Places,
}

impl ToolEffector {
    /// An effector over these tools; what is too long for the model goes to the blobs of `log`.
    pub fn new(tools: Toolbox, log: Arc<dyn SessionLog>) -> Self {
        Self {
            tools: Arc::new(tools),
            log,
            events: None,
            places: Places::default(),
        }
    }

    /// The same, whose tools hear the other agents of their session by `events`.
    #[must_use]
    pub fn hearing(mut self, events: SystemEvents) -> Self {
        self.events = Some(events);
        self
    }

    /// The same, where so many calls outside of a session run at once.
    #[must_use]
    pub fn with_places(mut self, places: Places) -> Self {
        self.places = places;
        self
    }

    /// A call's outcome, when it has had its turn.
    async fn outcome(&self, call: &CallTool, context: ToolContext) -> ToolOutcome {
        let Some(tool) = self.tools.get(&call.name) else {
            return self.tools.unknown(&call.name);
        };
        call_in_turn(&*tool, call, context).await
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
            let ActionBody::CallTool(call) = &action.body else {
                return;
            };
            let began = Instant::now();
            let parts = (this.log.clone(), this.events.clone());
            let context = ToolContext {
                places: events.places().unwrap_or(&this.places).clone(),
                ..ToolContext::of_call(call, &events, cancel, parts)
            };
            let outcome = this.outcome(call, context).await;
            tracing::debug!(tool = %call.name, status = ?outcome.status, elapsed_us = began.elapsed().as_micros(), "tool call ended");
            events.emit(result_of(call, outcome)).await;
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
