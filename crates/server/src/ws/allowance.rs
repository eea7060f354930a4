//! The number of bytes that an unauthenticated connection may send. A frame is buffered until it is complete,
//! so unknown clients may send only little.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of bytes that a connection may send before it authenticates; that takes a few hundred.
const UNKNOWN_BYTES: usize = 4 * 1024;
/// The largest frame of a visitor, in bytes.
pub(super) const VISITOR_BYTES: usize = 16 * 1024;
/// The allowance of a connection without a limit.
const UNLIMITED: usize = usize::MAX;
/// The overhead of a short frame: its head and its mask.
const HEAD: usize = 6;

/// The number of bytes that a connection may still send.
#[derive(Debug)]
pub(super) struct Allowance(AtomicUsize);

impl Allowance {
    /// Creates the allowance of an unauthenticated connection.
    pub(super) fn new() -> Self {
        Self(AtomicUsize::new(UNKNOWN_BYTES))
    }

    /// Lifts the limit after authentication: the limits of frames apply alone.
    pub(super) fn lift(&self) {
        self.0.store(UNLIMITED, Ordering::Relaxed);
    }

    /// Renews the allowance of a visitor who has sent a whole frame.
    pub(super) fn renew(&self) {
        if self.0.load(Ordering::Relaxed) != UNLIMITED {
            self.0.store(VISITOR_BYTES, Ordering::Relaxed);
        }
    }

    /// Refunds the bytes of a visitor's ping or pong. It may come between the parts of a frame, so it
    /// renews nothing.
    pub(super) fn give_back(&self, bytes: usize) {
        let more = |left: usize| Some(left.saturating_add(bytes + HEAD).min(VISITOR_BYTES.max(left)));
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Counts received bytes. Returns `false` if they are too many; then nothing more may come.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| match left {
            UNLIMITED => Some(UNLIMITED),
            left => Some(left.saturating_sub(bytes)),
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        before.is_ok_and(|left| left == UNLIMITED || left > bytes)
    }

    /// Returns whether too many bytes have come.
    pub(super) fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_nobody_sends_little_and_who_is_known_what_they_like() {
        let allowance = Allowance::new();
        assert!(allowance.take(UNKNOWN_BYTES - 1) && !allowance.is_spent());
        allowance.give_back(4);
        assert!(allowance.take(10) && !allowance.take(10) && allowance.is_spent());
        allowance.renew();
        assert!(allowance.take(VISITOR_BYTES - 1), "a frame, and then another one");
        allowance.give_back(VISITOR_BYTES * 2);
        assert!(
            !allowance.take(VISITOR_BYTES),
            "signs of life give no more than there was"
        );
        allowance.lift();
        assert!(allowance.take(UNLIMITED) && allowance.take(UNLIMITED) && !allowance.is_spent());
    }
}
