//! The queue of a lane: a short bounded queue, which stores each message next to its ready mark so that a
//! looking lane loads both at once, and an unbounded queue for the overflow, because no sender may wait for a
//! lane.
//!
//! Two messages of one run may arrive in reverse order if the short queue is full between them. Messages to a
//! lane tolerate that: a run that is to stop is marked on its channel before the lane gets the message.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use std::time::Duration;

/// Maximum number of messages in the bounded queue.
const ROW: usize = 128;

/// The senders' end. No sender ever waits for the lane.
pub(crate) struct Inbox<T> {
    /// The bounded queue, which fits most commands.
    row: SyncSender<Option<T>>,
    /// The overflow queue, used if the bounded one is full.
    rest: Sender<T>,
    /// Whether the overflow has messages, so that a lane need not check it.
    spilled: Arc<AtomicBool>,
}

/// The lane's end.
pub(crate) struct InboxReceiver<T> {
    /// The bounded queue. `None` is a request to check the overflow queue.
    row: Receiver<Option<T>>,
    rest: Receiver<T>,
    /// Whether the overflow queue may hold a command.
    spilled: Arc<AtomicBool>,
    /// Whether the overflow is next if both queues have messages; otherwise its messages could wait forever.
    rest_first: Cell<bool>,
}

/// Creates a queue to a lane, and returns both ends.
pub(crate) fn inbox<T>() -> (Inbox<T>, InboxReceiver<T>) {
    let (row, from_row) = sync_channel(ROW);
    let (rest, from_rest) = channel();
    let spilled = Arc::new(AtomicBool::new(false));
    let outlet = InboxReceiver {
        row: from_row,
        rest: from_rest,
        spilled: Arc::clone(&spilled),
        rest_first: Cell::new(false),
    };
    (Inbox { row, rest, spilled }, outlet)
}

impl<T> Inbox<T> {
    /// Sends a message without waiting. Returns `false` if the lane is gone.
    pub(crate) fn tell(&self, told: T) -> bool {
        match self.row.try_send(Some(told)) {
            Ok(()) => true,
            Err(TrySendError::Full(Some(told))) => {
                let told = self.rest.send(told).is_ok();
                self.spilled.store(true, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                // This wakes a lane that has gone to sleep since; one whose short queue is still full checks
                // the overflow before it sleeps.
                let _ = self.row.try_send(None);
                told
            }
            Err(_) => false,
        }
    }
}

impl<T> InboxReceiver<T> {
    /// Returns the next command, if there is one.
    pub(crate) fn try_next(&self) -> Result<T, TryRecvError> {
        if self.spilled.load(Ordering::Relaxed)
            && self.rest_first.replace(!self.rest_first.get())
            && let Some(told) = self.spilled_over()
        {
            return Ok(told);
        }
        loop {
            match self.row.try_recv() {
                Ok(Some(told)) => return Ok(told),
                Ok(None) => {}
                Err(nothing) => return self.spilled_over().ok_or(nothing),
            }
        }
    }

    /// Waits for the next command, at most for this long if it is given.
    pub(crate) fn next(&self, longest: Option<Duration>) -> Result<T, RecvTimeoutError> {
        loop {
            fence(Ordering::SeqCst);
            match self.try_next() {
                Ok(told) => return Ok(told),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {}
            }
            let came = match longest {
                Some(longest) => self.row.recv_timeout(longest),
                None => self.row.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match came {
                Ok(Some(told)) => return Ok(told),
                Err(RecvTimeoutError::Timeout) => return Err(RecvTimeoutError::Timeout),
                // The overflow queue has messages, or the senders are gone and messages may be left.
                Ok(None) | Err(RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Returns the next command of the overflow queue, if there is one.
    fn spilled_over(&self) -> Option<T> {
        if !self.spilled.load(Ordering::SeqCst) {
            return None;
        }
        if let Ok(told) = self.rest.try_recv() {
            return Some(told);
        }
        self.spilled.store(false, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // It may have come just before.
        let told = self.rest.try_recv().ok()?;
        self.spilled.store(true, Ordering::SeqCst);
        Some(told)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_does_not_fit_into_the_row_comes_too_and_in_turn() {
        let (inbox, outlet) = inbox();
        let many = 3 * ROW;
        assert!((0..many).all(|told| inbox.tell(told)));
        let first: Vec<_> = (0..6).filter_map(|_| outlet.try_next().ok()).collect();
        assert_eq!(
            first,
            [0, ROW, 1, ROW + 1, 2, ROW + 2],
            "those in the rest are not forgotten"
        );
        let mut all: Vec<_> = std::iter::from_fn(|| outlet.try_next().ok())
            .chain(first)
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..many).collect::<Vec<_>>());
        assert_eq!(outlet.try_next(), Err(TryRecvError::Empty));
        assert!(inbox.tell(7));
        assert_eq!(outlet.next(None), Ok(7));
        assert_eq!(outlet.next(Some(Duration::ZERO)), Err(RecvTimeoutError::Timeout));
        drop(inbox);
        assert_eq!(outlet.next(None), Err(RecvTimeoutError::Disconnected));
    }

    #[test]
    fn who_sleeps_misses_nothing_of_many_who_tell_much() {
        let (inbox, outlet) = inbox();
        let (inbox, each) = (Arc::new(inbox), 20_000);
        let tellers: Vec<_> = (0..4)
            .map(|_| {
                let inbox = Arc::clone(&inbox);
                thread::spawn(move || (0..each).all(|told| inbox.tell(told)))
            })
            .collect();
        drop(inbox);
        let mut sum = 0_u64;
        while let Ok(told) = outlet.next(None) {
            sum += told;
        }
        assert_eq!(sum, 4 * each * (each - 1) / 2);
        assert!(
            tellers
                .into_iter()
                .all(|teller| teller.join().is_ok_and(|told| told))
        );
    }

    #[test]
    fn who_tells_something_to_nobody_is_told_so() {
        let (inbox, outlet) = inbox();
        assert!((0..2 * ROW).all(|told| inbox.tell(told)));
        drop(outlet);
        assert!(!inbox.tell(1));
    }
}
