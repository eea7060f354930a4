//! Halting all sessions of a process that ends at once: what happens from then on is not on record, and
//! nothing begins.

use std::sync::atomic::{AtomicBool, Ordering};

static HALTED: AtomicBool = AtomicBool::new(false);

/// Halts every session of this process for good. For a program that is about to end and has no time to stop
/// its runs: commands that it kills on the way are not recorded as calls that failed, and no model is asked
/// again. Whoever opens the sessions next finds them as after a crash.
///
/// What is being committed at this moment still is.
pub fn halt_sessions() {
    HALTED.store(true, Ordering::SeqCst);
}

/// Returns immediately, or never once sessions are halted.
pub(super) async fn unless_halted() {
    if HALTED.load(Ordering::SeqCst) {
        std::future::pending().await
    }
}
