//! The reader's end of one stream: it reads the waiting events, or the log if it is behind.
//!
//! A reader with [`SlowReaderPolicy::Lossless`] that is further behind than its bound is cut off, continues
//! from the log with a copy of the fold at that place, and takes part again when it has caught up. It still
//! gets each event once and in order.

use std::sync::Arc;

use super::StreamsShared;
use super::event::{StreamEnd, StreamEvent};
use super::fold::StreamFold;
use super::queue::{QueueRead, StreamSlot};
use super::select::{Select, SlowReaderPolicy};
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

/// A reader's own reading of the log, until it has caught up with the others. It has its own fold, because
/// agents are named as they were at its place.
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

    /// The number of events that were dropped because newer ones came, only with
    /// [`SlowReaderPolicy::Latest`].
    pub fn dropped(&self) -> u64 {
        self.slot.dropped()
    }

    /// Returns the selection of the stream.
    pub fn select(&self) -> &Select {
        &self.slot.select
    }

    /// The reason why it ended; `None` before [`AgentStream::next`] has returned the end.
    pub fn ended(&self) -> Option<&StreamEnd> {
        self.ended.as_ref()
    }

    /// Returns whether the stream is behind: it reads the log at the moment, because its reader was too slow.
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Reads the log until there is an event; returns `None` if it takes part again, or the stream has ended.
    async fn catch_up(&mut self) -> Option<Arc<StreamEvent>> {
        loop {
            if self.ended.is_some() || self.join() {
                return None;
            }
            // New events replace waiting ones, even if they come from the log.
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
                        let end = behind.stream_end(ended.err(), &self.shared);
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

    /// Joins the multiplexer, if it has seen all earlier events.
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

    /// The stream ends with this event, which has yet to be delivered.
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
        let said = self.fold.apply(&event)?;
        (said.place() > self.from).then(|| Arc::new(said))
    }

    /// Returns the end for a reader that reads the log directly.
    fn stream_end(&self, error: Option<FollowError>, shared: &StreamsShared) -> StreamEnd {
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
