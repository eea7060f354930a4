//! The lifecycle of an agent's runs, for every machine: waiting inputs, the current run, its reports and its
//! costs.
//!
//! Both machines ([`ReactAgent`](crate::ReactAgent) and [`MatchAgent`](crate::MatchAgent)) own one
//! `RunLifecycle`. A machine decides what a run does; `RunLifecycle` implements the parts that both machines
//! share. Each part has its own file beside this one: [`inputs`] for waiting inputs, [`stops`] for interrupts
//! and errors, [`spending`] for the bill, [`wall_time`] for the timer, [`asked_time`] for the time in which a
//! run waits for a person, [`paused_time`] for the time that does not count, [`config_change`] for a
//! configuration that changes while a run continues, and [`modes_of_words`] for words of other people.
//!
//! ```text
//! input ──▶ InputQueue ──open──▶ Run ──ask──▶ awaiting_llm ──answer──▶ … ──finish──▶ final status
//!                                 └───── stop: Due ──report──▶ Asked ──on record──▶ Made ────┘
//! ```
//!
//! Invariants: at most one run is in progress; a run ends exactly once (`run_finished`); its status is final
//! from then on; and a fact that answers another action than the pending one has no effect.

mod asked_time;
mod config_change;
mod inputs;
mod modes_of_words;
mod paused_time;
mod refused_request;
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

pub(crate) use config_change::{add_strict, child_configs_mut, followed, made_by};
pub use config_change::{apply, bind_by, hold_to, keep_from};
pub use inputs::{InputBacklog, RunInput};
pub(crate) use inputs::{InputDecision, InputQueue};
pub(crate) use modes_of_words::mode_of_words;
pub use refused_request::RefusedRequest;
pub(crate) use run::{PendingCheck, PendingContext, RunStep};
pub use run::{PendingRun, Run, RunCost};
pub use spending::Totals;
pub(crate) use stops::StopConsequence;

use crate::limits::ancestor_budgets::stricter_of;
pub(crate) use crate::limits::stop_cause::{StopCause, StopRecord};

/// The runs of one agent.
///
/// At most one is in progress. The last one stays until the next begins: `state` shows it, and later spending
/// of children counts against its limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunLifecycle {
    /// Inputs that wait, and whether they may open runs.
    pub(crate) inputs: InputQueue,
    /// The current run, or the last one.
    pub(crate) run: Option<Run>,
    /// The cost of all runs together, and the size of the last request.
    pub(crate) totals: Totals,
    /// Puts the pieces of a streamed answer together; open between `stream_start` and `stream_end`.
    pub(crate) assembler: Assembler,
}

impl RunLifecycle {
    /// The current run; `None` before the first one and between two.
    pub(crate) fn active(&mut self) -> Option<&mut Run> {
        self.run.as_mut().filter(|run| !run.status.is_final())
    }

