//! How runs end before their answer: interrupts, limits, errors. Whatever is at work is stopped first.

use agentx_types::{ActionBody, Cancel, Envelope, EnvironmentEvent, ErrorOccurred, Report, RunStatus};

use super::MatchAgent;
use crate::react::{Record, Run, Step, StopCause};

impl MatchAgent {
    pub(super) fn on_interrupt(&mut self, reason: Option<&str>, step: &mut Step<'_>) {
        let reason = reason.unwrap_or("stopped by the user");
        self.stop(StopCause::interrupt(reason), step);
    }

    /// The log says that a run was interrupted: the report that was asked for, or somebody else's word, which then needs no
    /// other.
    pub(super) fn on_interrupted(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        reason: &str,
        step: &mut Step<'_>,
    ) {
        let is_of = |run: &&mut Run| fact.run_id.as_ref().is_none_or(|id| *id == run.id);
        let Some(run) = self.active_run().filter(is_of) else {
            return;
        };
        match &mut run.pending.stop {
            Some(cause) if cause.status == RunStatus::Interrupted => {
                cause.record = Record::Made;
                self.settle(step);
            }
            Some(_) => {}
            None => self.stop(StopCause::interrupt(reason).on_record(), step),
        }
    }

    /// An error ends the run that it belongs to: the one whose model call failed, or the one that it names.
    pub(super) fn on_error(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        error: &ErrorOccurred,
        step: &mut Step<'_>,
    ) {
        let from_model = self.answers_model_call(fact.cause.as_ref());
        if from_model {
            self.cut_off(step);
        }
        let is_of = |run: &&mut Run| from_model || fact.run_id.as_ref() == Some(&run.id);
        let Some(run) = self.active_run().filter(is_of) else {
            return;
        };
        match &mut run.pending.stop {
            Some(cause) => {
                if cause.record == Record::Asked {
                    cause.record = Record::Made;
                }
                self.settle(step);
            }
            None => {
                let cause = StopCause::error(RunStatus::Failed, &error.code, &error.message);
                self.stop(cause.on_record(), step);
            }
        }
    }

    /// The agent is gone: what runs is stopped, and nothing begins any more.
    pub(super) fn on_closed(&mut self, reason: &str, step: &mut Step<'_>) {
        if !self.inputs.close(reason) {
            return;
        }
        if self.active_run().is_some() {
            self.stop(StopCause::interrupt(reason), step);
        } else {
            self.leave(reason.to_owned(), step);
        }
    }

    pub(super) fn on_timer(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut Step<'_>) {
        let max = self.config.limits.max_wall_ms;
        let Some(run) = self.active_run() else { return };
        if let Some(cause) = run.timer_fired(fact.cause.as_ref(), max, step) {
            self.stop(cause, step);
        }
    }

    /// Stops what runs, and goes on where nothing does.
    fn stop(&mut self, cause: StopCause, step: &mut Step<'_>) {
        self.begin_stop(cause, step);
        self.settle(step);
    }

    /// Stops what runs. The first cause counts. Whoever calls this settles the run.
    pub(super) fn begin_stop(&mut self, cause: StopCause, step: &mut Step<'_>) {
        self.plan.clear();
        let at_work = self.at_work().cloned();
        let Some(run) = self.active_run().filter(|run| run.pending.stop.is_none()) else {
            return;
        };
        let on_record = cause.record == Record::Made;
        run.pending.stop = Some(cause);
        let (run_id, model_call) = (run.id.clone(), run.pending.model_call.clone());
        if !on_record || at_work.is_some() || model_call.is_some() {
            self.set_status(RunStatus::Stopping, step);
        }
        if let Some(action_id) = model_call {
            step.act(&run_id, ActionBody::Cancel(Cancel { action_id }));
        }
        if let Some(child) = at_work {
            self.interrupt_child(child, "the agent that made it was stopped", step);
        }
    }

    /// Nothing is open any more: the stop is reported, and when that is on record the run ends.
    pub(super) fn end_stopped(&mut self, cause: StopCause, step: &mut Step<'_>) {
        match cause.record {
            Record::Asked => {}
            Record::Made => self.finish_run(cause.status, Some(cause.message), step),
            Record::Due => {
                let Some(run) = self.active_run() else { return };
                if let Some(stop) = &mut run.pending.stop {
                    stop.record = Record::Asked;
                }
                let report = match cause.status {
                    RunStatus::Interrupted => Report::Interrupted {
                        reason: cause.message,
                    },
                    _ => Report::Error {
                        code: cause.code,
                        message: cause.message,
                    },
                };
                let run_id = run.id.clone();
                step.act(&run_id, ActionBody::Report(report));
            }
        }
    }
}
