//! The computing time of a run, in total and in this turn, and the end of its turn.
//!
//! Two clocks count. The time of a turn is wall time, because others wait for it. A stuck script, which
//! computes while it cannot yield its turn, is measured in processor time if the system provides it, so that
//! a busy machine ends no run.
//!
//! A script cannot yield inside a metamethod or a text function: the VM calls these as it
//! calls C, and the frames of C below them cannot be left and entered again. It yields at the first safepoint
//! afterwards. The time from the end of its turn until then is an overrun, which counts for the run.

use std::cell::Cell;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// The time for which a script may compute before others have their turn.
pub(crate) const SLICE: Duration = Duration::from_millis(4);

/// The times of one run.
pub(crate) struct RunTimer {
    /// The start of this turn.
    from: Cell<Instant>,
    /// The end of this turn.
    until: Cell<Instant>,
    /// The time of the earlier turns.
    used: Cell<Duration>,
    /// The thread's computing time when the turn was first found to be over.
    stuck_from: Cell<Option<Duration>>,
    /// The computing time of the overruns of the earlier turns.
    overran: Cell<Duration>,
}

impl RunTimer {
    /// A run that has not computed yet.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            from: Cell::new(now),
            until: Cell::new(now),
            used: Cell::new(Duration::ZERO),
            stuck_from: Cell::new(None),
            overran: Cell::new(Duration::ZERO),
        }
    }

    /// Begins a turn. The run yields to others after 4 ms.
    pub(crate) fn enter(&self, now: Instant) {
        self.from.set(now);
        self.until.set(now + SLICE);
        self.stuck_from.set(None);
    }

    /// Returns the start of the turn; safepoints compare with it.
    pub(crate) fn entered(&self) -> Instant {
        self.from.get()
    }

    /// Ends the turn, and adds its time to that of the run.
    pub(crate) fn leave(&self, now: Instant) {
        self.used.set(self.used(now));
        self.overran.set(self.overran());
        self.stuck_from.set(None);
    }

    /// Returns the computing time of the overruns of all turns, including this one.
    pub(crate) fn overran(&self) -> Duration {
        let computed = self.stuck_from.get().zip(computed_by_thread());
        let this = computed.map_or(Duration::ZERO, |(from, now)| now.saturating_sub(from));
        self.overran.get() + this
    }

    /// Returns the time of all turns, including this one.
    pub(crate) fn used(&self, now: Instant) -> Duration {
        self.used.get() + now.duration_since(self.from.get())
    }

    /// Returns whether other runs should get their turn.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.until.get()
    }

    /// Returns whether the script could not give its turn away for longer than `most`, counted in the time of
    /// the processor: that a machine is busy with other programs ends no run.
    pub(crate) fn is_stuck(&self, now: Instant, most: Duration) -> bool {
        if !self.is_over(now) {
            return false;
        }
        let computed = computed_by_thread().unwrap_or_else(|| now.duration_since(self.from.get()));
        match self.stuck_from.get() {
            Some(from) => computed.saturating_sub(from) > most,
            None => {
                self.stuck_from.set(Some(computed));
                false
            }
        }
    }
}

/// The processor time of this thread, if the system reports it.
pub(crate) fn computed_by_thread() -> Option<Duration> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(Duration::from(time))
}
