//! Examines the open calls of a session: which of them would continue, and which wait for a person's answer.

use agentx_agent::{Agent, CallStage};
use agentx_types::{AgentStateId, AskedQuestion, RunStatus, ToolCallId};

use crate::SessionFold;

impl SessionFold {
    /// The tools of unfinished calls that have recorded steps, by which they would continue. Calls of a run
    /// that is being stopped do not continue.
    pub fn tools_with_steps(&self) -> impl Iterator<Item = &str> {
        let stops = |agent: &&Agent| agent.run().is_some_and(|run| run.status == RunStatus::Stopping);
        let calls = self
            .agents
            .iter()
            .filter(move |agent| !stops(agent))
            .flat_map(move |agent| {
                let calls = agent.calls().iter();
                calls.filter(move |entry| self.may_continue(agent, &entry.call))
            });
        let with_steps = calls.filter(|entry| {
            matches!(entry.stage, CallStage::Running { .. }) && self.flows.has_steps(&entry.call.tool_call_id)
        });
        with_steps.map(|entry| entry.call.name.as_str())
    }

    /// Returns whether `agent` was created by `above`, or by an agent below it.
    pub fn is_below(&self, agent: &AgentStateId, above: &AgentStateId) -> bool {
        self.agents.ancestors(agent).any(|ancestor| ancestor == above)
    }

    /// The question of a model to the person that waits under this id.
    pub fn asked_question(&self, id: &ToolCallId) -> Option<&AskedQuestion> {
        let questions = self.agents.iter().flat_map(Agent::questions);
        let mut of_call = questions.filter(|(call, _)| call.tool_call_id == *id);
        of_call.find_map(|(_, question)| question.asked.as_deref())
    }
}
