//! Performs one call of a tool, with a deadline.

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{Journal, ToolContext, ToolOutcome, ToolOutputSink};
use agentx_types::{AgentConfig, CallingAgent, SessionId, ToolCallId, ToolStatus};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::exec_state::ExecState;
use crate::kept_blobs::ExecBlobs;

/// The time in which a cancelled call has to end.
const ENDING: Duration = Duration::from_secs(5);

/// A call of a tool.
pub(crate) struct ExecCall {
    pub(crate) session: SessionId,
    pub(crate) call: ToolCallId,
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// The rules of the agent that calls, if there is one.
    pub(crate) config: Option<AgentConfig>,
    /// Whether files outside of the workspace may be touched.
    pub(crate) outside: bool,
    pub(crate) deadline: Duration,
}

impl ExecState {
    /// Performs a call. Its blobs go to `blobs`.
    pub(crate) async fn perform(
        &self,
        call: ExecCall,
        blobs: Arc<ExecBlobs>,
        cancel: CancellationToken,
    ) -> ToolOutcome {
        self.note_session(&call.session);
        let caller = CallingAgent {
            config: call.config.map(Arc::new),
            ..CallingAgent::default()
        };
        let context = ToolContext {
            tool_call_id: call.call,
            session_id: call.session,
            workspace: self.options.directory.clone(),
            outside_workspace: call.outside,
            output: ToolOutputSink::discard(),
            journal: Journal::discard_for(Arc::new(caller)),
            blobs,
            cancel: cancel.clone(),
            values: Default::default(),
            slots: Default::default(),
        };
        let deadline = call.deadline.min(self.options.max_deadline + ENDING);
        let mut running = std::pin::pin!(self.toolbox.call(&call.tool, call.input, context));
        if let Ok(outcome) = tokio::time::timeout(deadline, &mut running).await {
            return outcome;
        }
        cancel.cancel();
        let late = format!("Stopped: not done within {} s.", deadline.as_secs());
        match tokio::time::timeout(ENDING, running).await {
            Ok(outcome) => ToolOutcome {
                status: ToolStatus::TimedOut,
                ..outcome
            },
            Err(_) => ToolOutcome::failed(ToolStatus::TimedOut, late),
        }
    }
}
