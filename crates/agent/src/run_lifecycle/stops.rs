//! The end of runs before their answer: the part that all machines share.
//!
//! This file decides the effect of an interrupt, an error or a timer on the run in progress
//! ([`StopConsequence`]), and how the end is recorded. The machine decides what to cancel: `react/stop.rs`
//! and `matching/machine/stop.rs`.
//!
//! | fact | run in progress | consequence |
//! | --- | --- | --- |
//! | `interrupt_requested` | any | `Stop`; the machine ignores a second one |
//! | `interrupted` | being interrupted | `GoOn`: the report is there |
//! | `interrupted` | not being stopped | `Stop`, already on record |
//! | `timer_fired` of the run, time used up | yes | `Stop` with `time_limit` |
//! | `agent_closed` of this agent | yes / no | `Stop` / `Leave` |
//! | an error of its model call, or one that names it | being stopped / not | `GoOn` / `Stop`, already on record |
//!
//! | cause | status of the run | code |
//! | --- | --- | --- |
//! | `StopCause::interrupt` | `interrupted` | empty |
//! | `StopCause::limit` | `timed_out` | that of the limit, such as `cost_limit` |
//! | `StopCause::error` | from its caller | from its caller |

use agentx_types::{
    ActionBody, Envelope, EnvironmentEvent, ErrorOccurred, Limits, Report, RunStatus, Source, Timestamp,
};

use crate::limits::{self, RunSpending};

use super::{Run, RunLifecycle, RunStep, StopCause, StopRecord};

/// The consequence, for the machine, of a fact that stops runs. The lifecycle decides whether and why; the
/// machine knows the running work.
pub(crate) enum StopConsequence {
    /// No run is in progress, or the fact does not concern it.
    Nothing,
    /// The run continues to its end: the log has the fact that it waited for.
    GoOn,
    /// The run has to stop, for this cause.
    Stop(StopCause),
    /// The agent is gone, for this reason, and has no run that would have to end first.
    Leave(String),
}

impl RunLifecycle {
    /// The consequence of an interrupt, a timer, or the end of the agent. `max_wall_ms` is the limit of a run
    /// in milliseconds.
    ///
    /// An interrupt with `hold` also holds back queued inputs, because the session is being closed. If an
    /// agent above interrupts this one for a limit that both share, the run ends as `timed_out` with that
    /// limit, and not as interrupted.
    pub(crate) fn on_stop_fact(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        max_wall_ms: Option<u64>,
        step: &mut RunStep<'_>,
    ) -> StopConsequence {
        match &fact.event {
            EnvironmentEvent::InterruptRequested(request) => {
                let reason = request.reason.as_deref().unwrap_or("stopped by the user");
                if request.hold {
                    self.inputs.hold();
                }
                // An agent stops another one: if a limit that both share is why, that is how the run ends.
                let limit = step.stops_above().filter(|_| fact.source == Source::Agent);
                StopConsequence::Stop(limit.unwrap_or_else(|| StopCause::interrupt(reason)))
            }
            EnvironmentEvent::Interrupted(interrupted) => self.interrupted(fact, &interrupted.reason),
            EnvironmentEvent::TimerFired(_) => self
                .active()
                .and_then(|run| run.timer_fired(fact.cause.as_ref(), max_wall_ms, step))
                .map_or(StopConsequence::Nothing, StopConsequence::Stop),
            EnvironmentEvent::AgentClosed(closed) if closed.agent_state_id == *step.agent => {
                self.close(&closed.reason)
            }
            _ => StopConsequence::Nothing,
        }
    }

    /// The log has the interruption of a run. That is the report that this agent requested, or one from
    /// elsewhere, which then replaces it. A fact that names another run is ignored.
    fn interrupted(&mut self, fact: &Envelope<EnvironmentEvent>, reason: &str) -> StopConsequence {
        let is_of = |run: &&mut Run| fact.run_id.as_ref().is_none_or(|id| *id == run.id);
        let Some(run) = self.active().filter(is_of) else {
            return StopConsequence::Nothing;
        };
        match &mut run.pending.stop {
            Some(cause) if cause.status == RunStatus::Interrupted => {
                cause.record = StopRecord::Made;
                StopConsequence::GoOn
            }
            Some(_) => StopConsequence::Nothing,
            None => StopConsequence::Stop(StopCause::interrupt(reason).on_record()),
        }
    }

