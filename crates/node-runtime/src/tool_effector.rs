//! The effector for tools: looks the tool up, gives it what it may use, and says its outcome.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use agentx_runtime::{
    BoxFuture, Effector, EventSink, Journal, Listener, Places, RequestValues, SessionBlobs, SessionLog,
    SystemBus, ToolContext, ToolOutcome, ToolOutputSink,
};
use agentx_tools::Toolbox;
use agentx_types::{
    Action, ActionBody, CallTool, LeftRunning, SessionId, ToolCallId, ToolResult, ToolStatus,
};
use tokio_util::sync::CancellationToken;

/// Runs tools, many at once, each as its own task. Clones are the same.
#[derive(Clone)]
pub struct ToolEffector {
    tools: Arc<Toolbox>,
    log: Arc<dyn SessionLog>,
    bus: Option<SystemBus>,
    places: Places,
}

impl ToolEffector {
    /// An effector over these tools; what is too long for the model goes to the blobs of `log`.
    pub fn new(tools: Toolbox, log: Arc<dyn SessionLog>) -> Self {
        Self {
            tools: Arc::new(tools),
            log,
            bus: None,
            places: Places::default(),
        }
    }

    /// The same, whose tools hear the other agents of their session on `bus`.
    #[must_use]
    pub fn hearing(mut self, bus: SystemBus) -> Self {
        self.bus = Some(bus);
        self
    }

    /// The same, where so many calls run at once.
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
        let cancel = context.cancel.clone();
        let places = context.places.clone();
        let place = tokio::select! {
            biased;
            place = places.take(&*tool) => place,
            () = cancel.cancelled() => {
                return ToolOutcome::failed(ToolStatus::Interrupted, "Stopped before it began.");
            }
        };
        let outcome = tool.call(call.input.clone(), context).await;
        drop(place);
        outcome
    }

    fn context(&self, call: &CallTool, events: &EventSink, cancel: CancellationToken) -> ToolContext {
        let session_id = events.session_id().cloned().unwrap_or_else(|| SessionId::new(""));
        let mut journal = Journal::new(events.clone(), call.tool_call_id.clone(), call.recorded.clone())
            .of(call.caller.clone());
        if let Some(bus) = &self.bus {
            journal = journal.with_listener(Listener::new(session_id.clone(), self.log.clone(), bus.clone()));
        }
        ToolContext {
            tool_call_id: call.tool_call_id.clone(),
            workspace: PathBuf::from(&call.workspace),
            outside_workspace: call.outside_workspace,
            output: ToolOutputSink::new(events.clone(), call.tool_call_id.clone()),
            journal,
            blobs: Arc::new(SessionBlobs::new(self.log.clone(), session_id.clone())),
            session_id,
            cancel,
            values: RequestValues::default(),
            places: events.places().unwrap_or(&self.places).clone(),
        }
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
            let context = this.context(call, &events, cancel);
            let outcome = this.outcome(call, context).await;
            tracing::debug!(tool = %call.name, status = ?outcome.status, elapsed_us = began.elapsed().as_micros(), "tool call ended");
            let is_error = outcome.is_error();
            let ToolOutcome {
                content,
                status,
                details,
            } = outcome;
            let result = ToolResult {
                tool_call_id: call.tool_call_id.clone(),
                result: content,
                is_error,
                status,
                details,
            };
            events.emit(result).await;
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
