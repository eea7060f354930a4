//! Halts all sessions of a process that ends immediately: from then on nothing is recorded and nothing
//! begins.

use std::sync::atomic::{AtomicBool, Ordering};

static HALTED: AtomicBool = AtomicBool::new(false);

/// Permanently halts every session of this process. It is for a program that is about to end and has no time
/// to stop its runs: commands that it kills are not recorded as failed calls, and no model is called again.
/// The next program finds the sessions as after a crash.
///
/// A commit in progress is still completed.
pub fn halt_sessions() {
    HALTED.store(true, Ordering::SeqCst);
}

/// Returns immediately, or never once sessions are halted.
pub(super) async fn unless_halted() {
    if HALTED.load(Ordering::SeqCst) {
        std::future::pending().await
    }
}
