//! The only lock of a bus: under it events get their order, and readers take them.
//!
//! It is held for a few instructions per event or chunk. The only foreign code that runs under it returns the
//! names of an event ([`Routed`]), before anything is changed for that event.

use std::sync::Arc as EventArc;
use std::task::{Context, Poll, Waker};

use crate::filter::Filter;
use crate::filter_group::{DeferredWakeups, FilterGroup};
use crate::queue::{Queue, SubscriptionEnd};
use crate::reader_cursor::ReaderBatch;
use crate::route::{RouteNames, Routed};
use crate::sync::{Mutex, lock};

/// The bus is closed: nobody can subscribe to it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bus is closed")]
pub struct Closed;

/// The reason why an event was not published.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The bus is closed.
    #[error("cannot publish: the bus is closed")]
    Closed,
    /// A subscription that publishers wait for is full; only [`Bus::try_publish`](crate::Bus::try_publish)
    /// returns this.
    #[error("cannot publish without waiting: the queue of `{subscription}` is full")]
    Full {
        /// The name of the subscription.
        subscription: String,
    },
}

/// Maximum number of events of a batch that enter before the lock is released, so that a long batch does not
/// shut others out.
const BATCH: usize = 64;

/// The place of a cursor. The number distinguishes it from a later cursor in the same place.
#[derive(Clone, Copy)]
pub(crate) struct ReaderId {
    log: usize,
    place: usize,
    number: u64,
}

pub(crate) struct BusHub<E> {
    state: Mutex<HubState<E>>,
}

struct HubState<E> {
    /// The logs, one for each filter in use.
    logs: Vec<Option<FilterGroup<E>>>,
    closed: bool,
    /// The last number given to a cursor or a waiting publisher.
    numbers: u64,
    publishers: Vec<WaitingPublisher>,
}

/// A publisher that waits for room in a log.
struct WaitingPublisher {
    number: u64,
    log: usize,
    waker: Waker,
}

/// The reason why an event did not enter.
enum PublishRefused {
    Closed,
    /// A cursor of this log is full.
    Full(usize),
}

impl<E> BusHub<E> {
    pub(crate) fn new() -> Self {
        let state = HubState {
            logs: Vec::new(),
            closed: false,
            numbers: 0,
            publishers: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
        }
    }

    pub(crate) fn add(&self, name: &str, filter: Filter, queue: Queue) -> Result<ReaderId, Closed> {
        let mut state = lock(&self.state);
        if state.closed {
            Err(Closed)
        } else {
            Ok(state.add(name, filter, queue))
        }
    }

    /// Ends a cursor: once this returns, nothing more enters it.
    pub(crate) fn end(&self, id: ReaderId) {
        self.change(|state, after| state.end(id, after));
    }

    /// Removes the cursor of a reader that is gone.
    pub(crate) fn remove(&self, id: ReaderId) {
        let unused = self.change(|state, after| state.remove(id, after));
        drop(unused);
    }

