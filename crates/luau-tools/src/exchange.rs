//! The data that a lane's thread and its VM exchange: the value that goes in or comes out, and the number of
//! safepoints until the next one with work. A lane does one thing at a time, so a thread has one exchange.
//!
//! A safepoint without work is cheap: the clock is read at most at every eighth one, and not within 20 µs of
//! the last reading.

use std::cell::{Cell, RefCell};
use std::rc::Weak;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::json::flat_value::FlatValue;

/// Number of safepoints for each reading of the clock.
const CLOCK_EVERY: u32 = 8;

/// The time for which safepoints do nothing.
const WHILE: Duration = Duration::from_micros(20);

/// A change of the VM's memory between two safepoints, in bytes, after which the clock is read: a call that
/// makes or copies so much may have taken long.
const MUCH: usize = 256 << 10;

/// Tells long native work whether it may continue.
pub(crate) trait WorkPermit {
    /// Returns whether the work may continue. If not, its run has been stopped.
    fn may_go_on(&self) -> bool;
}

/// The exchange between a lane's thread and its VM. There is one for each thread.
struct VmExchange {
    /// The value that goes in next, or came out last.
    flat: RefCell<FlatValue>,
    /// The maximum nesting depth of a given value, and its maximum size in bytes.
    largest: Cell<(usize, usize)>,
    /// The approximate size of the value that was given last, in bytes.
    size: Cell<usize>,
    /// The run whose script computes, or computed last.
    run: RefCell<Option<Weak<dyn WorkPermit>>>,
    /// Safepoints that pass before the clock is read.
    passes: Cell<u32>,
    /// The time of the next safepoint with work; `None` means the next safepoint.
    due: Cell<Option<Instant>>,
    /// The turn is over: the next safepoint at which the script can give it away has to.
    over: Cell<bool>,
    /// The VM's memory at the last safepoint, in bytes; `None` if it is not watched.
    memory: Cell<Option<usize>>,
}

thread_local! {
    static HATCH: VmExchange = const {
        VmExchange {
            flat: RefCell::new(FlatValue::new()),
            largest: Cell::new((0, 0)),
            size: Cell::new(0),
            run: RefCell::new(None),
            passes: Cell::new(0),
            due: Cell::new(None),
            over: Cell::new(false),
            memory: Cell::new(Some(0)),
        }
    };
}

/// From now on values of a run are given within its maximum nesting depth and its maximum size in bytes, and
/// long work is charged to it.
pub(crate) fn enter(run: Weak<dyn WorkPermit>, depth: usize, bytes: usize) {
    HATCH.with(|hatch| {
        hatch.largest.set((depth, bytes));
        *hatch.run.borrow_mut() = Some(run);
        hatch.over.set(false);
    });
}

/// Returns whether the run may continue with long native work. If not, it has been stopped.
pub(crate) fn may_go_on() -> bool {
    #[cfg(test)]
    crate::test_counts::safepoint();
    let run = HATCH.with(|hatch| hatch.run.borrow().as_ref().and_then(Weak::upgrade));
    run.is_none_or(|run| run.may_go_on())
}

/// The turn of the run is over.
pub(crate) fn turn_is_over() {
    HATCH.with(|hatch| hatch.over.set(true));
}

/// Returns whether the script has to give its turn away as soon as it can.
pub(crate) fn is_over() -> bool {
    HATCH.with(|hatch| hatch.over.get())
}

/// The next safepoint reads the clock, because a function was called that may have taken long.
pub(crate) fn look_soon() {
    #[cfg(test)]
    crate::test_counts::look();
    HATCH.with(|hatch| hatch.passes.set(0));
}

/// Takes the VM's memory at a safepoint. If it has changed much since the last one, the clock is read.
pub(crate) fn note_memory(bytes: usize) {
    HATCH.with(|hatch| {
        if let Some(before) = hatch.memory.get() {
            hatch.memory.set(Some(bytes));
            if before.abs_diff(bytes) >= MUCH {
                hatch.passes.set(0);
            }
        }
    });
}

