//! Measures the time for which a run has been worked on. The time in which a person is asked does not count.

use tokio::time::{Duration, Instant};

use super::Activity;

impl Activity {
    /// Returns how long the latest run has been worked on.
    pub(crate) fn run_time(&self, now: Instant) -> Duration {
        self.run.time(now)
    }
}

/// The clock of the latest run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunClock {
    began: Instant,
    /// The time in which people were asked until now.
    asked: Duration,
    /// The time since which a person is asked; `None` while nobody is.
    asked_at: Option<Instant>,
}

impl RunClock {
    /// The clock of a run that begins now.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            began: now,
            asked: Duration::ZERO,
            asked_at: None,
        }
    }

    /// Notes whether the run waits for a person.
    pub(super) fn waits(&mut self, waits: bool, now: Instant) {
        match (self.asked_at, waits) {
            (None, true) => self.asked_at = Some(now),
            (Some(since), false) => {
                self.asked += now.duration_since(since);
                self.asked_at = None;
            }
            _ => {}
        }
    }

    /// Returns how long the run has been worked on.
    pub(super) fn time(&self, now: Instant) -> Duration {
        let asked_now = self
            .asked_at
            .map_or(Duration::ZERO, |since| now.duration_since(since));
        now.duration_since(self.began)
            .saturating_sub(self.asked + asked_now)
    }
}
