//! All subscriptions with the same filter: one history, and a cursor for each.
//!
//! So an event is stored once for any number of readers, and a publication costs the same for one reader as
//! for many.

use std::sync::Arc;
use std::task::Waker;

use crate::filter::Filter;
use crate::history::{EventBuffer, HistoryChunk};
use crate::queue::{OverflowPolicy, Queue, SubscriptionEnd};
use crate::reader_cursor::{ReaderBatch, ReaderCursor};
use crate::route::RouteNames;

/// Work that is left for the time after the lock is released, done on drop: wakers and destructors are code
/// of others, which may call the bus again.
pub(crate) struct DeferredWakeups<E> {
    pub(crate) wakers: Vec<Waker>,
    /// Wakers that are no longer needed.
    pub(crate) retired: Vec<Waker>,
    /// Events without a subscriber.
    pub(crate) unwanted: Vec<Arc<E>>,
    dropped: Vec<HistoryChunk<E>>,
}

impl<E> DeferredWakeups<E> {
    pub(crate) fn new() -> Self {
        Self {
            wakers: Vec::new(),
            retired: Vec::new(),
            unwanted: Vec::new(),
            dropped: Vec::new(),
        }
    }
}

impl<E> Drop for DeferredWakeups<E> {
    fn drop(&mut self) {
        self.wakers.drain(..).for_each(Waker::wake);
    }
}

pub(crate) struct FilterGroup<E> {
    filter: Filter,
    /// Whether the filter need not be checked.
    wants_all: bool,
    history: EventBuffer<E>,
    cursors: Vec<Option<ReaderCursor<E>>>,
    /// The number of cursors that are open.
    open: usize,
    /// Whether publishers may have to wait for one of its cursors.
    may_wait: bool,
    /// The position up to which no cursor is full. It may be too low, because readers continue meanwhile;
    /// then the group computes it again.
    free_until: u64,
    /// The indices of the cursors with sleeping readers.
    asleep: Vec<usize>,
}

impl<E> FilterGroup<E> {
    pub(crate) fn new(filter: Filter) -> Self {
        Self {
            wants_all: filter.wants_all(),
            filter,
            history: EventBuffer::new(),
            cursors: Vec::new(),
            open: 0,
            may_wait: false,
            free_until: u64::MAX,
            asleep: Vec::new(),
        }
    }

    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(crate) fn wants(&self, route: &RouteNames<'_>) -> bool {
        self.open > 0 && (self.wants_all || self.filter.wants(route))
    }

    /// The number of cursors that are open.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Returns whether no cursor is left, open or ended.
    pub(crate) fn is_unused(&self) -> bool {
        self.cursors.iter().all(Option::is_none)
    }

    /// Adds a cursor that sees every event from now on; returns its index.
    pub(crate) fn add(&mut self, number: u64, name: &str, queue: Queue) -> usize {
        // Seal the tail, so that no chunk mixes events from before and after this subscription.
        self.history.seal(self.open);
        let cursor = ReaderCursor::new(number, name, queue, self.history.head());
        self.free_until = self.free_until.min(cursor.full_at().unwrap_or(u64::MAX));
        self.may_wait |= queue.overflow() == OverflowPolicy::Wait;
        self.open += 1;
        let place = self
            .cursors
            .iter()
            .position(Option::is_none)
            .unwrap_or(self.cursors.len());
        if place == self.cursors.len() {
            self.cursors.push(None);
        }
        self.cursors[place] = Some(cursor);
        place
    }

    /// The cursor for which publishers must wait, if there is one.
    pub(crate) fn full_cursor(&self) -> Option<&ReaderCursor<E>> {
        let head = self.history.head();
        if !self.may_wait || head < self.free_until {
            return None;
        }
        self.cursors
            .iter()
            .flatten()
            .find(|cursor| cursor.waits() && cursor.full_at() == Some(head))
    }

