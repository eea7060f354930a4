//! How runs end before their answer: interrupts, limits, errors, and what another process left open.

use agentx_types::{
    ActionBody, Cancel, Envelope, EnvironmentEvent, Report, RunStatus, StartTimer, Timer, ToolStatus,
};

use super::ReactAgent;
use super::run::{Step, StopCause};
use crate::ledger::CallStage;

/// What the model is told about a call that the program died under.
const OUTCOME_UNKNOWN: &str = "The program stopped while this call was running. It may or may not have had its effect: look before you repeat it.";
const STOPPED: &str = "The run was stopped before this call ended.";

impl ReactAgent {
    pub(super) fn on_interrupt(&mut self, reason: Option<&str>, step: &mut Step<'_>) {
        let reason = reason.unwrap_or("stopped by the user").to_owned();
        self.begin_stop(
            StopCause {
                status: RunStatus::Interrupted,
                code: String::new(),
                message: reason,
                reported: false,
            },
            step,
        );
    }

    pub(super) fn on_timer(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut Step<'_>) {
        let max = self.config.limits.max_wall_ms;
        let Some(run) = self.active_run() else { return };
        if run.pending.timer.is_none() || run.pending.timer != fact.cause {
            return;
        }
        run.pending.timer = None;
        let run_id = run.id.clone();
        let used = step.at.millis_since(run.started_at);
        match max {
            // The limit was raised while the run was under way, or lifted.
            Some(max) if used < max => {
                let timer = StartTimer {
                    after_ms: max - used,
                    timer: Timer::RunLimit,
                };
                let action_id = step.act(&run_id, ActionBody::StartTimer(timer));
                if let Some(run) = self.active_run() {
                    run.pending.timer = Some(action_id);
                }
            }
            Some(max) => {
                let message = format!("the limit of {} s for one run is reached", max as f64 / 1000.0);
                self.begin_stop(
                    StopCause {
                        status: RunStatus::TimedOut,
                        code: "time_limit".into(),
                        message,
                        reported: false,
                    },
                    step,
                );
            }
            None => {}
        }
    }

    /// Ends a run that waits for nothing, with an error on record.
    pub(super) fn stop_for(&mut self, status: RunStatus, code: &str, message: &str, step: &mut Step<'_>) {
        let cause = StopCause {
            status,
            code: code.to_owned(),
            message: message.to_owned(),
            reported: false,
        };
        self.begin_stop(cause, step);
    }

    /// Stops what runs. The first cause counts.
    fn begin_stop(&mut self, cause: StopCause, step: &mut Step<'_>) {
        let Some(run) = self.active_run().filter(|run| run.pending.stop.is_none()) else {
            return;
        };
        run.pending.stop = Some(cause);
        let run_id = run.id.clone();
        let mut running = Vec::from_iter(run.pending.model_call.clone());
        self.set_status(RunStatus::Stopping, step);
        for index in 0..self.ledger.entries().len() {
            match &self.ledger.entries()[index].stage {
                CallStage::AwaitingApproval(_) => {
                    self.answer_open(index, ToolStatus::Interrupted, STOPPED.to_owned(), step)
                }
                CallStage::Running { action_id, .. } => running.push(action_id.clone()),
                CallStage::Answering { .. } | CallStage::Resolved { .. } => {}
            }
        }
        for action_id in running {
            step.act(&run_id, ActionBody::Cancel(Cancel { action_id }));
        }
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
        if run.pending.stop.is_some() {
            self.report_stop(step);
        } else if run.pending.quit {
            self.finish_run(RunStatus::Completed, None, step);
        } else {
            self.call_model(step);
        }
    }

    fn report_stop(&mut self, step: &mut Step<'_>) {
        let Some(run) = self.active_run() else { return };
        let Some(cause) = run.pending.stop.as_mut().filter(|cause| !cause.reported) else {
            return;
        };
        cause.reported = true;
        let report = match cause.status {
            RunStatus::Interrupted => Report::Interrupted {
                reason: cause.message.clone(),
            },
            _ => Report::Error {
                code: cause.code.clone(),
                message: cause.message.clone(),
            },
        };
        let run_id = run.id.clone();
        step.act(&run_id, ActionBody::Report(report));
    }

