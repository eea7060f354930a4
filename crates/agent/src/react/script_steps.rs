//! Follows the tools of this agent step by step: their spending counts for the agent, and their output is
//! part of the agent's stream.
//!
//! A step (*effect*) is an action of a script on the world: a request, a tool call, a model call. It has two
//! facts, `effect_started` before it and `effect_ended` after it. The session's fold keeps the steps, not the
//! agent: a call that is run again gets them. Steps of a call that is not running are ignored.

use agentx_types::{EffectEnded, EffectStarted, Envelope, EnvironmentEvent, StreamOutput};

use super::ReactAgent;
use crate::run_lifecycle::RunStep;

impl ReactAgent {
    /// Stops the run if a tool is about to call a model and a limit forbids it. The tool calls the model only
    /// after this fact is recorded, and by then it has been stopped.
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

    /// Handles the end of a step: its nested call is over, its bill counts for the run, and its output is a
    /// chunk of the agent's stream.
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
