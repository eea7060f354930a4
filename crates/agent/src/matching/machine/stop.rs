//! The end of runs before their answer: interrupts, limits, errors.
//!
//! The plan is dropped, the model call is cancelled, and the working child is interrupted. Only after the
//! child has reported its end, the stop is recorded and the run ends (`proceed`, in `plan`).

use agentx_types::{ActionBody, Cancel, Envelope, EnvironmentEvent, ErrorOccurred, RunStatus};

use super::MatchAgent;
use crate::run_lifecycle::{RunStep, StopCause, StopConsequence, StopRecord};

impl MatchAgent {
    /// Handles an error. One of the model call that was in progress ends its answer too; nothing is repaired
    /// here, because a request holds one input and the rules.
    pub(super) fn on_error(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        error: &ErrorOccurred,
        step: &mut RunStep<'_>,
    ) {
        let from_model = self.lifecycle.answers_model_call(fact.cause.as_ref());
        if from_model {
            self.cut_off(step);
        }
        let follows = self.lifecycle.failed(fact, error, from_model);
        self.follow(follows, step);
    }

    /// Executes the consequence of a fact that stops runs.
    pub(super) fn follow(&mut self, follows: StopConsequence, step: &mut RunStep<'_>) {
        match follows {
            StopConsequence::Nothing => {}
            StopConsequence::GoOn => self.proceed(step),
            StopConsequence::Stop(cause) => self.stop(cause, step),
            StopConsequence::Leave(reason) => self.leave(reason, step),
        }
    }

    /// Stops the current work, and ends the run at once if there is none.
    pub(super) fn stop(&mut self, cause: StopCause, step: &mut RunStep<'_>) {
        self.begin_stop(cause, step);
        self.proceed(step);
    }

    /// Stops the current work. The first cause counts, and the plan is always dropped. The caller has to call
    /// `proceed`.
    pub(super) fn begin_stop(&mut self, cause: StopCause, step: &mut RunStep<'_>) {
        self.plan.clear();
        let at_work = self.at_work().cloned();
        let Some(run) = self.lifecycle.active().filter(|run| run.pending.stop.is_none()) else {
            return;
        };
        let on_record = cause.record == StopRecord::Made;
        let why = format!("the agent that made it was stopped: {}", cause.message);
        run.pending.stop = Some(cause);
        let (run_id, model_call) = (run.id.clone(), run.pending.model_call.clone());
        if !on_record || at_work.is_some() || model_call.is_some() {
            self.lifecycle.set_status(RunStatus::Stopping, step);
        }
        if let Some(action_id) = model_call {
            step.request_action(&run_id, ActionBody::Cancel(Cancel { action_id }));
        }
        if let Some(child) = at_work {
            self.interrupt_child(child, &why, step);
        }
    }
}