    /// An error ends the run that it belongs to: the one whose model call failed, or the one that reported it.
    pub(super) fn on_error(&mut self, fact: &Envelope<EnvironmentEvent>, message: &str, step: &mut Step<'_>) {
        let from_model = self.answers_model_call(fact.cause.as_ref());
        let Some(run) = self
            .active_run()
            .filter(|run| from_model || fact.run_id.as_ref() == Some(&run.id))
        else {
            return;
        };
        run.pending.model_call = None;
        let partial = run.pending.partial.take();
        let status = match &run.pending.stop {
            Some(cause) => cause.status,
            None => RunStatus::Failed,
        };
        self.keep_partial(partial, step);
        if self.ledger.is_settled() {
            if !self.ledger.is_empty() {
                self.close_round(step);
            }
            self.finish_run(status, Some(message.to_owned()), step);
        } else {
            self.stop_for(RunStatus::Failed, "error", message, step);
        }
    }

    /// A fork goes on from here without what its parent had under way.
    pub(super) fn on_forked(&mut self) {
        self.assembler = Default::default();
        let Some(run) = self.active_run() else { return };
        run.pending.model_call = None;
        run.pending.stop.get_or_insert(StopCause {
            status: RunStatus::Interrupted,
            code: String::new(),
            message: "forked".to_owned(),
            reported: false,
        });
    }

    /// Another process takes over: whatever the old one had under way has ended without a word. A model call is made again, a
    /// call that never began or may be repeated is run again, any other is answered as unknown.
    pub(super) fn on_writer_attached(&mut self, step: &mut Step<'_>) {
        let Some(run) = self.active_run() else { return };
        let asked_model = run.pending.model_call.take().is_some();
        if let Some(cause) = &mut run.pending.stop {
            cause.reported = false;
        }
        let stopping = run.pending.stop.is_some();
        self.restart_timer(step);
        if asked_model {
            let partial = self.assembler.finish_partial();
            if stopping {
                self.keep_partial(partial.message, step);
            }
        }
        for index in 0..self.ledger.entries().len() {
            self.recover_call(index, stopping, step);
        }
        if asked_model && !stopping {
            self.call_model(step);
        } else {
            self.settle(step);
        }
    }

    fn restart_timer(&mut self, step: &mut Step<'_>) {
        let max = self.config.limits.max_wall_ms;
        let Some(run) = self.active_run() else { return };
        if run.pending.timer.is_none() {
            return;
        }
        let after_ms = max
            .unwrap_or(0)
            .saturating_sub(step.at.millis_since(run.started_at));
        let run_id = run.id.clone();
        let action_id = step.act(
            &run_id,
            ActionBody::StartTimer(StartTimer {
                after_ms,
                timer: Timer::RunLimit,
            }),
        );
        if let Some(run) = self.active_run() {
            run.pending.timer = Some(action_id);
        }
    }

    fn recover_call(&mut self, index: usize, stopping: bool, step: &mut Step<'_>) {
        let entry = self.ledger.entries()[index].clone();
        let idempotent = self.tool(&entry.call.name).is_some_and(|tool| tool.idempotent);
        match entry.stage {
            CallStage::Resolved { .. } => {}
            CallStage::Answering { status, text, .. } => self.answer_open(index, status, text, step),
            CallStage::AwaitingApproval(_) if !stopping => {}
            CallStage::Running { started: true, .. } if !idempotent => {
                self.answer_open(index, ToolStatus::Unknown, OUTCOME_UNKNOWN.to_owned(), step);
            }
            CallStage::AwaitingApproval(_) | CallStage::Running { .. } if stopping => {
                self.answer_open(index, ToolStatus::Interrupted, STOPPED.to_owned(), step);
            }
            CallStage::AwaitingApproval(_) => {}
            CallStage::Running {
                outside_workspace, ..
            } => {
                let stage = self.run_call(&entry.call, outside_workspace, step);
                self.ledger.entries_mut()[index].stage = stage;
            }
        }
    }
}
