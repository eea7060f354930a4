//! How long a run may take: a timer that is part of it, whichever machine runs it. Time in which no program was there counts
//! against no limit.

use agentx_types::{ActionBody, ActionId, Cancel, RunStatus, StartTimer, Timer};

use super::{Run, Step, StopCause};

impl Run {
    /// Starts the timer for what is left of the limit, if there is one.
    /// The timer is an action: `timer_fired` with its id answers it. Milliseconds.
    pub(super) fn start_timer(&mut self, max_ms: Option<u64>, step: &mut Step<'_>) {
        self.pending.timer = max_ms.map(|max| {
            let timer = StartTimer {
                after_ms: max.saturating_sub(self.used_ms(step.at)),
                timer: Timer::RunLimit,
            };
            step.act(&self.id, ActionBody::StartTimer(timer))
        });
    }

    /// The process that ran the timer is gone, and a run that is being stopped needs no other.
    pub(crate) fn take_up_timer(&mut self, max_ms: Option<u64>, step: &mut Step<'_>) {
        self.pending.timer = None;
        if self.pending.stop.is_none() {
            self.start_timer(max_ms, step);
        }
    }

    /// A timer is due that `action` started. Why the run has to stop, where it was the run's and its time is used up.
    pub(super) fn timer_fired(
        &mut self,
        action: Option<&ActionId>,
        max_ms: Option<u64>,
        step: &mut Step<'_>,
    ) -> Option<StopCause> {
        if self.pending.timer.is_none() || self.pending.timer.as_ref() != action {
            return None;
        }
        self.pending.timer = None;
        let max = max_ms?;
        if self.used_ms(step.at) < max {
            // The limit was raised while the run was under way.
            self.start_timer(max_ms, step);
            return None;
        }
        let message = format!("the limit of {} s for one run is reached", max as f64 / 1000.0);
        Some(StopCause::error(RunStatus::TimedOut, "time_limit", &message))
    }

    /// A limit that is new or lower than before needs a timer that is due earlier; for a higher one, the old timer starts the
    /// next when it is due.
    pub(super) fn wall_time_changed(
        &mut self,
        before: Option<u64>,
        max_ms: Option<u64>,
        step: &mut Step<'_>,
    ) {
        let sooner = max_ms.is_some_and(|max| before.is_none_or(|before| max < before));
        let needed = sooner || (max_ms.is_some() && self.pending.timer.is_none());
        if before == max_ms || self.pending.stop.is_some() || !needed {
            return;
        }
        if let Some(action_id) = self.pending.timer.take() {
            step.act(&self.id, ActionBody::Cancel(Cancel { action_id }));
        }
        self.start_timer(max_ms, step);
    }
}
