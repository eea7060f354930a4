//! The runs that a lane must wake, by time.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::waiting::spin_wait::WaitSpot;

/// The waiters that a lane has to wake. Waking a sleeping thread takes longer than a short run, so several
/// are woken together: when the lane has nothing more to do, or the first of them has waited a moment.
pub(crate) struct WakeQueue {
    /// The lane's spot, at which spinning waiters see that it continues.
    spot: Arc<WaitSpot>,
    /// The tasks to wake together.
    all: RefCell<Vec<Waker>>,
    /// The time at which the first of them began to wait.
    since: Cell<Option<Instant>>,
    /// The last reading of the clock, kept because a computing script needs the time often and reading the
    /// clock takes time.
    lately: Cell<Instant>,
}

impl WakeQueue {
    /// An empty queue; at `spot` are the waiters that spin instead of sleeping.
    pub(crate) fn of(spot: Arc<WaitSpot>) -> Self {
        Self {
            spot,
            all: RefCell::default(),
            since: Cell::default(),
            lately: Cell::new(Instant::now()),
        }
    }
}

/// The time for which a wake-up may be delayed while the lane does other work.
const MOMENT: Duration = Duration::from_micros(30);
/// The number of may that wait to be woken.
const SEVERAL: usize = 16;

impl WakeQueue {
    /// Schedules a wake-up, which may be delayed for a short time.
    pub(crate) fn later(&self, listener: Option<Waker>) {
        self.spot.note_message();
        let Some(listener) = listener else { return };
        let mut all = self.all.borrow_mut();
        if all.is_empty() {
            self.since.set(Some(self.lately.get()));
        }
        all.push(listener);
    }

    /// Reads the clock, for all who need the time soon.
    pub(crate) fn read_clock(&self) -> Instant {
        let now = Instant::now();
        self.lately.set(now);
        now
    }

    /// Returns the time of the last read of the clock: when a script stopped computing or passed a safepoint,
    /// when the lane polled, or when it did other long work.
    pub(crate) fn lately(&self) -> Instant {
        self.lately.get()
    }

    /// Wakes them if the first has waited a moment, or they are several.
    pub(crate) fn if_due(&self) {
        let Some(since) = self.since.get() else { return };
        if self.all.borrow().len() >= SEVERAL || self.lately.get().duration_since(since) >= MOMENT {
            self.now();
        }
    }

    /// Wakes them all.
    pub(crate) fn now(&self) {
        if self.since.take().is_none() {
            return;
        }
        let mut all = self.all.take();
        self.spot.wake(&mut all);
        // Its room is used again.
        self.all.replace(all);
    }
}
