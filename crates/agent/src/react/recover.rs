//! What another process left open.

use agentx_types::{RunStatus, ToolStatus};

use super::ReactAgent;
use super::stop::STOPPED;
use crate::course::Step;
use crate::ledger::CallStage;

/// What the model is told about a call that was cut off.
const OUTCOME_UNKNOWN: &str = "This call was cut off while it was running, because the program that ran it stopped. It may or may not have had its effect: look before you repeat it.";

impl ReactAgent {
    /// A fork goes on from here without what its parent had under way: the run ends as interrupted once a writer has
    /// settled its calls.
    pub(super) fn on_forked(&mut self, hold: bool, step: &mut Step<'_>) {
        self.forget_condensing();
        let Some(asked_model) = self.course.forked(hold) else {
            return;
        };
        if asked_model {
            self.cut_off(step);
        }
        self.course.set_status(RunStatus::Stopping, step);
    }

    /// Another process takes over: whatever the old one had under way has ended without a word. A model call is made again, a
    /// call that never began or may be repeated is run again, any other is answered as unknown.
    pub(super) fn on_writer_attached(&mut self, step: &mut Step<'_>) {
        let max = self.config.limits.max_wall_ms;
        self.recover_condensing();
        let Some(run) = self.course.active() else {
            self.condense_as_wanted(step);
            return;
        };
        run.taken_over(step.at);
        let stopping = run.pending.stop.is_some();
        let asked_model = run.pending.model_call.is_some();
        if asked_model && stopping {
            self.cut_off(step);
        } else if asked_model {
            self.set_aside(step);
        }
        if let Some(run) = self.course.active() {
            // A summary may have to come first: nobody waits for the old call any more.
            run.pending.model_call = None;
            run.take_up_timer(max, step);
        }
        for index in 0..self.ledger.entries().len() {
            self.recover_call(index, stopping, step);
        }
        self.reconsider(step);
        self.update_waiting_status(step);
        if asked_model && !stopping {
            self.call_model(step);
        } else {
            self.settle(step);
        }
    }

    fn recover_call(&mut self, index: usize, stopping: bool, step: &mut Step<'_>) {
        let entry = self.ledger.entries()[index].clone();
        let idempotent = self.tool(&entry.call.name).is_some_and(|tool| tool.idempotent);
        match entry.stage {
            // An agent that was made for a call goes on by itself.
            CallStage::Resolved { .. } | CallStage::Delegated { .. } => {}
            CallStage::Answering { status, text, .. } => self.answer_open(index, status, text, step),
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
