//! Running a tool outside of any session: to try it. What it would keep of a session is forgotten, and nothing is recorded.

use std::path::PathBuf;
use std::sync::Arc;

use agentx_runtime::{
    Journal, Places, RequestValues, SessionBlobs, ToolContext, ToolOutcome, ToolOutputSink,
};
use agentx_types::{AgentConfig, Caller, SessionId, ToolCallId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::NodeRuntime;

impl NodeRuntime {
    /// Runs a tool with these arguments, as this agent would in its directory. A tool that there is not, or arguments that it does not take, are
    /// an outcome like any other failure. Nobody is asked for approval: whoever calls this wants it.
    pub async fn try_tool(
        &self,
        name: &str,
        input: Value,
        agent: AgentConfig,
        cancel: CancellationToken,
    ) -> ToolOutcome {
        let session_id = SessionId::new("ses_none");
        let context = ToolContext {
            tool_call_id: ToolCallId::new("call_1"),
            workspace: PathBuf::from(&agent.workspace),
            outside_workspace: true,
            output: ToolOutputSink::discard(),
            journal: Journal::discard().of(Arc::new(Caller {
                config: Some(Arc::new(agent)),
                kept: Arc::default(),
            })),
            blobs: Arc::new(SessionBlobs::new(self.shared_log(), session_id.clone())),
            session_id: session_id.clone(),
            cancel,
            values: RequestValues::default(),
            places: Places::default(),
        };
        let outcome = self.toolbox().call(name, input, context).await;
        self.toolbox().shutdown(&session_id).await;
        outcome
    }
}
