//! The position of a reader in a feed, and its waker.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use agentx_types::wire::Problem;
use futures_util::task::AtomicWaker;

/// A reader's place in a feed.
#[derive(Debug, Default)]
pub struct FeedSlot {
    /// The number of the next frame.
    next: AtomicU64,
    /// Whether there are new events. A reader that was woken and has not read yet is not woken again.
    news: AtomicBool,
    overrun: AtomicBool,
    /// The reason why the reader was ended.
    ended: OnceLock<Problem>,
    waker: AtomicWaker,
    /// Woken by an overrun alone, for a reader that has frames and cannot deliver them.
    alarm: AtomicWaker,
}

impl FeedSlot {
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    pub(crate) fn set_next(&self, next: u64) {
        self.next.store(next, Ordering::Release);
    }

    /// Notes news and wakes the reader.
    pub(crate) fn wake(&self) {
        if !self.news.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    /// Notes that there are more events, while the reader is already reading.
    pub(crate) fn more(&self) {
        self.news.store(true, Ordering::Release);
    }

    /// Returns whether there are new events, and marks them as seen.
    pub(crate) fn take_news(&self, waker: &Waker) -> bool {
        if self.news.swap(false, Ordering::AcqRel) {
            return true;
        }
        self.waker.register(waker);
        // News that came between the two would wake no task.
        self.news.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn set_overrun(&self) -> bool {
        let is_new = !self.overrun.swap(true, Ordering::AcqRel);
        self.alarm.wake();
        is_new
    }

    /// Returns whether the reader was too slow or has lost access; the task is woken when that changes.
    pub fn poll_over(&self, cx: &Context<'_>) -> Poll<()> {
        self.alarm.register(cx.waker());
        if self.is_overrun() || self.ended().is_some() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Returns whether the reader was cut off because it was too slow.
    pub fn is_overrun(&self) -> bool {
        self.overrun.load(Ordering::Acquire)
    }

    /// Ends the reader immediately, even if frames are left.
    pub(crate) fn end(&self, problem: Problem) {
        let _ = self.ended.set(problem);
        self.alarm.wake();
        self.wake();
    }

    pub(crate) fn ended(&self) -> Option<&Problem> {
        self.ended.get()
    }
}
