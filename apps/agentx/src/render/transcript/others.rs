//! What a transcript has to do with other agents: work that is given to them, and what they say in between.

use agentx::types::ToolCallRequested;

use super::{Lane, Transcript};

impl Transcript {
    /// Remembers which agent a call gives work to.
    pub(super) fn note_order(&mut self, call: &ToolCallRequested) {
        if call.name != "delegate" {
            return;
        }
        let agent = call.input.get("agent").and_then(|agent| agent.as_str());
        if let Some(known) = self.calls.get_mut(&call.tool_call_id) {
            known.agent = agent.map(str::to_owned);
        }
    }

    /// An agent of this name was given work: the call that did so is shown.
    pub(crate) fn delegated(&mut self, name: &str) {
        let orders = self
            .calls
            .iter()
            .filter(|(_, call)| !call.headed && call.agent.as_deref() == Some(name));
        if let Some(id) = orders.map(|(id, _)| id).min().cloned() {
            self.head_now(&id);
        }
    }

    /// A whole line, after the one that is open; beside an answer that streams, in passing.
    pub(crate) fn line(&mut self, lane: Lane, text: &str) {
        if lane == Lane::Aside && self.holds_calls && self.answers {
            return self.in_passing(text);
        }
        self.error_in_passing();
        self.end_line();
        self.put(lane, format!("{text}\n"));
    }
}
