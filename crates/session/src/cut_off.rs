//! Pending work of a session that ends with the process that writes it. The next writer settles it.

use agentx_agent::{Agent, CallStage};
use agentx_types::{ActionId, LeftRunning, ToolCallId};

use crate::SessionFold;

impl SessionFold {
    /// Calls that a tool has begun and that have no result.
    pub fn calls_under_way(&self) -> Vec<ToolCallId> {
        let calls = self.agents.iter().flat_map(Agent::calls);
        let begun = calls.filter(|entry| matches!(entry.stage, CallStage::Running { started: true, .. }));
        begun.map(|entry| entry.call.tool_call_id.clone()).collect()
    }

    /// Calls that a tool has begun, that have no result, and that may not be repeated, each with the action
    /// that started it. A new writer answers them as unknown.
    pub fn unrepeatable_calls(&self) -> Vec<(ActionId, ToolCallId)> {
        let calls = self.agents.iter().flat_map(|agent| {
            let tools = &agent.config().tools;
            let is_repeatable = |name: &str| tools.iter().any(|tool| tool.name == name && tool.idempotent);
            agent
                .calls()
                .iter()
                .filter(move |entry| !is_repeatable(&entry.call.name))
        });
        let begun = calls.filter_map(|entry| match &entry.stage {
            CallStage::Running {
                action_id,
                started: true,
                ..
            } => Some((action_id.clone(), entry.call.tool_call_id.clone())),
            _ => None,
        });
        begun.collect()
    }

    /// Background commands that were running when the last writer exited.
    pub fn background_jobs(&self) -> impl Iterator<Item = LeftRunning> {
        self.jobs.running()
    }
}