    /// An error ends the run that it belongs to: the one whose model call failed (`from_model`), or the one
    /// that the fact names.
    ///
    /// If the run is already being stopped, the error counts as the requested report, and the first cause
    /// stays.
    pub(crate) fn failed(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        error: &ErrorOccurred,
        from_model: bool,
    ) -> StopConsequence {
        let is_of = |run: &&mut Run| from_model || fact.run_id.as_ref() == Some(&run.id);
        let Some(run) = self.active().filter(is_of) else {
            return StopConsequence::Nothing;
        };
        match &mut run.pending.stop {
            Some(cause) => {
                if cause.record == StopRecord::Asked {
                    cause.record = StopRecord::Made;
                }
                StopConsequence::GoOn
            }
            None => {
                let cause = StopCause::error(RunStatus::Failed, &error.code, &error.message);
                StopConsequence::Stop(cause.on_record())
            }
        }
    }

    /// The agent is closed: nothing begins any more, and the current run is stopped. A second `agent_closed`
    /// is ignored.
    fn close(&mut self, reason: &str) -> StopConsequence {
        if !self.inputs.close(reason) {
            StopConsequence::Nothing
        } else if self.active().is_some() {
            StopConsequence::Stop(StopCause::interrupt(reason))
        } else {
            StopConsequence::Leave(reason.to_owned())
        }
    }

    /// The limit that forbids another model call in this run: its own first, then that of an agent above.
    /// `None` if it may.
    pub(crate) fn used_up(&mut self, limits: &Limits, step: &RunStep<'_>) -> Option<StopCause> {
        let run = self.active()?;
        let own = limits::used_up(&run.raised.raise_limits(*limits), &run.spent(), None);
        own.map(|limit| StopCause::limit(&limit))
            .or_else(|| step.used_up_above())
    }

    /// Returns whether a run that continues for the last one could ask no model, because that one has used up
    /// the limits.
    pub(crate) fn is_used_up(&self, limits: &Limits, step: &RunStep<'_>) -> bool {
        let own = match &self.run {
            Some(run) => limits::used_up(&run.raised.raise_limits(*limits), &run.spent(), None),
            None => limits::used_up(limits, &RunSpending::default(), None),
        };
        own.is_some() || step.used_up_above().is_some()
    }

    /// The session continues as a copy, without the work in progress of the original: the run ends as
    /// interrupted, because of `why`.
    ///
    /// Returns whether a model call was in progress; `None` if no run was. `hold` also holds back queued
    /// inputs.
    pub(crate) fn copied(&mut self, why: &str, hold: bool) -> Option<bool> {
        if hold {
            self.inputs.hold();
        }
        let run = self.active()?;
        run.pending.stop.get_or_insert(StopCause::interrupt(why));
        Some(run.pending.model_call.is_some())
    }

    /// Continues a stop once nothing is open: requests the report if it is due, waits for it, and returns the
    /// end of the run once the log has it.
    pub(crate) fn end_stopped(
        &mut self,
        cause: StopCause,
        step: &mut RunStep<'_>,
    ) -> Option<(RunStatus, String)> {
        match cause.record {
            StopRecord::Asked => None,
            StopRecord::Made => Some((cause.status, cause.message)),
            StopRecord::Due => {
                let run = self.active()?;
                if let Some(stop) = &mut run.pending.stop {
                    stop.record = StopRecord::Asked;
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
                step.request_action(&run.id, ActionBody::Report(report));
                None
            }
        }
    }
}

impl Run {
    /// Another process takes over: the time until now counts as away, and a report that was requested from
    /// the old process is due again.
    pub(crate) fn on_takeover(&mut self, at: Timestamp) {
        self.come_back(at);
        if let Some(cause) = &mut self.pending.stop
            && cause.record == StopRecord::Asked
        {
            cause.record = StopRecord::Due;
        }
    }
}
