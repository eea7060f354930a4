//! The reader's end of one stream: what waits for it, or, if it is behind, what the log has.
//!
//! A reader with [`SlowReaderPolicy::Lossless`] that is further behind than its bound is cut off, continues
//! from the log with a copy of the fold as it was there, and takes part again when it has caught up. It gets
//! each event once and in order anyway.

use std::sync::Arc;

use super::event::StreamEvent;
use super::fold::StreamFold;
use super::queue::{QueueRead, StreamSlot};
use super::select::{Select, SlowReaderPolicy};
use super::{StreamEnd, StreamsShared};
use crate::follow::{FollowError, Follower, SubscriptionSource};
use agentx_session::{Delivery, EventCursor};

/// A stream of a session. Dropping it closes it.
pub struct AgentStream {
    /// The state that all streams of the session share.
    pub(super) shared: Arc<StreamsShared>,
    /// The slot into which the multiplexer puts the events of this stream.
    pub(super) slot: Arc<StreamSlot>,
    /// The reader's own way through the log, while it is behind the others.
    pub(super) behind: Option<Box<CatchUp>>,
    /// The end of the stream, once the reader was notified.
    pub(super) ended: Option<StreamEnd>,
}

/// Reading on one's own, until one is where the others are.
/// The fold is that of this reader: agents are named as they were at its place.
pub(super) struct CatchUp {
    pub(super) fold: StreamFold,
    pub(super) follower: Follower<SubscriptionSource>,
    /// The reader does not want events up to this place.
    pub(super) from: EventCursor,
}

impl AgentStream {
    /// The next event; `None` at the end. Safe to drop while it waits.
    pub async fn next(&mut self) -> Option<Arc<StreamEvent>> {
        loop {
            if self.behind.is_some() {
                match self.catch_up().await {
                    Some(event) => return Some(event),
                    None if self.ended.is_some() => return None,
                    None => {}
                }
            }
            match self.slot.take() {
                QueueRead::Event(event) => return Some(event),
                QueueRead::Behind(behind) => {
                    let first = behind.first;
                    self.behind = Some(Box::new(CatchUp {
                        fold: behind.fold,
                        follower: self.shared.follow(first.place()),
                        from: first.place(),
                    }));
                    self.note_end(&first);
                    return Some(first);
                }
                QueueRead::Ended(end) => {
                    self.ended = Some(end);
                    return None;
                }
                QueueRead::Nothing => self.slot.news.notified().await,
            }
        }
    }

    /// Moves the next events to the end of `out`: at least one, at most `limit`. Returns how many; 0 at the
    /// end.
    pub async fn next_many(&mut self, out: &mut Vec<Arc<StreamEvent>>, limit: usize) -> usize {
        let limit = limit.max(1);
        if self.behind.is_none() {
            let taken = self.slot.take_many(out, limit);
            if taken > 0 {
                return taken;
            }
        }
        let Some(event) = self.next().await else {
            return 0;
        };
        out.push(event);
        let more = if self.behind.is_none() {
            self.slot.take_many(out, limit - 1)
        } else {
            0
        };
        1 + more
    }

    /// The number of events that were dropped because newer ones came: with [`SlowReaderPolicy::Latest`]
    /// alone.
    pub fn dropped(&self) -> u64 {
        self.slot.dropped()
    }

    /// Returns the selection of the stream.
    pub fn select(&self) -> &Select {
        &self.slot.select
    }

    /// The reason for which it ended; `None` before [`AgentStream::next`] has said that it did.
    pub fn ended(&self) -> Option<&StreamEnd> {
        self.ended.as_ref()
    }

    /// Returns whether it reads the log at the moment, because its reader is behind.
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Reads on its own until there is an event; `None` if it takes part again, or the stream has ended.
    async fn catch_up(&mut self) -> Option<Arc<StreamEvent>> {
        loop {
            if self.ended.is_some() || self.join() {
                return None;
            }
            // What is new replaces what waits, also if it is read from the log.
            let is_latest = matches!(self.slot.policy, SlowReaderPolicy::Latest(_));
            let behind = self.behind.as_mut()?;
            let event = match behind.follower.try_next() {
                Some(delivery) => behind.take(delivery),
                None if is_latest && !self.slot.is_empty() => match self.slot.take() {
                    QueueRead::Event(event) => return Some(event),
                    QueueRead::Behind(_) | QueueRead::Ended(_) | QueueRead::Nothing => None,
                },
                None => match behind.follower.next().await {
                    Ok(Some(delivery)) => behind.take(delivery),
                    ended => {
                        let end = behind.over(ended.err(), &self.shared);
                        self.slot_end(end);
                        None
                    }
                },
            };
            let Some(event) = event.filter(|event| self.slot.select.wants(event)) else {
                continue;
            };
            if !is_latest {
                self.note_end(&event);
                return Some(event);
            }
            if let Some(behind) = &self.behind {
                self.slot.push(&event, &behind.fold);
            }
            self.note_end(&event);
        }
    }

    /// Takes part in what is handed on, if it has seen all that was.
    fn join(&mut self) -> bool {
        let Some(behind) = &self.behind else { return true };
        let joined = self
            .shared
            .hub
            .lock()
            .join(&self.slot, behind.follower.position())
            .is_ok();
        if joined {
            self.behind = None;
        }
        joined
    }

    /// The stream is over with this event, which is still to be handed on.
    fn note_end(&mut self, event: &StreamEvent) {
        if let Some(end) = self.slot.end_with(event) {
            self.slot_end(end);
        }
    }

    /// Ends the stream, unless it has ended already.
    fn slot_end(&mut self, end: StreamEnd) {
        self.behind = None;
        self.slot.end(end);
    }
}

impl Drop for AgentStream {
    fn drop(&mut self) {
        self.shared.hub.lock().leave(&self.slot);
    }
}

impl CatchUp {
    /// Returns the stream event that follows from a delivery, if it is after the place from which the reader
    /// wants events.
    fn take(&mut self, delivery: Delivery) -> Option<Arc<StreamEvent>> {
        let Delivery::Runtime(event) = delivery else {
            return None;
        };
        let said = self.fold.take(&event)?;
        (said.place() > self.from).then(|| Arc::new(said))
    }

    /// The end, if the session gives nothing more to one who reads on its own.
    fn over(&self, error: Option<FollowError>, shared: &StreamsShared) -> StreamEnd {
        let known = self.follower.position();
        match error {
            Some(error) => StreamEnd::Failed(error.to_string()),
            None if known < shared.hub.lock().place => StreamEnd::Failed(format!(
                "the session was closed before what came after event {} could be read again",
                known.seq
            )),
            None => StreamEnd::SessionEnded,
        }
    }
}
