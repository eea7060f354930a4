//! Who awaits a run that has just been told something looks for its answer a moment before it sleeps, for to sleep and to be woken
//! takes longer than most runs. It gives its turn away each time it has looked, so that whatever else its thread has to do goes on. One
//! at a time looks at a lane: it keeps its thread awake for all the others. Where looking was for nothing, as with scripts that take
//! longer or processors that have other things to do, it is tried less and less often.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::lanes::Desk;

/// Where those look who await runs of a lane.
#[derive(Default)]
pub(crate) struct Spot {
    taken: AtomicBool,
    /// How often in a row looking was for nothing.
    misses: AtomicU32,
    /// How often somebody would have looked since.
    passed: AtomicU32,
}

impl Spot {
    /// Whether to look: it is then taken.
    fn take(&self) -> bool {
        let misses = self.misses.load(Ordering::Relaxed);
        let passed = self.passed.fetch_add(1, Ordering::Relaxed);
        several_processors() && passed & ((1 << misses) - 1) == 0 && !self.taken.swap(true, Ordering::Relaxed)
    }

    fn leave(&self, seen: bool) {
        let misses = self.misses.load(Ordering::Relaxed);
        let misses = if seen { 0 } else { (misses + 1).min(SELDOM) };
        self.misses.store(misses, Ordering::Relaxed);
        self.taken.store(false, Ordering::Relaxed);
    }
}

/// One who looks, or may.
pub(crate) struct Looks {
    desk: Arc<Desk>,
    until: Option<Instant>,
}

/// How long it looks.
const LOOKS: Duration = Duration::from_micros(20);
/// Where nothing was ever seen, it is tried once in two to this.
const SELDOM: u32 = 8;

impl Looks {
    pub(crate) const fn at(desk: Arc<Desk>) -> Self {
        Self { desk, until: None }
    }

    /// The lane was told something.
    pub(crate) fn begin(&mut self) {
        if self.until.is_some() || self.desk.spot.take() {
            self.until = Some(Instant::now() + LOOKS);
        }
    }

    /// Whether to look once more.
    pub(crate) fn go_on(&mut self) -> bool {
        let more = self.until.is_some_and(|until| Instant::now() < until);
        if !more {
            self.leave(false);
        }
        more
    }

    /// There is news.
    pub(crate) fn seen(&mut self) {
        self.leave(true);
    }

    fn leave(&mut self, seen: bool) {
        if self.until.take().is_some() {
            self.desk.spot.leave(seen);
        }
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.leave(false);
    }
}

/// Whether another thread may do something while this one looks.
pub(crate) fn several_processors() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| thread::available_parallelism().is_ok_and(|processors| processors.get() > 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_looks_at_a_lane_at_a_time_and_less_often_where_it_is_for_nothing() {
        let desk = Arc::<Desk>::default();
        let (mut first, mut second) = (Looks::at(Arc::clone(&desk)), Looks::at(desk));
        let begins = |looks: &mut Looks| {
            looks.begin();
            looks.until.is_some()
        };
        if !several_processors() {
            assert!(!begins(&mut first));
            return;
        }
        assert!(begins(&mut first) && !begins(&mut second) && !second.go_on());
        first.seen();
        assert!(begins(&mut second));
        second.until = second.until.map(|_| Instant::now());
        assert!(!second.go_on(), "its time is over");
        let tries: Vec<bool> = (0..4).map(|_| begins(&mut first)).collect();
        assert_eq!(
            tries.iter().filter(|looks| !**looks).count(),
            1,
            "every second time: {tries:?}"
        );
        first.seen();
        assert!(begins(&mut second), "each time again");
    }
}
