//! A single tool as a responder: gives each call what it may use, and says its outcome as one fact.

use std::sync::Arc;

use agentx_types::{Action, ActionBody, CallTool, ToolResult, ToolStatus};
use tokio_util::sync::CancellationToken;

use crate::effect::{Effector, EventSink};
use crate::future::BoxFuture;
use crate::log::SessionLog;
use crate::system_events::SystemEvents;
use crate::tool::{Tool, ToolContext, ToolOutcome};

/// Performs the calls of one tool. It is attached for the key that is the tool's name, so it is asked for no
/// other.
pub(crate) struct ServedTool {
    /// The tool.
    tool: Arc<dyn Tool>,
    /// The log of the session, for what the tool looks up and keeps.
    log: Arc<dyn SessionLog>,
    /// What is published, for tools that wait for other agents.
    events: SystemEvents,
}

impl ServedTool {
    pub(crate) fn new(tool: Arc<dyn Tool>, log: Arc<dyn SessionLog>, events: SystemEvents) -> Self {
        Self { tool, log, events }
    }
}

impl Effector for ServedTool {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let (tool, log, heard) = (self.tool.clone(), self.log.clone(), self.events.clone());
        Box::pin(async move {
            let ActionBody::CallTool(call) = &action.body else {
                return;
            };
            let context = ToolContext::of_call(call, &events, cancel, (log, Some(heard)));
            let outcome = call_in_turn(&*tool, call, context).await;
            events.emit(result_of(call, outcome)).await;
        })
    }
}

/// A call's outcome, when it has had its turn among those that run at once.
///
/// A call that is cancelled while it waits has not begun: it is answered as interrupted, and the tool hears
/// nothing of it. One that runs is told by its `cancel`, and its outcome is awaited all the same.
pub async fn call_in_turn(tool: &dyn Tool, call: &CallTool, context: ToolContext) -> ToolOutcome {
    let (cancel, places) = (context.cancel.clone(), context.places.clone());
    let place = tokio::select! {
        biased;
        place = places.take(tool.waits()) => place,
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
pub fn result_of(call: &CallTool, outcome: ToolOutcome) -> ToolResult {
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
