//! What the tools of this agent do step by step: what they spend is the agent's, what they emit is heard with the agent.
//!
//! The steps themselves are kept by the session's fold, not by the agent: a call is given them when it is run again.

use agentx_types::{EffectEnded, EffectStarted, Envelope, EnvironmentEvent, StreamOutput};

use super::ReactAgent;
use crate::course::Step;

impl ReactAgent {
    /// A tool that wants to ask a model where a limit forbids it is stopped, and the run with it. It asks when this is on record,
    /// and by then it was told to stop.
    pub(super) fn on_effect_started(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        started: &EffectStarted,
        step: &mut Step<'_>,
    ) {
        let is_open = fact.cause.as_ref().is_some_and(|cause| self.ledger.runs(cause));
        if !is_open || !started.asks_model() {
            return;
        }
        if let Some(cause) = self.course.used_up(&self.config.limits, step) {
            self.begin_stop(cause, step);
        }
    }

    /// A step has ended: its bill counts for the run, and what it emits is a chunk of the agent's stream.
    pub(super) fn on_effect_ended(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        ended: &EffectEnded,
        step: &mut Step<'_>,
    ) {
        if !fact.cause.as_ref().is_some_and(|cause| self.ledger.runs(cause)) {
            return;
        }
        self.inner_ended(&ended.tool_call_id.inner(ended.step));
        if let Some(bill) = &ended.bill {
            self.course.pay_for_tool(bill, step);
        }
        if !step.is_heard() {
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
