//! The limit on the time of a run: a timer that is part of the run, for every machine.
//!
//! A timer is an action (`start_timer`), and `timer_fired` answers it. The agent has no clock: it compares
//! the time of the fact with the time at which the run began, less the time in which no program ran
//! (`Run::used_ms`). So a timer that fires early, because the limit was raised or a program was away, only
//! starts the next one. All times are milliseconds.

use agentx_types::{ActionBody, ActionId, Cancel, RunStatus, StartTimer, Timer};

use super::{Run, RunStep, StopCause};

impl Run {
    /// Starts the timer for the rest of the limit. Without a limit there is no timer.
    pub(super) fn start_timer(&mut self, max_ms: Option<u64>, step: &mut RunStep<'_>) {
        self.pending.timer = max_ms.map(|max| {
            let timer = StartTimer {
                after_ms: max.saturating_sub(self.used_ms(step.at)),
                timer: Timer::RunLimit,
                wait: None,
            };
            step.request_action(&self.id, ActionBody::StartTimer(timer))
        });
    }

    /// Starts a new timer after another process took over: the one that ran the old timer is gone. A run that
    /// is being stopped needs none.
    pub(crate) fn take_up_timer(&mut self, max_ms: Option<u64>, step: &mut RunStep<'_>) {
        self.pending.timer = None;
        if self.pending.stop.is_none() {
            self.start_timer(max_ms, step);
        }
    }

    /// The timer that `action` started is due. Returns the cause to stop the run, if that was its timer and
    /// its time is used up.
    ///
    /// A timer of an earlier run, or one that was replaced, is ignored.
    pub(super) fn timer_fired(
        &mut self,
        action: Option<&ActionId>,
        max_ms: Option<u64>,
        step: &mut RunStep<'_>,
    ) -> Option<StopCause> {
        if self.pending.timer.is_none() || self.pending.timer.as_ref() != action {
            return None;
        }
        self.pending.timer = None;
        let max = max_ms?;
        if self.used_ms(step.at) < max {
            // The limit was raised while the run was in progress.
            self.start_timer(max_ms, step);
            return None;
        }
        let message = format!("the limit of {} s for one run is reached", max as f64 / 1000.0);
        Some(StopCause::error(RunStatus::TimedOut, "time_limit", &message))
    }

    /// The limit changes from `before` to `max_ms` while the run is in progress.
    ///
    /// A limit that is new or lower needs a timer that is due earlier. A higher one needs nothing: the old
    /// timer starts the next when it is due. If the limit was removed, the timer fires without effect.
    pub(super) fn wall_time_changed(
        &mut self,
        before: Option<u64>,
        max_ms: Option<u64>,
        step: &mut RunStep<'_>,
    ) {
        let sooner = max_ms.is_some_and(|max| before.is_none_or(|before| max < before));
        let needed = sooner || (max_ms.is_some() && self.pending.timer.is_none());
        if before == max_ms || self.pending.stop.is_some() || !needed {
            return;
        }
        if let Some(action_id) = self.pending.timer.take() {
            step.request_action(&self.id, ActionBody::Cancel(Cancel { action_id }));
        }
        self.start_timer(max_ms, step);
    }
}
