//! Runs every tool call, whether a reactor or the runtime serves the tool, with the context that the call may
//! use, and emits one result.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use agentx_types::{Action, ActionBody, CallTool, SessionId, ToolResult, ToolStatus};
use tokio_util::sync::CancellationToken;

use crate::effects::call_slots::CallSlots;
use crate::effects::effect::{Effector, EventSink};
use crate::future::BoxFuture;
use crate::log::SessionLog;
use crate::log::blobs::SessionBlobs;
use crate::system_events::SystemEvents;
use crate::tools::journal::Journal;
use crate::tools::listener::AgentListener;
use crate::tools::request_values::RequestValues;
use crate::tools::tool::{Tool, ToolContext, ToolOutcome, ToolOutputSink};

/// Performs tool calls, each with its context. Clones share the same state.
#[derive(Clone)]
pub struct ToolCallRunner {
    log: Arc<dyn SessionLog>,
    events: Option<SystemEvents>,
    /// The slots for calls outside of a session.
    slots: CallSlots,
}

impl ToolCallRunner {
    /// Makes the calls. Results that are too long for the model go to the blobs of `log`.
    pub fn new(log: Arc<dyn SessionLog>) -> Self {
        Self {
            log,
            events: None,
            slots: CallSlots::default(),
        }
    }

    /// Lets tools read the events of the other agents of their session from `events`.
    #[must_use]
    pub fn hearing(mut self, events: SystemEvents) -> Self {
        self.events = Some(events);
        self
    }

    /// Sets the slots for calls outside of a session; by default 64 separate ones.
    #[must_use]
    pub fn with_slots(mut self, slots: CallSlots) -> Self {
        self.slots = slots;
        self
    }

    /// Performs an action that calls a tool, and reports its outcome as one fact. `find` returns the tool
    /// with the called name, or the outcome of the call if there is none. Any other action ends without an
    /// event.
    pub async fn perform(
        &self,
        action: &Action,
        (events, cancel): (EventSink, CancellationToken),
        find: impl FnOnce(&str) -> Result<Arc<dyn Tool>, ToolOutcome>,
    ) {
        let ActionBody::CallTool(call) = &action.body else {
            return;
        };
        let began = std::time::Instant::now();
        let outcome = match find(&call.name) {
            Ok(tool) => call_in_turn(&*tool, call, self.context(call, &events, cancel)).await,
            Err(outcome) => outcome,
        };
        tracing::debug!(tool = %call.name, status = ?outcome.status, elapsed_us = began.elapsed().as_micros(), "tool call ended");
        events.emit(result_of(call, outcome)).await;
    }

    /// Makes the context of a call. The caller may have given it values too.
    fn context(&self, call: &CallTool, events: &EventSink, cancel: CancellationToken) -> ToolContext {
        let session_id = events.session_id().cloned().unwrap_or_else(|| SessionId::new(""));
        let heard = self.events.clone();
        let listener = heard.map(|heard| AgentListener::new(session_id.clone(), self.log.clone(), heard));
        ToolContext {
            tool_call_id: call.tool_call_id.clone(),
            workspace: PathBuf::from(&call.workspace),
            outside_workspace: call.outside_workspace,
            output: ToolOutputSink::new(events.clone(), call.tool_call_id.clone()),
            journal: Journal::of_call(events.clone(), call, listener),
            blobs: Arc::new(SessionBlobs::new(self.log.clone(), session_id.clone())),
            session_id,
            cancel,
            values: RequestValues::default(),
            slots: events.slots().unwrap_or(&self.slots).clone(),
        }
    }
}

impl fmt::Debug for ToolCallRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCallRunner")
            .field("events", &self.events)
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}

/// Performs the calls of one tool. It is attached for the tool's name as the key, so it gets no other calls.
pub(crate) struct ServedTool {
    tool: Arc<dyn Tool>,
    calls: ToolCallRunner,
}

impl ServedTool {
    pub(crate) fn new(tool: Arc<dyn Tool>, calls: ToolCallRunner) -> Self {
        Self { tool, calls }
    }
}

impl Effector for ServedTool {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let (tool, calls) = (self.tool.clone(), self.calls.clone());
        Box::pin(async move { calls.perform(&action, (events, cancel), |_| Ok(tool)).await })
    }
}

/// Waits for a slot, runs the call and returns its outcome.
///
/// A call that is cancelled while it waits for a slot is answered as interrupted, without the tool. A running
/// one is notified through its `cancel`, and its outcome is still awaited.
async fn call_in_turn(tool: &dyn Tool, call: &CallTool, context: ToolContext) -> ToolOutcome {
    let (cancel, slots) = (context.cancel.clone(), context.slots.clone());
    let place = tokio::select! {
        biased;
        place = slots.take(tool.waits()) => place,
        () = cancel.cancelled() => {
            return ToolOutcome::failed(ToolStatus::Interrupted, "Stopped before it began.");
        }
    };
    let outcome = tool.call(call.input.clone(), context).await;
    drop(place);
    outcome
}

/// The fact that a call ended with this outcome. Each call has exactly one: the effector that performs it
/// emits this last.
fn result_of(call: &CallTool, outcome: ToolOutcome) -> ToolResult {
    let is_error = outcome.is_error();
    let ToolOutcome {
        content,
        status,
        details,
    } = outcome;
    ToolResult {
        tool_call_id: call.tool_call_id.clone(),
        result: content,
        is_error,
        status,
        details,
    }
}
