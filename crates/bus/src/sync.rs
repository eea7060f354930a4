//! The primitives under the bus, in one place, so that loom can replace the real ones and try every
//! interleaving of the same code.

use std::sync::PoisonError;

#[cfg(not(loom))]
pub(crate) use std::sync::{Arc, Mutex, MutexGuard};

#[cfg(loom)]
pub(crate) use loom::sync::{Arc, Mutex, MutexGuard};

/// Locks, also after a panic elsewhere: the only code of others that runs under a lock runs before anything
/// is changed, so a poisoned lock still guards a sound value.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a loop that always finds something ready yield to the other tasks of its thread now and then.
#[cfg(not(loom))]
pub(crate) use tokio::task::coop::poll_proceed;

#[cfg(loom)]
pub(crate) use loom_coop::poll_proceed;

#[cfg(loom)]
mod loom_coop {
    //! loom does the scheduling, so the budget of a task is endless there.
    use std::task::{Context, Poll};

    pub(crate) struct Endless;

    impl Endless {
        pub(crate) fn made_progress(&self) {}
    }

    pub(crate) fn poll_proceed(_: &mut Context<'_>) -> Poll<Endless> {
        Poll::Ready(Endless)
    }
}
