//! The course of an agent's runs, whichever machine it is: inputs that wait, the run under way, what it says of itself, and what
//! it costs. A machine has one of these, and decides what a run does; each part of it has its own step in the files beside this
//! one: [`inputs`], [`stops`], [`spending`], [`wall_time`] and [`change`] for what comes while it runs.

mod change;
mod inputs;
mod run;
mod spending;
mod stops;
mod wall_time;

use std::sync::Arc;

use agentx_types::{
    ActionBody, ActionId, Assembler, Cancel, Envelope, EnvironmentEvent, Message, ModelRequest, ModelSpec,
    RunId, RunStatus, StateOutput, StopReason, StreamOutput, TurnOutput,
};
use serde::{Deserialize, Serialize};

pub(crate) use change::{add_strict, followed, made_by};
pub use change::{apply, bind_by, hold_to, keep_from};
pub use inputs::{Backlog, Input};
pub(crate) use inputs::{InputQueue, Taken};
pub(crate) use run::Step;
pub use run::{Bill, Pending, Record, Run, StopCause};
pub(crate) use spending::Totals;
pub(crate) use stops::Follows;

/// The runs of one agent.
/// One is under way at most. The last one stays until the next begins: it is what `state` shows, and what children spend late counts with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Course {
    /// What waits.
    pub(crate) inputs: InputQueue,
    /// The run that is under way, or the last one.
    pub(crate) run: Option<Run>,
    /// What all runs have cost.
    pub(crate) totals: Totals,
    /// The answer that comes.
    pub(crate) assembler: Assembler,
}

impl Course {
    /// The run that is under way.
    pub(crate) fn active(&mut self) -> Option<&mut Run> {
        self.run.as_mut().filter(|run| !run.status.is_final())
    }

    /// The id of the run that is under way, or of the last one.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        self.run.as_ref().map(|run| run.id.clone())
    }

    /// Whether the run is being stopped.
    pub(crate) fn is_stopping(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.pending.stop.is_some())
    }

    /// Whether a limit ends the run, or has ended the last one.
    pub(crate) fn is_at_a_limit(&self) -> bool {
        let timed_out = |run: &Run| {
            let stop = run.pending.stop.as_ref();
            run.status == RunStatus::TimedOut || stop.is_some_and(|cause| cause.status == RunStatus::TimedOut)
        };
        self.run.as_ref().is_some_and(timed_out)
    }

    /// Whether the fact answers the model call that is under way.
    /// `cause` is the fact's. A fact without one answers nothing.
    pub(crate) fn answers_model_call(&self, cause: Option<&ActionId>) -> bool {
        cause.is_some() && self.run.as_ref().and_then(|run| run.pending.model_call.as_ref()) == cause
    }

    /// Notes when somebody was last there to go on with the run. Changes and forks say nothing about that: a program that takes
    /// over puts them on record before it says so.
    pub(crate) fn note_time(&mut self, fact: &Envelope<EnvironmentEvent>) {
        let before_a_writer = matches!(
            fact.event,
            EnvironmentEvent::ConfigChanged(_) | EnvironmentEvent::SessionForked(_)
        );
        if let Some(run) = self.active().filter(|_| !before_a_writer) {
            run.seen_at = fact.at;
        }
    }

    /// Opens a run with its timer; what is said in it is for the machine.
    /// No run may be under way. Returns the message of the input.
    pub(crate) fn open(
        &mut self,
        input: Input,
        max_wall_ms: Option<u64>,
        step: &mut Step<'_>,
    ) -> Arc<Message> {
        let message_id = input.message.message_id.clone();
        let mut run = Run::new(input.run_id, message_id.clone(), step.at);
        step.state(StateOutput::RunStarted {
            run_id: run.id.clone(),
            message_id,
        });
        if step.speaks() {
            step.turn(TurnOutput::Request {
                run_id: run.id.clone(),
                text: input.message.text(),
            });
        }
        run.start_timer(max_wall_ms, step);
        if let Some(before) = self.run.as_ref().filter(|_| input.goes_on) {
            run.goes_on_for(before);
        }
        self.run = Some(run);
        input.message
    }

    /// Says where the run stands, if that is news. A run that has ended keeps its status.
    pub(crate) fn set_status(&mut self, status: RunStatus, step: &mut Step<'_>) {
        let Some(run) = self.active().filter(|run| run.status != status) else {
            return;
        };
        run.status = status;
        step.state(StateOutput::RunStatus {
            run_id: run.id.clone(),
            status,
            iterations: run.iterations,
        });
    }

    /// Asks a model for what `request` says, if anybody wants to know; the answer comes as a stream.
    /// `model` is paid for, at its prices of now. Does nothing where no run is under way.
    pub(crate) fn ask(
        &mut self,
        model: &ModelSpec,
        request: impl FnOnce() -> ModelRequest,
        step: &mut Step<'_>,
    ) {
        let Some(run) = self.run.as_mut().filter(|run| !run.status.is_final()) else {
            return;
        };
        self.assembler.asks(&model.id);
        run.pending.model = Some(model.clone());
        run.pending.model_call = Some(step.ask(&run.id, request));
        run.bill.model_calls += 1;
        self.set_status(RunStatus::AwaitingLlm, step);
    }

    /// A stream has ended: says so. `false` where it is not the answer that is awaited.
    pub(crate) fn stream_ended(
        &self,
        fact: &Envelope<EnvironmentEvent>,
        stop_reason: StopReason,
        step: &mut Step<'_>,
    ) -> bool {
        if !self.answers_model_call(fact.cause.as_ref()) {
            return false;
        }
        if self.assembler.is_open() {
            step.stream(StreamOutput::MessageStop { stop_reason });
        }
        true
    }

    /// Ends the run that is under way. `false` where there is none.
    /// `turn_response` is said before `run_finished`, with the bill; `reason` is for people, where there is something to say.
    pub(crate) fn finish(&mut self, status: RunStatus, reason: Option<String>, step: &mut Step<'_>) -> bool {
        let Some(run) = self.active() else { return false };
        if let Some(timer) = run.pending.timer.take() {
            step.act(&run.id, ActionBody::Cancel(Cancel { action_id: timer }));
        }
        run.pending = Pending::default();
        run.status = status;
        let (run_id, iterations, bill) = (run.id.clone(), run.iterations, run.bill);
        if step.speaks() {
            step.turn(TurnOutput::Response {
                run_id: run_id.clone(),
                text: run.last_text.clone(),
                duration_ms: run.used_ms(step.at),
                usage: bill.usage,
                cost: bill.cost,
                model_calls: bill.model_calls,
            });
        }
        step.state(StateOutput::RunFinished {
            run_id,
            status,
            reason,
            iterations,
        });
        true
    }
}