    /// The id of the current run, or of the last one.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        self.run.as_ref().map(|run| run.id.clone())
    }

    /// Returns whether a stop was decided for the run. It stays so until the run has ended.
    pub(crate) fn is_stopping(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.pending.stop.is_some())
    }

    /// Returns whether a limit ends the run, or has ended the last one: its status is, or will be,
    /// `timed_out`.
    pub(crate) fn is_at_a_limit(&self) -> bool {
        let timed_out = |run: &Run| {
            let stop = run.pending.stop.as_ref();
            run.status == RunStatus::TimedOut || stop.is_some_and(|cause| cause.status == RunStatus::TimedOut)
        };
        self.run.as_ref().is_some_and(timed_out)
    }

    /// Returns whether the fact with this `cause` answers the model call in progress.
    ///
    /// A fact without a cause answers nothing, and so does one that names a call that was given up: its
    /// tokens came too late.
    pub(crate) fn answers_model_call(&self, cause: Option<&ActionId>) -> bool {
        cause.is_some() && self.run.as_ref().and_then(|run| run.pending.model_call.as_ref()) == cause
    }

    /// Returns whether the call in progress asks another model than this one: a person has chosen this one
    /// since.
    pub(crate) fn asks_other_than(&self, model: &ModelSpec) -> bool {
        let asked = self.run.as_ref().and_then(|run| run.pending.model.as_ref());
        asked.is_some_and(|asked| !asked.is_same(model) || asked.api != model.api)
    }

    /// Records the last time at which a program worked on the run; time after that does not count
    /// (`Run::away_ms`).
    ///
    /// Changes of the configuration, forks and imports are left out: they come before the `writer_attached`
    /// of a program that takes over, and so they do not show that the program before it was still alive.
    pub(crate) fn note_time(&mut self, fact: &Envelope<EnvironmentEvent>) {
        let before_a_writer = matches!(
            fact.event,
            EnvironmentEvent::ConfigChanged(_)
                | EnvironmentEvent::SessionForked(_)
                | EnvironmentEvent::SessionImported(_)
        );
        if let Some(run) = self.active().filter(|_| !before_a_writer) {
            run.seen_at = fact.at;
        }
    }

    /// Opens a run with its timer, and returns the message of the input; the machine decides what follows.
    ///
    /// No run may be in progress. Reports `run_started`, and the request of the turn if anybody listens.
    /// `max_wall_ms` is the limit of the run in milliseconds; without one there is no timer. After the result
    /// of a background agent, the new run continues the last one.
    pub(crate) fn open(
        &mut self,
        input: RunInput,
        max_wall_ms: Option<u64>,
        step: &mut RunStep<'_>,
    ) -> Arc<Message> {
        let message_id = input.message.message_id.clone();
        let mut run = Run::new(input.run_id, message_id.clone(), step.at);
        run.answer_schema = input.answer_schema;
        run.mode_of_words = input.mode_of_words;
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
            run.inherit_usage(before);
            run.mode_of_words = stricter_of(run.mode_of_words, before.mode_of_words);
        }
        self.run = Some(run);
        input.message
    }

    /// Sets the status of the run and reports it, unless the run has it already or has ended.
    pub(crate) fn set_status(&mut self, status: RunStatus, step: &mut RunStep<'_>) {
        let Some(run) = self.active().filter(|run| run.status != status) else {
            return;
        };
        if status != RunStatus::AwaitingApproval {
            run.end_waiting(step.at);
        }
        run.status = status;
        step.state(StateOutput::RunStatus {
            run_id: run.id.clone(),
            status,
            iterations: run.iterations,
        });
    }

    /// Requests a model call with `request`; the answer comes as a stream whose facts have the action's id as
    /// their `cause`.
    ///
    /// `request` is only called if somebody reads the action: a replay need not build requests. The call is
    /// paid at the current prices of `model`, even if another one is chosen meanwhile. Does nothing if no run
    /// is in progress.
    pub(crate) fn request_model_call(
        &mut self,
        model: &ModelSpec,
        request: impl FnOnce() -> ModelRequest,
        step: &mut RunStep<'_>,
    ) {
        let Some(run) = self.run.as_mut().filter(|run| !run.status.is_final()) else {
            return;
        };
        self.assembler.set_model(&model.id);
        run.pending.model = Some(model.clone());
        run.pending.retry_at = None;
        run.pending.model_call = Some(step.request_model_call(&run.id, request));
        run.bill.model_calls += 1;
        self.set_status(RunStatus::AwaitingLlm, step);
    }

    /// Reports the end of a stream. Returns `false` if it is not the awaited answer; the caller then ignores
    /// the fact.
    pub(crate) fn stream_ended(
        &self,
        fact: &Envelope<EnvironmentEvent>,
        stop_reason: StopReason,
        step: &mut RunStep<'_>,
    ) -> bool {
        if !self.answers_model_call(fact.cause.as_ref()) {
            return false;
        }
        if self.assembler.is_open() {
            step.stream(StreamOutput::MessageStop { stop_reason });
        }
        true
    }

    /// Ends the current run, and cancels its timer. Returns `false` if there is no run.
    ///
    /// Reports the turn's response with the bill, then `run_finished`. `reason` is for people, if there is
    /// one. The machine begins the next work.
    pub(crate) fn finish(
        &mut self,
        status: RunStatus,
        reason: Option<String>,
        step: &mut RunStep<'_>,
    ) -> bool {
        let Some(run) = self.active() else { return false };
        if let Some(timer) = run.pending.timer.take() {
            step.request_action(&run.id, ActionBody::Cancel(Cancel { action_id: timer }));
        }
        run.pending = PendingRun::default();
        run.end_waiting(step.at);
        run.status = status;
        let (run_id, iterations, bill) = (run.id.clone(), run.iterations, run.bill);
        if step.speaks() {
            step.turn(TurnOutput::Response {
                run_id: run_id.clone(),
                text: run.last_text.clone(),
                duration_ms: run.worked_ms(step.at),
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
