//! A reader's place in a feed: what it wants next, and how it is woken.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use agentx_types::wire::Problem;
use futures_util::task::AtomicWaker;

/// A reader's place in a feed.
#[derive(Debug, Default)]
pub struct FeedSlot {
    /// The number of the next frame that it wants.
    next: AtomicU64,
    /// Whether there is something to look at. Who has been woken and has not looked yet is not woken again.
    news: AtomicBool,
    overrun: AtomicBool,
    /// Why it may read no longer.
    ended: OnceLock<Problem>,
    waker: AtomicWaker,
    /// Who wants to know of an overrun alone: who has frames and cannot get rid of them.
    alarm: AtomicWaker,
}

impl FeedSlot {
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    pub(crate) fn set_next(&self, next: u64) {
        self.next.store(next, Ordering::Release);
    }

    /// There is something to look at.
    pub(crate) fn wake(&self) {
        if !self.news.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    /// There is still something to look at; who looks knows.
    pub(crate) fn more(&self) {
        self.news.store(true, Ordering::Release);
    }

    /// Whether there is something to look at; from here on it has been looked at.
    pub(crate) fn take_news(&self, waker: &Waker) -> bool {
        if self.news.swap(false, Ordering::AcqRel) {
            return true;
        }
        self.waker.register(waker);
        // What came between the two would wake nobody.
        self.news.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn set_overrun(&self) -> bool {
        let is_new = !self.overrun.swap(true, Ordering::AcqRel);
        self.alarm.wake();
        is_new
    }

    /// Whether the reader was too slow, or may read no longer; who asks is woken when that changes.
    pub fn poll_over(&self, cx: &Context<'_>) -> Poll<()> {
        self.alarm.register(cx.waker());
        if self.is_overrun() || self.ended().is_some() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Whether the reader was too slow.
    pub fn is_overrun(&self) -> bool {
        self.overrun.load(Ordering::Acquire)
    }

    /// The reader may read no longer, whatever there is.
    pub(crate) fn end(&self, problem: Problem) {
        let _ = self.ended.set(problem);
        self.alarm.wake();
        self.wake();
    }

    pub(crate) fn ended(&self) -> Option<&Problem> {
        self.ended.get()
    }
}
