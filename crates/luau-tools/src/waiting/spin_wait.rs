//! Polls for the answer of a run for a moment before its waiter sleeps, because sleeping and waking takes
//! longer than most runs. Only one waiter at a time polls a lane, and its thread then stays awake for all the
//! others. It polls as long as the lane is busy, and yields its turn as soon as the lane has messages for
//! others: it wakes them on the lane's behalf, several at a time, because the data that waking touches is
//! near its own thread and far from the lane's. This lets them, and everything else on its thread, continue.
//! If polling did not help, as with longer scripts or busy processors, it is tried less and less often.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

/// The meeting point of the tasks that wait for runs of a lane.
#[derive(Default)]
pub(crate) struct WaitSpot {
    lane: CacheAligned<LaneSide>,
    /// Whether a waiter is spinning; only one at a time may.
    taken: CacheAligned<AtomicBool>,
    callers: CacheAligned<WaiterSide>,
    handed: CacheAligned<HandedWaiters>,
}

/// The wakers that the lane passes to the spinning waiter, which wakes them.
#[derive(Default)]
struct HandedWaiters {
    /// Whether there are any, readable without the lock.
    some: AtomicBool,
    /// The tasks to wake.
    all: Mutex<Vec<Waker>>,
}

/// Aligned to a separate cache line, so that data that different threads write often is not adjacent.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct CacheAligned<T>(pub(crate) T);

/// The fields that the lane writes.
#[derive(Default)]
struct LaneSide {
    /// The number of messages that the lane has sent.
    said: AtomicU32,
}

/// The fields that waiting tasks write.
#[derive(Default)]
struct WaiterSide {
    /// The number of consecutive polls without a message.
    misses: AtomicU32,
    /// The number of polls that were skipped since.
    passed: AtomicU32,
}

impl WaitSpot {
    /// Signals that the lane has sent a message.
    pub(crate) fn note_message(&self) {
        bump(&self.lane.0.said);
    }

    /// Wakes them, or passes them to the spinning waiter.
    ///
    /// None of them is lost: a waiter that stops spinning checks this list afterwards, and a lane that passes
    /// wakers checks afterwards whether somebody still spins.
    pub(crate) fn wake(&self, wakers: &mut Vec<Waker>) {
        if !self.is_taken() {
            wakers.drain(..).for_each(Waker::wake);
            return;
        }
        self.handed.0.with(|all| all.append(wakers));
        self.handed.0.some.store(true, Ordering::SeqCst);
        if !self.taken.0.load(Ordering::SeqCst) {
            self.handed.0.wake();
        }
    }

    /// Returns whether a waiter is spinning, and so is awake.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.0.load(Ordering::Relaxed)
    }

    /// Returns whether to look: it is then taken.
    fn take(&self) -> bool {
        let looked = &self.callers.0;
        let misses = looked.misses.load(Ordering::Relaxed);
        let passed = looked.passed.fetch_add(1, Ordering::Relaxed);
        several_processors()
            && passed & ((1 << misses) - 1) == 0
            && !self.is_taken()
            && !self.taken.0.swap(true, Ordering::Relaxed)
    }

    /// Returns true once in several attempts to spin.
    fn now_and_then(&self) -> bool {
        let passed = self.callers.0.passed.load(Ordering::Relaxed);
        passed.is_multiple_of(LETS_BY)
    }

    /// Stops looking, and notes whether it was worth it.
    fn leave(&self, seen: bool) {
        let looked = &self.callers.0;
        let misses = looked.misses.load(Ordering::Relaxed);
        let misses = if seen { 0 } else { (misses + 1).min(SELDOM) };
        looked.misses.store(misses, Ordering::Relaxed);
        self.taken.0.store(false, Ordering::SeqCst);
        if self.handed.0.some.load(Ordering::SeqCst) {
            self.handed.0.wake();
        }
    }
}

impl HandedWaiters {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Waker>) -> T) -> T {
        // Poisoning is harmless: each push is atomic.
        work(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Wakes all of them, after the lock is released.
    fn wake(&self) {
        self.some.store(false, Ordering::SeqCst);
        self.with(std::mem::take).into_iter().for_each(Waker::wake);
    }
}

/// Counts on; only the lane does.
fn bump(count: &AtomicU32) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// A task that polls a lane, or may poll it.
pub(crate) struct SpinWaiter<'l> {
    spot: &'l WaitSpot,
    looks: bool,
    /// The end of spinning; set after it has spun long enough to read the clock.
    until: Option<Instant>,
    /// The latest end, even if the lane keeps sending messages to others.
    end: Option<Instant>,
    /// The lane's message count at the last poll.
    said: u32,
    /// Others have something to do on this thread, and go first.
    lets_by: bool,
}

/// The polling time after the lane's last message.
const LOOKS: Duration = Duration::from_micros(20);
/// The maximum polling time in all: the time of a lane full of small runs.
const LONGEST: Duration = Duration::from_millis(1);
/// The maximum polling time before others on the thread have their turn.
const TURN: Duration = Duration::from_micros(50);
/// If nothing was ever seen, it is tried once in two to this.
const SELDOM: u32 = 8;

/// The number of polls between two yields, if nothing shows that other tasks wait.
const LETS_BY: u32 = 16;

/// The result of polling.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SpinOutcome {
    /// The lane has sent a message.
    Seen,
    /// Yields to other tasks, then polls again.
    Again,
    /// The task does not poll, or polled for long enough.
    Over,
}

