//! The queue of the reader of one stream, within its bound.
//!
//! Order inside one slot: waiting events, then the cut, then the end. So a reader gets all events that fitted
//! before it reads the log, and the end comes last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::event::{StreamBody, StreamEnd, StreamEvent};
use super::fold::StreamFold;
use super::select::{AgentSelection, Select, SlowReaderPolicy};
use agentx_session::EventCursor;

/// A stream between the multiplexer and its reader. The multiplexer pushes under its own lock and never
/// waits; the reader takes at any time, and is woken if the queue was empty.
pub(super) struct StreamSlot {
    /// The selection of events that the stream is of.
    pub(super) select: Select,
    pub(super) policy: SlowReaderPolicy,
    /// Wakes the reader.
    pub(super) news: Notify,
    queue: Mutex<StreamQueue>,
}

#[derive(Default)]
struct StreamQueue {
    /// The events that wait for the reader, within the bound of the policy.
    waiting: VecDeque<Arc<StreamEvent>>,
    /// The reader knows all events up to this place.
    skip: EventCursor,
    /// The number of dropped events, if the reader wants only new ones.
    dropped: u64,
    /// The place at which it was cut off, once it was.
    behind: Option<Box<CutOffPoint>>,
    /// The end of the stream, once it ended.
    ended: Option<StreamEnd>,
}

/// The place at which a stream was cut off.
pub(super) struct CutOffPoint {
    /// The event that did not fit.
    pub(super) first: Arc<StreamEvent>,
    /// The fold after this event.
    pub(super) fold: StreamFold,
}

/// The result of a read.
pub(super) enum QueueRead {
    /// The next one that waits.
    Event(Arc<StreamEvent>),
    /// The stream was cut off here: the rest is in the log.
    Behind(Box<CutOffPoint>),
    /// The stream has ended.
    Ended(StreamEnd),
    /// Empty for now; `news` fires when that changes.
    Nothing,
}

impl StreamSlot {
    pub(super) fn new(select: Select, policy: SlowReaderPolicy) -> Self {
        Self {
            select,
            policy,
            news: Notify::new(),
            queue: Mutex::default(),
        }
    }

    /// The reader knows everything up to here.
    pub(super) fn skip_to(&self, place: EventCursor) {
        self.lock().skip = place;
    }

    /// Adds an event. `false`: nothing more is wanted of the multiplexer, as the stream is cut off or over.
    pub(super) fn push(&self, event: &Arc<StreamEvent>, fold: &StreamFold) -> bool {
        let mut queue = self.lock();
        if event.place() <= queue.skip {
            return true;
        }
        let mut goes_on = true;
        // The readers with events have been woken.
        let is_first = queue.waiting.is_empty();
        if queue.waiting.len() < self.policy.bound() {
            queue.waiting.push_back(event.clone());
        } else if let SlowReaderPolicy::Latest(_) = self.policy {
            queue.waiting.pop_front();
            queue.dropped += 1;
            queue.waiting.push_back(event.clone());
        } else {
            queue.behind = Some(Box::new(CutOffPoint {
                first: event.clone(),
                fold: fold.clone(),
            }));
            goes_on = false;
        }
        if goes_on && let Some(end) = self.end_with(event) {
            queue.ended = Some(end);
            goes_on = false;
        }
        drop(queue);
        if is_first {
            self.news.notify_one();
        }
        goes_on
    }

    /// The end of the stream, if this event is it.
    pub(super) fn end_with(&self, event: &StreamEvent) -> Option<StreamEnd> {
        match (&self.select.agent, &event.body) {
            (AgentSelection::Id(id), StreamBody::Closed { .. }) if *id == event.agent_state_id => {
                Some(StreamEnd::AgentClosed)
            }
            _ => None,
        }
    }

    /// Ends the stream. The first end counts.
    pub(super) fn end(&self, end: StreamEnd) {
        self.lock().ended.get_or_insert(end);
        self.news.notify_one();
    }

    /// Returns the next item of the reader, without waiting.
    pub(super) fn take(&self) -> QueueRead {
        let mut queue = self.lock();
        if let Some(event) = queue.waiting.pop_front() {
            return QueueRead::Event(event);
        }
        if let Some(behind) = queue.behind.take() {
            return QueueRead::Behind(behind);
        }
        queue.ended.clone().map_or(QueueRead::Nothing, QueueRead::Ended)
    }

    /// Moves up to `limit` waiting events to the end of `out`.
    pub(super) fn take_many(&self, out: &mut Vec<Arc<StreamEvent>>, limit: usize) -> usize {
        let mut queue = self.lock();
        let count = queue.waiting.len().min(limit);
        out.extend(queue.waiting.drain(..count));
        count
    }

    /// The number of events that were dropped because newer ones came.
    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// Returns whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, StreamQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
