//! Waits of a session that another program may end: calls of the tool `wait`, reminders, a model that asked
//! to wait, and calls that were given back with a question to a person. A list of such sessions needs only
//! their folds.

use agentx_agent::{Agent, CallStage, LedgerEntry, ReactAgent, wait};
use agentx_types::{RunStatus, Timestamp, ToolCallId};

use crate::{OpenWait, SessionFold, WaitKind};

impl SessionFold {
    /// Returns the waits of the session, the earliest first.
    pub fn waits(&self) -> Vec<OpenWait> {
        let mut found: Vec<OpenWait> = self.agents().flat_map(waits_of).collect();
        found.extend(self.agents().flat_map(reminders_of));
        found.sort_by_key(|wait| wait.due_at);
        found
    }

    /// Returns the time of the first reminder of the session. Each fact asks for it, so nothing is copied.
    pub(crate) fn next_reminder(&self) -> Option<Timestamp> {
        let agents = self.agents().filter_map(Agent::react);
        let reminders = agents.flat_map(ReactAgent::reminders);
        reminders.map(|reminder| reminder.due_at).min()
    }

    /// Returns whether nothing happens in the session until a wait is over, or a question of a suspended call
    /// is answered: no model is asked, no tool works, nobody has to decide about a call. Then a program may
    /// leave the session as it is.
    pub fn only_waits(&self) -> bool {
        let busy = |agent: &&Agent| agent.run().is_some_and(|run| !run.status.is_final());
        let mut busy = self.agents().filter(busy).peekable();
        let is_paused = |agent: &Agent| {
            let run = agent.run();
            run.is_some_and(|run| run.paused_at.is_some() && run.status != RunStatus::Stopping)
                && agent.condensing().is_none()
        };
        busy.peek().is_some() && busy.all(|agent| is_paused(agent) || self.only_asks(agent))
    }

    /// Returns whether each open call of an agent waits for a time, or for an answer of a person with which
    /// another process can continue it.
    fn only_asks(&self, agent: &Agent) -> bool {
        let questions: Vec<&ToolCallId> = agent.questions().map(|(call, _)| &call.tool_call_id).collect();
        let is_asked = |call: &ToolCallId| questions.iter().any(|asked| asked.is_inside(call));
        let may_wait = |entry: &LedgerEntry| match &entry.stage {
            CallStage::Resolved { .. } | CallStage::Waiting { .. } => true,
            CallStage::Running { .. } => {
                let call = &entry.call.tool_call_id;
                self.is_suspended(agent, call) && is_asked(call)
            }
            CallStage::AwaitingApproval(_)
            | CallStage::Answering { .. }
            | CallStage::Assessing(_)
            | CallStage::Delegated { .. } => false,
        };
        let is_asking = agent
            .run()
            .is_some_and(|run| run.status == RunStatus::AwaitingApproval && run.pending.model_call.is_none());
        is_asking && agent.condensing().is_none() && agent.calls().iter().all(may_wait)
    }
}

fn reminders_of(agent: &Agent) -> impl Iterator<Item = OpenWait> {
    let reminders = agent.react().map(ReactAgent::reminders).unwrap_or_default();
    reminders.iter().map(|reminder| OpenWait {
        kind: WaitKind::Reminder,
        due_at: reminder.due_at,
        tool_call_id: Some(reminder.tool_call_id.clone()),
        reason: reminder.text.clone(),
    })
}

fn waits_of(agent: &Agent) -> Vec<OpenWait> {
    let Some(run) = agent
        .run()
        .filter(|run| !run.status.is_final() && run.status != RunStatus::Stopping)
    else {
        return Vec::new();
    };
    let mut found: Vec<OpenWait> = agent
        .calls()
        .iter()
        .filter_map(|entry| match entry.stage {
            CallStage::Waiting { due_at, .. } => Some(OpenWait {
                kind: WaitKind::Call,
                due_at,
                tool_call_id: Some(entry.call.tool_call_id.clone()),
                reason: wait::reason(&entry.call.input),
            }),
            _ => None,
        })
        .collect();
    if let Some(due_at) = run.pending.retry_at.filter(|_| run.pending.model_call.is_some()) {
        found.push(OpenWait::new(WaitKind::Retry, due_at));
    } else if run.has_waited && found.is_empty() && run.status != RunStatus::AwaitingApproval {
        found.push(OpenWait::new(WaitKind::Resumed, run.seen_at));
    }
    found
}
