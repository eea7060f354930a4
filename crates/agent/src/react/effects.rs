//! What the tools of this agent do step by step: what they spend is the agent's, what they emit is heard with the agent.

use agentx_types::{EffectEnded, Envelope, EnvironmentEvent, StreamOutput};

use super::ReactAgent;
use crate::course::Step;

impl ReactAgent {
    pub(super) fn on_effect_ended(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        ended: &EffectEnded,
        step: &mut Step<'_>,
    ) {
        if !fact.cause.as_ref().is_some_and(|cause| self.ledger.runs(cause)) {
            return;
        }
        if let Some(bill) = &ended.bill {
            self.course.pay_for_tool(bill, step);
        }
        if step.out.state_only {
            return;
        }
        if let Some(emitted) = ended.emitted() {
            step.stream(StreamOutput::Emitted {
                tool_call_id: ended.tool_call_id.clone(),
                medium: emitted.medium,
                text: emitted.text,
                data: emitted.data,
            });
        }
    }
}
