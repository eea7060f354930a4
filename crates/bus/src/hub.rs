//! The one place where events get their order: every publication enters all its lanes under one lock.
//!
//! Locks are taken hub first, lane second, and neither is held while code of others runs.

use std::task::{Context, Poll, Waker};

use crate::bus::{Closed, PublishError};
use crate::lane::{After, Batch, Lane};
use crate::queue::Ended;
use crate::sync::{Arc, Mutex, lock};

pub(crate) struct Hub<E> {
    state: Mutex<State<E>>,
}

struct State<E> {
    lanes: Vec<Arc<Lane<E>>>,
    closed: bool,
    tickets: u64,
}

/// What became of an offered batch.
struct Offered<E> {
    /// How many events, from the start of the batch, entered.
    entered: usize,
    /// How many deliveries that made.
    reached: usize,
    /// The lane that had no room for the next event.
    full: Option<Arc<Lane<E>>>,
}

impl<E> Hub<E> {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                lanes: Vec::new(),
                closed: false,
                tickets: 0,
            }),
        }
    }

    pub(crate) fn add(&self, lane: Arc<Lane<E>>) -> Result<(), Closed> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(Closed);
        }
        state.lanes.push(lane);
        Ok(())
    }

    /// Once this returns, nothing more enters the lane.
    pub(crate) fn remove(&self, lane: &Arc<Lane<E>>) {
        let mut state = lock(&self.state);
        let place = state.lanes.iter().position(|known| Arc::ptr_eq(known, lane));
        let removed = place.map(|place| state.lanes.swap_remove(place));
        drop(state);
        drop(removed);
    }

    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let lanes = std::mem::take(&mut state.lanes);
        drop(state);
        let mut after = After::new();
        lanes
            .iter()
            .for_each(|lane| lane.end(Ended::BusClosed, &mut after));
        after.run();
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    pub(crate) fn subscriptions(&self) -> usize {
        lock(&self.state).lanes.len()
    }

    /// Publishes one event, or nothing if a lane that waits is full.
    pub(crate) fn try_publish(&self, batch: Batch<'_, E>) -> Result<usize, PublishError> {
        let offered = self.offer(batch)?;
        match offered.full {
            None => Ok(offered.reached),
            Some(lane) => Err(PublishError::Full {
                subscription: lane.name().to_owned(),
            }),
        }
    }

    fn offer(&self, batch: Batch<'_, E>) -> Result<Offered<E>, PublishError> {
        let mut after = After::new();
        let mut state = lock(&self.state);
        if state.closed {
            return Err(PublishError::Closed);
        }
        let offered = state.offer(batch, &mut after);
        drop(state);
        after.run();
        Ok(offered)
    }

    fn ticket(&self) -> u64 {
        let mut state = lock(&self.state);
        state.tickets += 1;
        state.tickets
    }
}

impl<E> State<E> {
    fn offer(&mut self, batch: Batch<'_, E>, after: &mut After<E>) -> Offered<E> {
        let mut entered = batch.events.len();
        let mut full = None;
        for lane in self.lanes.iter().filter(|lane| lane.waits()) {
            let room = lane.room_for(batch.split_at(entered).0);
            if room < entered {
                (entered, full) = (room, Some(Arc::clone(lane)));
            }
        }
        let reached = if entered > 0 {
            self.enter(batch.split_at(entered).0, after)
        } else {
            0
        };
        Offered {
            entered,
            reached,
            full,
        }
    }

    fn enter(&mut self, batch: Batch<'_, E>, after: &mut After<E>) -> usize {
        let mut reached = 0;
        self.lanes.retain(|lane| {
            let (accepted, open) = lane.accept(batch, after);
            reached += accepted;
            open
        });
        reached
    }
}

/// A publication under way. Dropped early, it leaves no trace but the events that already entered.
pub(crate) struct Publication<'a, E> {
    hub: &'a Hub<E>,
    rest: Batch<'a, E>,
    reached: usize,
    asleep: Option<Asleep<E>>,
}

/// The place where a publisher sleeps.
struct Asleep<E> {
    ticket: u64,
    lane: Arc<Lane<E>>,
}

impl<E> Drop for Asleep<E> {
    fn drop(&mut self) {
        self.lane.forget(self.ticket);
    }
}

impl<'a, E> Publication<'a, E> {
    pub(crate) fn new(hub: &'a Hub<E>, batch: Batch<'a, E>) -> Self {
        Self {
            hub,
            rest: batch,
            reached: 0,
            asleep: None,
        }
    }

    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<Result<usize, PublishError>> {
        loop {
            let offered = self.hub.offer(self.rest)?;
            self.reached += offered.reached;
            self.rest = self.rest.split_at(offered.entered).1;
            let Some(lane) = offered.full else {
                self.asleep = None;
                return Poll::Ready(Ok(self.reached));
            };
            if self.sleep(lane, cx.waker()) {
                return Poll::Pending;
            }
        }
    }

    fn sleep(&mut self, lane: Arc<Lane<E>>, waker: &Waker) -> bool {
        let ticket = self.hub.ticket();
        let asleep = lane.wait_for_room(ticket, waker);
        self.asleep = asleep.then_some(Asleep { ticket, lane });
        asleep
    }
}
