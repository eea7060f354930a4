//! The parts of a transcript about other agents: work that they get, and what they say in between.

use agentx::types::{AgentStateId, ToolCallId, ToolCallRequested};

use super::{TextRegion, TranscriptRenderer};

impl TranscriptRenderer {
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

    /// An agent of this name came: the call that gave it work, or in which a script made it, is shown. The
    /// lines of a call that gave it work have the name `shown` then.
    pub(crate) fn delegated(&mut self, name: &str, shown: &str, agent: &AgentStateId) {
        let waiting = || self.calls.iter().filter(|(_, call)| !call.headed);
        let orders = waiting().filter(|(_, call)| call.agent.as_deref() == Some(name));
        let order = orders.map(|(id, _)| id).min();
        let made = || {
            let calls = waiting().map(|(id, _)| id).filter(|id| is_made_in(agent, id));
            calls.max_by_key(|id| id.as_str().len())
        };
        if let Some(id) = order.or_else(made).cloned() {
            if let Some(call) = self.calls.get_mut(&id).filter(|call| call.agent.is_some()) {
                call.shown_agent = Some(shown.to_owned());
            }
            self.head_now(&id);
        }
    }

    /// A whole line, after the one that is open; beside an answer that streams, in passing.
    pub(crate) fn line(&mut self, region: TextRegion, text: &str) {
        if region == TextRegion::Aside && self.options.holds_calls && self.answer.has_text {
            return self.print_notice(text);
        }
        self.error_in_passing();
        self.end_line();
        self.put(region, format!("{text}\n"));
    }
}

/// An agent that a script makes is named after the call and its step.
fn is_made_in(agent: &AgentStateId, call: &ToolCallId) -> bool {
    let step = agent
        .as_str()
        .strip_prefix("agt_")
        .and_then(|id| id.strip_prefix(call.as_str()));
    step.is_some_and(|step| step.starts_with(|sign: char| !sign.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use agentx::types::ToolExecuting;
    use serde_json::json;

    use super::*;
    use crate::render::style::AnsiStyle;

    #[test]
    fn the_call_in_which_an_agent_was_made_stands_before_what_it_says() {
        let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80).holding_calls();
        for (id, name) in [("c", "other"), ("c_1", "story"), ("d_1", "third")] {
            let call = ToolExecuting {
                tool_call_id: id.into(),
                name: name.into(),
                input: json!({"topic": "sea"}),
            };
            transcript.event(&call.into());
        }
        assert!(!transcript.has_said(), "calls are held until they end");
        transcript.delegated("writer", "writer", &"agt_c_1_2".into());
        transcript.delegated("writer", "writer", &"agt_e_1_2".into());
        let said: String = transcript.take().into_iter().map(|piece| piece.text).collect();
        assert_eq!(said, "● story  sea\n");
    }
}
