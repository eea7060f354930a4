//! Settles the work that another process left open.
//!
//! An input to a child is recorded with the fact from which it follows, so a child either has it or never got
//! it, and continues on its own. Only the model call of this machine is repeated, and its partial answer
//! forgotten. In a fork, the working child stays behind: its run belongs to the other session, so it is
//! released, and closed once there is a writer.

use agentx_types::RunStatus;

use super::MatchAgent;
use crate::run_lifecycle::RunStep;

impl MatchAgent {
    /// A fork or an imported session continues from here without the original's work in progress: the plan is
    /// dropped, and the run ends as interrupted (`why`).
    ///
    /// The child whose work stayed behind is abandoned. Its run ends first, if it has one; the fork may begin
    /// before that run.
    pub(super) fn on_copied(&mut self, why: &str, hold: bool, step: &mut RunStep<'_>) {
        if let Some(mut work) = self.at_work.take() {
            work.leaving = true;
            self.left_behind.push(work.child.clone());
            // An agent that is not among them was left behind by an earlier fork, with its run.
            let child = self.children.iter().find(|child| child.id == work.child);
            let runs = child.is_none_or(|child| child.runs);
            self.children.retain(|child| child.id != work.child);
            self.at_work = runs.then_some(work);
        }
        self.plan.clear();
        let Some(asked_model) = self.lifecycle.copied(why, hold) else {
            return;
        };
        if asked_model {
            self.cut_off(step);
        }
        self.lifecycle.set_status(RunStatus::Stopping, step);
    }

    /// Repeats the model call that was in progress, unless a limit now forbids it.
    fn ask_again(&mut self, step: &mut RunStep<'_>) {
        self.set_aside(step);
        match self.lifecycle.used_up(&self.config.limits, step) {
            Some(cause) => {
                self.cut_off(step);
                self.stop(cause, step);
            }
            None => self.call_model(step),
        }
    }

    /// Another process takes over: children that stayed behind are closed, the model call that was in
    /// progress is made again, and the timer starts again. A working child continues on its own.
    pub(super) fn on_writer_attached(&mut self, step: &mut RunStep<'_>) {
        for child in std::mem::take(&mut self.left_behind) {
            self.close_child(child, "its work stayed behind in another session", step);
        }
        let max = self.config.limits.max_wall_ms;
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        run.on_takeover(step.at);
        let stopping = run.pending.stop.is_some();
        let asked_model = run.pending.model_call.is_some();
        run.take_up_timer(max, step);
        if asked_model {
            let request = self.estimated_request();
            self.lifecycle.estimate_dead_answer(request, &self.config);
        }
        if asked_model && stopping {
            self.cut_off(step);
        } else if asked_model {
            return self.ask_again(step);
        }
        if self.at_work.is_some() {
            self.lifecycle.set_status(
                if stopping {
                    RunStatus::Stopping
                } else {
                    RunStatus::AwaitingTool
                },
                step,
            );
        }
        self.proceed(step);
    }
}
