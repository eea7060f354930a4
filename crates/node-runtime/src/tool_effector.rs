//! The effector for tools: looks the tool up, gives it what it may use, and says its outcome.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use agentx_runtime::{
    BoxFuture, Effector, EventSink, Journal, Listener, RequestValues, SessionBlobs, SessionLog, SystemBus,
    ToolContext, ToolOutcome, ToolOutputSink,
};
use agentx_tools::Toolbox;
use agentx_types::{Action, ActionBody, CallTool, SessionId, ToolResult, ToolStatus};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How many tool calls of a runtime run at once; the others wait for their turn.
const MAX_AT_ONCE: usize = 64;

/// Runs tools, many at once, each as its own task.
pub struct ToolEffector {
    tools: Toolbox,
    log: Arc<dyn SessionLog>,
    bus: Option<SystemBus>,
    slots: Arc<Semaphore>,
}

impl ToolEffector {
    /// An effector over these tools; what is too long for the model goes to the blobs of `log`.
    pub fn new(tools: Toolbox, log: Arc<dyn SessionLog>) -> Self {
        Self {
            tools,
            log,
            bus: None,
            slots: Arc::new(Semaphore::new(MAX_AT_ONCE)),
        }
    }

    /// The same, whose tools hear the other agents of their session on `bus`.
    #[must_use]
    pub fn hearing(mut self, bus: SystemBus) -> Self {
        self.bus = Some(bus);
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
        let (tools, log, slots) = (self.tools.clone(), self.log.clone(), self.slots.clone());
        let bus = self.bus.clone();
        Box::pin(async move {
            let ActionBody::CallTool(call) = &action.body else {
                return;
            };
            let began = Instant::now();
            let outcome = tokio::select! {
                biased;
                slot = slots.acquire() => {
                    let context = context(call, &events, (log, bus), cancel.clone());
                    let outcome = tools.call(&call.name, call.input.clone(), context).await;
                    drop(slot);
                    outcome
                }
                () = cancel.cancelled() => ToolOutcome::failed(ToolStatus::Interrupted, "Stopped before it began."),
            };
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

    fn session_closed(&self, session: &SessionId) -> BoxFuture<'static, ()> {
        let (tools, session) = (self.tools.clone(), session.clone());
        Box::pin(async move { tools.shutdown(&session).await })
    }
}

fn context(
    call: &CallTool,
    events: &EventSink,
    (log, bus): (Arc<dyn SessionLog>, Option<SystemBus>),
    cancel: CancellationToken,
) -> ToolContext {
    let session_id = events.session_id().cloned().unwrap_or_else(|| SessionId::new(""));
    let mut journal = Journal::new(events.clone(), call.tool_call_id.clone(), call.recorded.clone())
        .of(call.caller.clone());
    if let Some(bus) = bus {
        journal = journal.with_listener(Listener::new(session_id.clone(), log.clone(), bus));
    }
    ToolContext {
        tool_call_id: call.tool_call_id.clone(),
        workspace: PathBuf::from(&call.workspace),
        outside_workspace: call.outside_workspace,
        output: ToolOutputSink::new(events.clone(), call.tool_call_id.clone()),
        journal,
        blobs: Arc::new(SessionBlobs::new(log, session_id.clone())),
        session_id,
        cancel,
        values: RequestValues::default(),
    }
}
