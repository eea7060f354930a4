//! How runs end before their answer: interrupts, limits, errors.

use agentx_types::{
    ActionBody, Cancel, Envelope, EnvironmentEvent, ErrorOccurred, Report, RunStatus, StateOutput, ToolStatus,
};

use super::ReactAgent;
use super::run::{Record, Run, Step, StopCause};
use crate::ledger::CallStage;

/// What the model is told about a call that did not come to its end.
pub(super) const STOPPED: &str = "The run was stopped before this call ended.";

impl ReactAgent {
    pub(super) fn on_interrupt(&mut self, reason: Option<&str>, step: &mut Step<'_>) {
        let reason = reason.unwrap_or("stopped by the user");
        self.begin_stop(StopCause::interrupt(reason), step);
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
            None => self.begin_stop(StopCause::interrupt(reason).on_record(), step),
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
            if error.code == "context_window" {
                self.conversation.overflowed();
            }
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
                self.begin_stop(cause.on_record(), step);
            }
        }
    }

    /// The agent is gone: what runs is stopped, and nothing begins any more.
    pub(super) fn on_closed(&mut self, reason: &str, step: &mut Step<'_>) {
        if !self.inputs.close(reason) {
            return;
        }
        if self.active_run().is_some() {
            self.begin_stop(StopCause::interrupt(reason), step);
        } else {
            let reason = reason.to_owned();
            step.state(StateOutput::Closed { reason });
        }
    }

    pub(super) fn on_timer(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut Step<'_>) {
        let max = self.config.limits.max_wall_ms;
        let Some(run) = self.active_run() else { return };
        if let Some(cause) = run.timer_fired(fact.cause.as_ref(), max, step) {
            self.begin_stop(cause, step);
        }
    }

    /// Starts the timer of the wall time limit, if there is one, for what is left of it.
    pub(super) fn start_timer(&mut self, step: &mut Step<'_>) {
        let max = self.config.limits.max_wall_ms;
        if let Some(run) = self.active_run() {
            run.start_timer(max, step);
        }
    }

    /// Stops what runs. The first cause counts.
    pub(super) fn begin_stop(&mut self, cause: StopCause, step: &mut Step<'_>) {
        let Some(run) = self.active_run().filter(|run| run.pending.stop.is_none()) else {
            return;
        };
        let on_record = cause.record == Record::Made;
        run.pending.stop = Some(cause);
        let run_id = run.id.clone();
        let mut running = Vec::from_iter(run.pending.model_call.clone());
        if !(on_record && running.is_empty() && self.ledger.is_settled()) {
            self.set_status(RunStatus::Stopping, step);
        }
        for index in 0..self.ledger.entries().len() {
            match &self.ledger.entries()[index].stage {
                CallStage::AwaitingApproval(_) => {
                    self.answer_open(index, ToolStatus::Interrupted, STOPPED.to_owned(), step)
                }
                CallStage::Running { action_id, .. } => running.push(action_id.clone()),
                CallStage::Answering { .. } | CallStage::Delegated { .. } | CallStage::Resolved { .. } => {}
            }
        }
        for action_id in running {
            step.act(&run_id, ActionBody::Cancel(Cancel { action_id }));
        }
        self.interrupt_children(step);
        self.settle(step);
    }

    /// Goes on when nothing is open any more: to the report of a stop, to the end, or to the next model call.
    pub(super) fn settle(&mut self, step: &mut Step<'_>) {
        let Some(run) = self.run.as_ref().filter(|run| !run.status.is_final()) else {
            return;
        };
        if run.pending.model_call.is_some() || !self.ledger.is_settled() {
            return;
        }
        if !self.ledger.is_empty() {
            self.close_round(step);
        }
        let Some(run) = self.active_run() else { return };
        if let Some(cause) = run.pending.stop.clone() {
            self.end_stopped(cause, step);
        } else if run.pending.quit {
            self.finish_run(RunStatus::Completed, None, step);
        } else {
            self.call_model(step);
        }
    }

    /// Nothing is open any more: the stop is reported, and when that is on record the run ends.
    fn end_stopped(&mut self, cause: StopCause, step: &mut Step<'_>) {
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
