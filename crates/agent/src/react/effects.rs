//! Follows the tools of this agent step by step: their spending is the agent's, and their output is heard
//! with the agent's.
//!
//! A step (*effect*) is something that a script does to the world: a request, a call of a tool, a question to
//! a model. It has two facts, `effect_started` before it is done and `effect_ended` behind it. The steps
//! themselves are kept by the session's fold, not by the agent: a call is given them when it is run again.
//! Steps of a call that does not run (any more) are ignored.

use agentx_types::{EffectEnded, EffectStarted, Envelope, EnvironmentEvent, StreamOutput};

use super::ReactAgent;
use crate::run_lifecycle::RunStep;

impl ReactAgent {
    /// Stops the run where a tool is about to ask a model and a limit forbids it. The tool asks once this
    /// fact is recorded, and by then it was asked to stop.
    pub(super) fn on_effect_started(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        started: &EffectStarted,
        step: &mut RunStep<'_>,
    ) {
        let is_open = fact.cause.as_ref().is_some_and(|cause| self.ledger.runs(cause));
        if !is_open || !started.asks_model() {
            return;
        }
        if let Some(cause) = self.lifecycle.used_up(&self.config.limits, step) {
            self.begin_stop(cause, step);
        }
    }

    /// Takes the end of a step: the call that was asked about is over, its bill counts for the run, and what
    /// it emits is a chunk of the agent's stream.
    pub(super) fn on_effect_ended(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        ended: &EffectEnded,
        step: &mut RunStep<'_>,
    ) {
        if !fact.cause.as_ref().is_some_and(|cause| self.ledger.runs(cause)) {
            return;
        }
        self.inner_ended(&ended.tool_call_id.inner(ended.step));
        if let Some(bill) = &ended.bill {
            self.lifecycle.pay_for_tool(bill, step);
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