    pub(crate) fn close(&self) {
        self.change(HubState::close);
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    pub(crate) fn subscriptions(&self) -> usize {
        lock(&self.state)
            .logs
            .iter()
            .flatten()
            .map(FilterGroup::open)
            .sum()
    }

    /// Returns the next events of a reader; `None` if there are none yet.
    pub(crate) fn try_take(&self, id: ReaderId) -> Result<Option<ReaderBatch<E>>, SubscriptionEnd> {
        self.change(|state, after| state.take(id, after))
    }

    /// Returns the next events of a reader, which sleeps while there are none.
    pub(crate) fn poll_take(
        &self,
        id: ReaderId,
        cx: &Context<'_>,
    ) -> Poll<Result<ReaderBatch<E>, SubscriptionEnd>> {
        let taken = self.change(|state, after| {
            let taken = state.take(id, after);
            if let (Ok(None), Some(log)) = (&taken, &mut state.logs[id.log]) {
                log.sleep(id.place, cx.waker(), after);
            }
            taken
        });
        taken.transpose().map_or(Poll::Pending, Poll::Ready)
    }

    /// Runs `act` under the lock, then the deferred wakeups after releasing it.
    fn change<T>(&self, act: impl FnOnce(&mut HubState<E>, &mut DeferredWakeups<E>) -> T) -> T {
        // Dropped after the guard, even if the names of an event panic.
        let mut after = DeferredWakeups::new();
        act(&mut lock(&self.state), &mut after)
    }
}

impl<E: Routed> BusHub<E> {
    /// Publishes an event, or nothing if a publisher must wait.
    pub(crate) fn try_publish(&self, event: EventArc<E>) -> Result<usize, PublishError> {
        // It outlives the lock, because an event that is refused or unwanted must be dropped outside of it.
        let mut event = Some(event);
        self.change(|state, after| {
            state.offer(&mut event, after).map_err(|refused| match refused {
                PublishRefused::Closed => PublishError::Closed,
                PublishRefused::Full(log) => PublishError::Full {
                    subscription: state.full_cursor(log),
                },
            })
        })
    }
}

impl<E> HubState<E> {
    fn add(&mut self, name: &str, filter: Filter, queue: Queue) -> ReaderId {
        let same = |log: &Option<FilterGroup<E>>| log.as_ref().is_some_and(|log| *log.filter() == filter);
        let known = self.logs.iter().position(same);
        let place = known
            .or_else(|| self.logs.iter().position(Option::is_none))
            .unwrap_or(self.logs.len());
        if place == self.logs.len() {
            self.logs.push(None);
        }
        let number = self.number();
        let log = self.logs[place].get_or_insert_with(|| FilterGroup::new(filter));
        ReaderId {
            log: place,
            place: log.add(number, name, queue),
            number,
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn take(
        &mut self,
        id: ReaderId,
        after: &mut DeferredWakeups<E>,
    ) -> Result<Option<ReaderBatch<E>>, SubscriptionEnd> {
        let Some(log) = &mut self.logs[id.log] else {
            return Err(SubscriptionEnd::Stopped);
        };
        let taken = log.take(id.place, after);
        if matches!(taken, Ok(Some(_))) && log.cursor(id.place).is_some_and(|cursor| cursor.waits()) {
            self.wake_publishers(id.log, after);
        }
        taken
    }

    fn end(&mut self, id: ReaderId, after: &mut DeferredWakeups<E>) {
        let Some(log) = &mut self.logs[id.log] else {
            return;
        };
        if log
            .cursor(id.place)
            .is_some_and(|cursor| cursor.number == id.number)
        {
            log.end(id.place, SubscriptionEnd::Stopped, after);
            self.wake_publishers(id.log, after);
        }
    }

    /// Returns the log if this was its last cursor, to be dropped outside the lock.
    fn remove(&mut self, id: ReaderId, after: &mut DeferredWakeups<E>) -> Option<FilterGroup<E>> {
        let log = &mut self.logs[id.log];
        log.as_mut()?.remove(id.place, after);
        let unused = log.take_if(|log| log.is_unused());
        self.wake_publishers(id.log, after);
        unused
    }

    fn close(&mut self, after: &mut DeferredWakeups<E>) {
        self.closed = true;
        self.logs
            .iter_mut()
            .flatten()
            .for_each(|log| log.end_all(SubscriptionEnd::BusClosed, after));
        after
            .wakers
            .extend(self.publishers.drain(..).map(|waiting| waiting.waker));
    }

    fn full_cursor(&self, log: usize) -> String {
        let cursor = self.logs[log].as_ref().and_then(FilterGroup::full_cursor);
        cursor.map(|cursor| cursor.name.to_string()).unwrap_or_default()
    }

    /// Wakes all publishers that wait for this log: one that then finds another log full must not keep the
    /// others waiting.
    fn wake_publishers(&mut self, log: usize, after: &mut DeferredWakeups<E>) {
        let waiting = self.publishers.extract_if(.., |waiting| waiting.log == log);
        after.wakers.extend(waiting.map(|waiting| waiting.waker));
    }

    fn forget_publisher(&mut self, number: u64, after: &mut DeferredWakeups<E>) {
        let forgotten = self.publishers.extract_if(.., |waiting| waiting.number == number);
        after.retired.extend(forgotten.map(|waiting| waiting.waker));
    }
}

impl<E: Routed> HubState<E> {
    /// Takes the event and returns the number of deliveries, or leaves it in place.
    fn offer(
        &mut self,
        event: &mut Option<EventArc<E>>,
        after: &mut DeferredWakeups<E>,
    ) -> Result<usize, PublishRefused> {
        let Some(offered) = event.as_ref() else {
            return Ok(0);
        };
        if self.closed {
            return Err(PublishRefused::Closed);
        }
        let route = RouteNames::of(&**offered);
        let full = |log: &Option<FilterGroup<E>>| {
            log.as_ref()
                .is_some_and(|log| log.full_cursor().is_some() && log.wants(&route))
        };
        if let Some(log) = self.logs.iter().position(full) {
            return Err(PublishRefused::Full(log));
        }
        let mut wanting = self.logs.iter_mut().flatten().filter(|log| log.wants(&route));
        let mut last = wanting.next();
        let mut reached = 0;
        // The last log gets the publisher's own reference: mostly there is one, and counting costs.
        for next in wanting {
            reached += last
                .replace(next)
                .map_or(0, |log| log.enter(EventArc::clone(offered), after));
        }
        let own = last.is_some().then(|| event.take()).flatten();
        Ok(reached + last.zip(own).map_or(0, |(log, own)| log.enter(own, after)))
    }
}

/// A publication in progress. Dropped early, it leaves no trace but the events that already entered.
pub(crate) struct Publication<'a, E, I> {
    hub: &'a BusHub<E>,
    /// The event that comes next, if it was refused before.
    pending: Option<EventArc<E>>,
    rest: I,
    reached: usize,
    /// The number under which it waits for room.
    asleep: Option<u64>,
}

impl<'a, E: Routed, I: Iterator<Item = EventArc<E>>> Publication<'a, E, I> {
    pub(crate) fn new(hub: &'a BusHub<E>, events: I) -> Self {
        Self {
            hub,
            pending: None,
            rest: events,
            reached: 0,
            asleep: None,
        }
    }

    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<Result<usize, PublishError>> {
        loop {
            let hub = self.hub;
            match hub.change(|state, after| self.step(state, cx, after)) {
                Poll::Ready(Ok(false)) => {}
                Poll::Ready(Ok(true)) => return Poll::Ready(Ok(self.reached)),
                Poll::Ready(Err(closed)) => return Poll::Ready(Err(closed)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Publishes some events; true if those were all.
    fn step(
        &mut self,
        state: &mut HubState<E>,
        cx: &Context<'_>,
        after: &mut DeferredWakeups<E>,
    ) -> Poll<Result<bool, PublishError>> {
        if let Some(number) = self.asleep.take() {
            state.forget_publisher(number, after);
        }
        for _ in 0..BATCH {
            self.pending = self.pending.take().or_else(|| self.rest.next());
            if self.pending.is_none() {
                return Poll::Ready(Ok(true));
            }
            match state.offer(&mut self.pending, after) {
                Ok(reached) => {
                    self.reached += reached;
                    after.unwanted.extend(self.pending.take());
                }
                Err(PublishRefused::Closed) => return Poll::Ready(Err(PublishError::Closed)),
                Err(PublishRefused::Full(log)) => {
                    let number = state.number();
                    state.publishers.push(WaitingPublisher {
                        number,
                        log,
                        waker: cx.waker().clone(),
                    });
                    self.asleep = Some(number);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(false))
    }
}

impl<E, I> Drop for Publication<'_, E, I> {
    fn drop(&mut self) {
        if let Some(number) = self.asleep {
            self.hub
                .change(|state, after| state.forget_publisher(number, after));
        }
    }
}
