//! One subscription as the bus sees it: its filter, its queue and who sleeps at either end.
//!
//! Events enter a lane only under the lock of the hub, so between a check for room and the entry the queue
//! can only have become shorter. Its own lock is held for a few instructions by either side.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc as EventArc;
use std::task::{Context, Poll, Waker};

use crate::filter::Filter;
use crate::queue::{Delivery, Ended, Overflow, Queue};
use crate::route::Route;
use crate::sync::{Mutex, lock};

/// Events with the names by which they are chosen, in step.
pub(crate) struct Batch<'a, E> {
    pub(crate) events: &'a [EventArc<E>],
    pub(crate) routes: &'a [Route<'a>],
}

// Derived, they would ask for `E: Copy`.
impl<E> Copy for Batch<'_, E> {}
impl<E> Clone for Batch<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, E> Batch<'a, E> {
    pub(crate) fn split_at(self, at: usize) -> (Self, Self) {
        let (first, rest) = self.events.split_at(at);
        let (first_routes, rest_routes) = self.routes.split_at(at);
        (
            Self {
                events: first,
                routes: first_routes,
            },
            Self {
                events: rest,
                routes: rest_routes,
            },
        )
    }

    fn iter(self) -> impl Iterator<Item = (&'a EventArc<E>, &'a Route<'a>)> {
        self.events.iter().zip(self.routes)
    }
}

/// What is left to do once the locks are released: wakers and destructors are code of others, which may come
/// back to the bus.
pub(crate) struct After<E> {
    wakers: Vec<Waker>,
    dropped: Vec<EventArc<E>>,
}

impl<E> After<E> {
    pub(crate) fn new() -> Self {
        Self {
            wakers: Vec::new(),
            dropped: Vec::new(),
        }
    }

    pub(crate) fn run(self) {
        self.wakers.into_iter().for_each(Waker::wake);
    }
}

pub(crate) struct Lane<E> {
    name: Box<str>,
    /// Nothing when every event is wanted.
    filter: Option<Filter>,
    queue: Queue,
    state: Mutex<State<E>>,
}

pub(crate) struct State<E> {
    events: VecDeque<EventArc<E>>,
    lagged: u64,
    ended: Option<Ended>,
    reader: Option<Waker>,
    /// Publishers that wait for room, by ticket.
    publishers: Vec<(u64, Waker)>,
}

