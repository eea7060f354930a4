//! Whether the program was asked to stop by a signal that it has not acted upon yet. Whoever writes to a
//! stream looks here, so that a reader who reads no more does not hold up the end of the program;
//! [`crate::signals`] alone changes it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Signals that were not acted upon, or that end the program.
static PENDING: AtomicU32 = AtomicU32::new(0);
/// Whether signals come to the program; until then they do what the system lets them do.
static HEARD: AtomicBool = AtomicBool::new(false);

/// Returns whether the program was asked to stop, and has not yet done so.
pub(crate) fn is_pending() -> bool {
    PENDING.load(Ordering::Acquire) > 0
}

/// Returns whether signals no longer end the program where it stands.
pub(crate) fn are_signals_heard() -> bool {
    HEARD.load(Ordering::Acquire)
}

/// Catches signals: from now on they no longer end the program at once.
pub(crate) fn hear_signals() {
    HEARD.store(true, Ordering::Release);
}

/// Counts a signal that asks the program to stop; returns how many waited before.
pub(crate) fn add() -> u32 {
    PENDING.fetch_add(1, Ordering::AcqRel)
}

/// Clears the request of the signals, because it is done and the program continues.
pub(crate) fn clear() {
    PENDING.store(0, Ordering::Release);
}