/// The next safepoint reads the clock: the collector has worked, so that the memory does not show all that
/// was allocated, or a call failed that may have taken long.
pub(crate) fn note_work() {
    // At the end of the thread there is nobody to note it for.
    let _ = HATCH.try_with(|hatch| {
        if hatch.memory.get().is_some() {
            hatch.passes.set(0);
        }
    });
}

/// No safepoint reads the clock before a function requests it, so that the counts of a test are
/// deterministic.
#[cfg(test)]
pub(crate) fn delay_clock() {
    HATCH.with(|hatch| {
        hatch.passes.set(u32::MAX);
        hatch.over.set(false);
        hatch.memory.set(None);
    });
}

/// From now on values are converted within these limits, and charged to nobody.
#[cfg(test)]
pub(crate) fn allow(depth: usize, bytes: usize) {
    HATCH.with(|hatch| hatch.largest.set((depth, bytes)));
}

/// Returns the maximum nesting depth of a given value, and its maximum size in bytes.
pub(crate) fn largest() -> (usize, usize) {
    HATCH.with(|hatch| hatch.largest.get())
}

/// Stores the value that a script takes next.
pub(crate) fn put(flat: &mut FlatValue) {
    with(|there| std::mem::swap(there, flat));
}

/// The value that a script gave last.
pub(crate) fn take() -> FlatValue {
    with(std::mem::take)
}

/// The same, as JSON.
pub(crate) fn take_value() -> Value {
    with(|flat| {
        let value = flat.value();
        flat.clear();
        value
    })
}

/// Works on the value in the exchange.
pub(crate) fn with<T>(work: impl FnOnce(&mut FlatValue) -> T) -> T {
    HATCH.with(|hatch| work(&mut hatch.flat.borrow_mut()))
}

/// Records the approximate size in bytes of a given value.
pub(crate) fn given(bytes: usize) {
    HATCH.with(|hatch| hatch.size.set(bytes));
}

/// Returns the approximate size of the value that was given last, in bytes.
pub(crate) fn size() -> usize {
    HATCH.with(|hatch| hatch.size.get())
}

/// Returns whether a safepoint has anything to do: most have not.
pub(crate) fn is_due() -> bool {
    HATCH.with(|hatch| {
        if let Some(left) = hatch.passes.get().checked_sub(1) {
            hatch.passes.set(left);
            return false;
        }
        hatch.due.get().is_none_or(|due| {
            hatch.passes.set(CLOCK_EVERY - 1);
            Instant::now() >= due
        })
    })
}

/// Sets the time to `now`; safepoints do nothing for a while.
pub(crate) fn pass(now: Instant) {
    HATCH.with(|hatch| hatch.due.set(Some(now + WHILE)));
}

/// Every safepoint has something to do from now on: a script is to end.
pub(crate) fn stop() {
    HATCH.with(|hatch| {
        hatch.passes.set(0);
        hatch.due.set(None);
    });
}

#[cfg(test)]
mod tests {
    use super::{HATCH, MUCH, is_due, note_memory, note_work};

    /// Returns whether the clock is read at a safepoint, at which the VM has this much memory.
    fn reads_clock(bytes: usize) -> bool {
        note_memory(bytes);
        is_due()
    }

    /// No reading of the clock is due for a long time.
    fn rest() {
        HATCH.with(|hatch| {
            hatch.passes.set(1000);
            hatch.due.set(None);
        });
    }

    #[test]
    fn a_safepoint_after_much_allocation_or_a_collection_reads_the_clock() {
        rest();
        assert!(!reads_clock(1000));
        assert!(!reads_clock(1000 + MUCH - 1), "little was allocated");
        assert!(reads_clock(1000 + 2 * MUCH), "much was allocated");
        rest();
        assert!(reads_clock(1000), "much was freed");
        rest();
        assert!(!reads_clock(1000));
        note_work();
        assert!(reads_clock(1000), "what was allocated may be freed already");
    }
}
