//! Pending work of a session that ends with the process that writes it. The next writer settles it.

use agentx_agent::{Agent, CallStage};
use agentx_types::{ActionId, LeftRunning, RequestedCall, ToolCallId, since};

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
            let calls = agent.calls().iter();
            calls.filter(move |entry| !self.may_continue(agent, &entry.call))
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

    /// Returns whether a new writer hands a call that had started to its tool again: it may be repeated, or
    /// it waits for answers of a person.
    pub(crate) fn may_continue(&self, agent: &Agent, call: &RequestedCall) -> bool {
        let tools = &agent.config().tools;
        let is_repeatable = tools.iter().any(|tool| tool.name == call.name && tool.idempotent);
        is_repeatable || self.is_suspended(agent, &call.tool_call_id)
    }

    /// Returns whether a call waits for answers of a person, and nobody works on it.
    pub(crate) fn is_suspended(&self, agent: &Agent, call: &ToolCallId) -> bool {
        let recorded = self.flows.calls().get(call);
        agent.config().rules_version >= since::SUSPENDED_CALLS_CONTINUE
            && recorded.is_some_and(|recorded| recorded.suspension().is_some())
    }

    /// Background commands that were running when the last writer exited.
    pub fn background_jobs(&self) -> impl Iterator<Item = LeftRunning> {
        self.jobs.running()
    }
}