    /// Adds an event, for which there is room; returns the number of its deliveries.
    pub(crate) fn enter(&mut self, event: Arc<E>, after: &mut DeferredWakeups<E>) -> usize {
        if self.history.head() == self.free_until {
            self.cut_off_overrun(after);
        }
        if self.open == 0 {
            after.unwanted.push(event);
            return 0;
        }
        if self.history.push(event) {
            self.seal(after);
        }
        for place in self.asleep.drain(..) {
            after.wakers.extend(
                self.cursors[place]
                    .as_mut()
                    .and_then(|cursor| cursor.reader.take()),
            );
        }
        self.open
    }

    /// Returns the next events of a reader; `None` if there are none yet.
    pub(crate) fn take(
        &mut self,
        place: usize,
        after: &mut DeferredWakeups<E>,
    ) -> Result<Option<ReaderBatch<E>>, SubscriptionEnd> {
        let sealed_until = self.history.sealed_until();
        if self
            .cursor(place)
            .is_some_and(|cursor| cursor.has_taken(sealed_until))
        {
            self.seal(after);
        }
        let Some(cursor) = self.cursors[place].as_mut() else {
            return Err(SubscriptionEnd::Stopped);
        };
        match (cursor.take(&mut self.history, &mut after.dropped), cursor.ended()) {
            (None, Some(reason)) => Err(reason),
            (taken, _) => Ok(taken),
        }
    }

    /// The cursor at this place, if there is one.
    pub(crate) fn cursor(&self, place: usize) -> Option<&ReaderCursor<E>> {
        self.cursors[place].as_ref()
    }

    /// Keeps the waker of a reader, which wants to sleep.
    pub(crate) fn sleep(&mut self, place: usize, waker: &Waker, after: &mut DeferredWakeups<E>) {
        let Some(cursor) = self.cursors[place].as_mut() else {
            return;
        };
        match cursor.reader.replace(waker.clone()) {
            Some(earlier) => after.retired.push(earlier),
            None => self.asleep.push(place),
        }
    }

    /// Ends a cursor, if it is open.
    pub(crate) fn end(&mut self, place: usize, reason: SubscriptionEnd, after: &mut DeferredWakeups<E>) {
        let Some(cursor) = self.cursors[place].as_mut().filter(|cursor| cursor.is_open()) else {
            return;
        };
        self.history.seal(self.open);
        cursor.end(reason, &mut self.history, &mut after.dropped);
        self.open -= 1;
        self.asleep.retain(|asleep| *asleep != place);
        after.wakers.extend(cursor.reader.take());
    }

    /// Ends all cursors.
    pub(crate) fn end_all(&mut self, reason: SubscriptionEnd, after: &mut DeferredWakeups<E>) {
        (0..self.cursors.len()).for_each(|place| self.end(place, reason, after));
    }

    /// Removes the cursor of a reader that is gone.
    pub(crate) fn remove(&mut self, place: usize, after: &mut DeferredWakeups<E>) {
        self.end(place, SubscriptionEnd::Stopped, after);
        after.dropped.extend(
            self.cursors[place]
                .take()
                .into_iter()
                .flat_map(ReaderCursor::into_remaining_chunks),
        );
    }

    fn cut_off_overrun(&mut self, after: &mut DeferredWakeups<E>) {
        let head = self.history.head();
        for place in 0..self.cursors.len() {
            if let Some(reason) = self.cursor(place).and_then(|cursor| cursor.overrun(head)) {
                self.end(place, reason, after);
            }
        }
        let full_at = self.cursors.iter().flatten().filter_map(ReaderCursor::full_at);
        self.free_until = full_at.min().unwrap_or(u64::MAX);
    }

    /// Seals the tail, and lets cursors that drop events drop them, so that no slow reader keeps old chunks.
    fn seal(&mut self, after: &mut DeferredWakeups<E>) {
        self.history.seal(self.open);
        for cursor in self.cursors.iter_mut().flatten() {
            cursor.give_up_overflow(&mut self.history, &mut after.dropped);
        }
    }
}
