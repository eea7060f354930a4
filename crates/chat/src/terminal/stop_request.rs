//! Records that a signal asked the program to stop, until the program has acted on it. Writers to a stream
//! check this, so that a reader who no longer reads does not delay the end of the program. Only
//! [`crate::terminal::signals`] changes it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Signals that were not acted upon, or that end the program.
static PENDING: AtomicU32 = AtomicU32::new(0);
/// Whether the program handles signals; until then they have the default effect of the system.
static HEARD: AtomicBool = AtomicBool::new(false);

/// Returns whether the program was asked to stop, and has not yet done so.
pub(crate) fn is_pending() -> bool {
    PENDING.load(Ordering::Acquire) > 0
}

/// Returns whether the program handles signals, so that they no longer end it immediately.
pub(crate) fn are_signals_heard() -> bool {
    HEARD.load(Ordering::Acquire)
}

/// Catches signals: from now on they no longer end the program immediately.
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