impl<E> Lane<E> {
    pub(crate) fn new(name: &str, filter: Filter, queue: Queue) -> Self {
        let state = State {
            events: VecDeque::new(),
            lagged: 0,
            ended: None,
            reader: None,
            publishers: Vec::new(),
        };
        let filter = (!filter.wants_all()).then_some(filter);
        Self {
            name: name.into(),
            filter,
            queue,
            state: Mutex::new(state),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether publishers wait for this lane when it is full.
    pub(crate) fn waits(&self) -> bool {
        self.queue.overflow() == Overflow::Wait
    }

    fn wants(&self, route: &Route<'_>) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.wants(route))
    }

    /// How many events of the batch, from its start, can enter before one finds the queue full.
    pub(crate) fn room_for(&self, batch: Batch<'_, E>) -> usize {
        let mut room = self.queue.capacity() - lock(&self.state).events.len();
        for (index, route) in batch.routes.iter().enumerate() {
            match (self.wants(route), room) {
                (false, _) => {}
                (true, 0) => return index,
                (true, _) => room -= 1,
            }
        }
        batch.routes.len()
    }

    /// Lets a publisher sleep until there is room. False, and nothing kept, if there is room by now.
    pub(crate) fn wait_for_room(&self, ticket: u64, waker: &Waker) -> bool {
        let mut state = lock(&self.state);
        if state.ended.is_some() || state.events.len() < self.queue.capacity() {
            return false;
        }
        let known = state.forget(ticket);
        state.publishers.push((ticket, waker.clone()));
        drop(state);
        drop(known);
        true
    }

    /// Forgets a publisher that waits no longer.
    pub(crate) fn forget(&self, ticket: u64) {
        let known = lock(&self.state).forget(ticket);
        drop(known);
    }

    /// Takes in what it wants of the batch; returns how many events that was, and whether it is still open.
    pub(crate) fn accept(&self, batch: Batch<'_, E>, after: &mut After<E>) -> (usize, bool) {
        let mut state = lock(&self.state);
        if state.ended.is_some() {
            return (0, false);
        }
        let mut accepted = 0;
        for (event, _) in batch.iter().filter(|(_, route)| self.wants(route)) {
            if state.events.len() == self.queue.capacity() && !self.make_room(&mut state, after) {
                break;
            }
            state.events.push_back(EventArc::clone(event));
            accepted += 1;
        }
        if accepted > 0 || state.ended.is_some() {
            after.wakers.extend(state.reader.take());
        }
        (accepted, state.ended.is_none())
    }

    /// What the policy says about one event too many; false if it cannot enter.
    fn make_room(&self, state: &mut State<E>, after: &mut After<E>) -> bool {
        if self.queue.overflow() == Overflow::Lag {
            after.dropped.extend(state.events.pop_front());
            state.lagged += 1;
            return true;
        }
        debug_assert!(
            !self.waits(),
            "an event enters a waiting lane only after its room was checked"
        );
        state.ended = Some(Ended::CutOff {
            capacity: self.queue.capacity(),
        });
        false
    }

    /// Ends the lane; what is in its queue can still be read. The first reason stays.
    pub(crate) fn end(&self, reason: Ended, after: &mut After<E>) {
        let mut state = lock(&self.state);
        state.ended.get_or_insert(reason);
        after.wakers.extend(state.reader.take());
        state.wake_publishers(after);
    }

    /// Ends the lane and empties it: its reader is gone.
    pub(crate) fn abandon(&self, after: &mut After<E>) {
        let mut state = lock(&self.state);
        state.ended.get_or_insert(Ended::Stopped);
        after.dropped.extend(mem::take(&mut state.events));
        state.wake_publishers(after);
    }

    /// Takes what `take` takes; nothing if nothing is there yet.
    pub(crate) fn try_take<T>(
        &self,
        take: impl FnOnce(&mut State<E>) -> Option<T>,
    ) -> Result<Option<T>, Ended> {
        let mut after = After::new();
        let mut state = lock(&self.state);
        let taken = match take(&mut state) {
            None => state.ended.map_or(Ok(None), Err),
            taken => Ok(taken),
        };
        state.wake_publishers(&mut after);
        drop(state);
        after.run();
        taken
    }

    /// As [`Lane::try_take`], but the reader sleeps while nothing is there.
    pub(crate) fn poll_take<T>(
        &self,
        cx: &Context<'_>,
        take: impl FnOnce(&mut State<E>) -> Option<T>,
    ) -> Poll<Result<T, Ended>> {
        let mut state = lock(&self.state);
        let taken = match (take(&mut state), state.ended) {
            (Some(taken), _) => Ok(taken),
            (None, Some(ended)) => Err(ended),
            (None, None) => {
                let known = state.reader.replace(cx.waker().clone());
                drop(state);
                drop(known);
                return Poll::Pending;
            }
        };
        let mut after = After::new();
        state.wake_publishers(&mut after);
        drop(state);
        after.run();
        Poll::Ready(taken)
    }
}

impl<E> State<E> {
    /// The next delivery: the gap before the oldest event, else that event.
    pub(crate) fn pop(&mut self) -> Option<Delivery<E>> {
        if self.lagged > 0 {
            return Some(Delivery::Lagged(mem::take(&mut self.lagged)));
        }
        self.events.pop_front().map(Delivery::Event)
    }

    /// Up to `limit` deliveries; how many, or nothing if there is none.
    pub(crate) fn pop_many(&mut self, into: &mut Vec<Delivery<E>>, limit: usize) -> Option<usize> {
        let gap = (self.lagged > 0).then(|| Delivery::Lagged(mem::take(&mut self.lagged)));
        let gaps = usize::from(gap.is_some());
        let count = self.events.len().min(limit - gaps);
        into.extend(gap);
        into.extend(self.events.drain(..count).map(Delivery::Event));
        (gaps + count > 0).then_some(gaps + count)
    }

    fn forget(&mut self, ticket: u64) -> Option<(u64, Waker)> {
        let place = self.publishers.iter().position(|(known, _)| *known == ticket)?;
        Some(self.publishers.swap_remove(place))
    }

    /// All of them, when there is room: one that finds another lane full must not keep the room from the rest.
    fn wake_publishers(&mut self, after: &mut After<E>) {
        after
            .wakers
            .extend(self.publishers.drain(..).map(|(_, waker)| waker));
    }
}