impl<'l> SpinWaiter<'l> {
    /// Creates a waiter that does not poll yet.
    pub(crate) const fn at(spot: &'l WaitSpot) -> Self {
        Self {
            spot,
            looks: false,
            until: None,
            end: None,
            said: 0,
            lets_by: false,
        }
    }

    /// Called after a message to the lane, which now has this many runs. If other runs come at the same time,
    /// they are begun before this waiter spins: a spinning waiter would delay them, and the lane would have
    /// one run at a time. Their arrival shows in the number of runs.
    pub(crate) fn begin(&mut self, runs: usize) {
        if self.looks || self.spot.take() {
            self.looks = true;
            self.lets_by |= runs > 1 || self.spot.now_and_then();
            (self.until, self.end) = (None, None);
            self.said = self.spot.lane.0.said.load(Ordering::Relaxed);
        }
    }

    /// Checks whether a message has come.
    pub(crate) fn look(&mut self, heard: impl Fn() -> bool) -> SpinOutcome {
        if !self.looks {
            return SpinOutcome::Over;
        }
        // Woken waiters have already continued, but the runs that they began have not.
        if std::mem::take(&mut self.lets_by) && !heard() {
            return SpinOutcome::Again;
        }
        let mut turn = None;
        loop {
            for _ in 0..16 {
                if heard() {
                    self.leave(true);
                    return SpinOutcome::Seen;
                }
                hint::spin_loop();
            }
            let (now, lane) = (Instant::now(), &self.spot.lane.0);
            let said = lane.said.load(Ordering::Relaxed);
            if said != self.said {
                self.said = said;
                self.until = None;
            }
            let until = *self.until.get_or_insert(now + LOOKS);
            if now >= until || now >= *self.end.get_or_insert(now + LONGEST) {
                self.leave(false);
                return SpinOutcome::Over;
            }
            if self.spot.handed.0.some.load(Ordering::Relaxed) {
                self.spot.handed.0.wake();
                self.lets_by = true;
                return SpinOutcome::Again;
            }
            if now >= *turn.get_or_insert(now + TURN) {
                return SpinOutcome::Again;
            }
        }
    }

    fn leave(&mut self, seen: bool) {
        if std::mem::take(&mut self.looks) {
            self.spot.leave(seen);
        }
    }
}

impl Drop for SpinWaiter<'_> {
    fn drop(&mut self) {
        self.leave(false);
    }
}

/// Returns whether another thread may run while this one polls.
pub(crate) fn several_processors() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn one_looks_at_a_lane_at_a_time_and_less_often_where_it_is_for_nothing() {
        let (spot, news, nothing) = (WaitSpot::default(), || true, || false);
        let (mut first, mut second) = (SpinWaiter::at(&spot), SpinWaiter::at(&spot));
        let begins = |looks: &mut SpinWaiter<'_>| {
            looks.begin(1);
            looks.looks
        };
        if !several_processors() {
            assert!(!begins(&mut first));
            return;
        }
        assert!(begins(&mut first) && !begins(&mut second));
        assert_eq!(second.look(news), SpinOutcome::Over, "it does not look at all");
        assert_eq!(first.look(news), SpinOutcome::Seen);
        assert!(begins(&mut second));
        second.until = Some(Instant::now());
        assert_eq!(second.look(nothing), SpinOutcome::Over, "its time is over");
        let tries: Vec<bool> = (0..4).map(|_| begins(&mut first)).collect();
        assert_eq!(
            tries.iter().filter(|looks| !**looks).count(),
            1,
            "every second time: {tries:?}"
        );
        assert_eq!(first.look(news), SpinOutcome::Seen);
        assert!(begins(&mut second), "each time again");
    }

    /// Counts how often it is woken.
    struct Counts(AtomicU32);

    impl std::task::Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_looks_wakes_others_and_lets_them_by_and_nobody_is_forgotten() {
        let (spot, nothing) = (WaitSpot::default(), || false);
        let counts = Arc::new(Counts(AtomicU32::new(0)));
        let woken = || counts.0.load(Ordering::Relaxed);
        let wake = || spot.wake(&mut vec![Waker::from(Arc::clone(&counts))]);
        wake();
        assert_eq!(woken(), 1, "nobody looks: the lane wakes");
        let mut looks = SpinWaiter::at(&spot);
        looks.begin(1);
        if !several_processors() {
            return;
        }
        wake();
        assert_eq!(woken(), 1, "that is for the one who looks");
        looks.end = Some(Instant::now() + Duration::from_secs(60));
        looks.until = looks.end;
        assert_eq!((looks.look(nothing), woken()), (SpinOutcome::Again, 2));
        assert!(looks.lets_by, "they were woken, and then begin something");
        assert_eq!(looks.look(nothing), SpinOutcome::Again);
        assert!(!looks.lets_by);
        wake();
        drop(looks);
        assert_eq!(woken(), 3, "who stops looking wakes who is left");
    }

    #[test]
    fn who_begins_with_others_lets_them_begin() {
        let spot = WaitSpot::default();
        let lets_by = |runs: usize| {
            let mut looks = SpinWaiter::at(&spot);
            looks.begin(runs);
            looks.lets_by
        };
        if several_processors() {
            assert!(lets_by(2));
            assert!(!lets_by(1));
        } else {
            assert!(!lets_by(2), "nobody looks");
        }
    }
}
