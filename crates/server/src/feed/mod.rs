//! The events of a session, encoded once for all readers of one view.
//!
//! A feed keeps the frames that its slowest reader has not taken yet, up to a bound. A reader that is further
//! behind is *overrun*: it alone is cut off, and returns through the log. Readers that replay from the log do
//! not count: they join (`Feed::join`) once the feed has everything after their position.
//!
//! A reader is not a second follower of the log: one follower fills the feed, and readers copy bytes that
//! were encoded once for all, in turns. Each keeps its position, as every follower does, as an
//! [`EventCursor`].

mod encode;
mod page_cache;
mod reader;
mod replay;
mod slot;
mod subscription_filter;
#[cfg(test)]
mod tests;
mod view_fold;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_runtime::EventCursor;
use agentx_types::wire::Problem;
use agentx_types::{AgentStateId, Medium};
use axum::extract::ws::Utf8Bytes;

pub(crate) use encode::FeedPump;
pub use encode::FrameEncoder;
pub use page_cache::PageCache;
pub use reader::{FactSource, FeedItem, FeedReader, FeedStart};
pub use replay::ReplayShare;
pub use slot::FeedSlot;
pub use subscription_filter::{FilteredEvent, SubscriptionFilter};
pub use view_fold::ViewFold;

/// The number of frames that are kept although every reader has them, for readers that reconnect after a
/// moment.
const TAIL_FRAMES: usize = 256;
/// The limit of the tail, in bytes.
const TAIL_BYTES: usize = 64 * 1024;

/// An event as it goes over the wire. Clones share the bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The place of the event in its session.
    pub place: EventCursor,
    /// The JSON of the event.
    pub text: Utf8Bytes,
    /// The agent of the event.
    pub agent: Option<AgentStateId>,
    /// The medium of the event's content.
    pub medium: Option<Medium>,
}

impl Frame {
    /// Returns the tag of the event, as the text has it.
    pub fn tag(&self) -> &str {
        // Quotes inside strings are escaped, so this cannot be found in one; and only the payload comes after
        // it.
        const BEFORE: &str = ",\"event\":\"";
        let text = self.text.as_str();
        let rest = text.find(BEFORE).map_or("", |at| &text[at + BEFORE.len()..]);
        rest.split('"').next().unwrap_or_default()
    }
}

/// Limits of the frames that wait for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedBounds {
    /// The maximum number of frames.
    pub frames: usize,
    /// The maximum number of bytes.
    pub bytes: usize,
}

/// The frames of one session in one view, as they come.
pub struct Feed {
    bounds: FeedBounds,
    ring: Mutex<Ring>,
}

struct Ring {
    frames: VecDeque<Frame>,
    /// The number of the first of them, counted from the beginning of the feed.
    first: u64,
    bytes: usize,
    /// The events up to here are no longer in `frames`.
    base: EventCursor,
    /// The last fact that has been encoded.
    mark: u64,
    readers: Vec<Arc<FeedSlot>>,
    ended: Option<Problem>,
}

/// The result of reading from a feed.
#[derive(Debug, PartialEq)]
pub(crate) enum FeedRead {
    /// Frames were read up to the limit; there are more.
    Some,
    /// All there is, up to this fact.
    All(u64),
    /// The reader was too slow.
    Overrun,
    /// The feed has ended.
    Ended(Problem),
}

impl Feed {
    /// Creates a feed of the events after the fact `mark`.
    pub fn new(mark: u64, bounds: FeedBounds) -> Self {
        let ring = Ring {
            frames: VecDeque::new(),
            first: 0,
            bytes: 0,
            base: EventCursor::after(mark),
            mark,
            readers: Vec::new(),
            ended: None,
        };
        Self {
            bounds,
            ring: Mutex::new(ring),
        }
    }

    /// Returns the last fact that has been encoded.
    pub fn mark(&self) -> u64 {
        self.lock().mark
    }

    /// Adds the frames of all facts up to `mark`, and wakes the waiting readers. Returns how many readers
    /// were overrun by that.
    pub fn publish(&self, frames: &mut Vec<Frame>, mark: u64) -> usize {
        let mut ring = self.lock();
        ring.mark = ring.mark.max(mark);
        for frame in frames.drain(..) {
            ring.bytes += frame.text.len();
            ring.frames.push_back(frame);
        }
        let slowest = ring.slowest();
        while ring.is_over(self.bounds) || (ring.first < slowest && ring.is_over(TAIL)) {
            ring.drop_first();
        }
        let first = ring.first;
        let mut overrun = 0;
        for slot in &ring.readers {
            if slot.next() < first && slot.set_overrun() {
                overrun += 1;
            }
            slot.wake();
        }
        overrun
    }

    /// Adds a reader that has everything up to `has`.
    ///
    /// # Errors
    /// Returns the fact up to which the reader has to read the log first.
    pub(crate) fn join(&self, has: EventCursor, slot: &Arc<FeedSlot>) -> Result<(), u64> {
        let mut ring = self.lock();
        if has < ring.base {
            return Err(ring.mark);
        }
        let known = ring.frames.partition_point(|frame| frame.place <= has);
        slot.set_next(ring.first + known as u64);
        slot.wake();
        ring.readers.push(slot.clone());
        Ok(())
    }

    /// Moves up to `limit` matching frames after `has`, of about `bytes` bytes, into `out`.
    pub(crate) fn take(
        &self,
        (slot, only): (&FeedSlot, Option<&SubscriptionFilter>),
        has: &mut EventCursor,
        (limit, bytes): (usize, usize),
        out: &mut Vec<Frame>,
    ) -> FeedRead {
        let ring = self.lock();
        let Some(skip) = slot.next().checked_sub(ring.first) else {
            return FeedRead::Overrun;
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(ring.frames.len());
        let (mut taken, mut size) = (0, 0);
        for frame in ring.frames.range(skip..).take(limit) {
            if size >= bytes {
                break;
            }
            taken += 1;
            if has.advance_to(frame.place) && only.is_none_or(|only| only.wants(frame)) {
                size += frame.text.len();
                out.push(frame.clone());
            }
        }
        slot.set_next(ring.first + (skip + taken) as u64);
        if skip + taken < ring.frames.len() {
            return FeedRead::Some;
        }
        match &ring.ended {
            Some(problem) if taken == 0 => FeedRead::Ended(problem.clone()),
            Some(_) => {
                // The next call reports that the feed has ended.
                slot.more();
                FeedRead::All(ring.mark)
            }
            None => FeedRead::All(ring.mark),
        }
    }

    /// Removes a reader.
    pub(crate) fn leave(&self, slot: &Arc<FeedSlot>) {
        self.lock().readers.retain(|reader| !Arc::ptr_eq(reader, slot));
    }

    /// Ends the feed. Readers get the problem after the frames that are left.
    pub fn end(&self, problem: Problem) {
        let mut ring = self.lock();
        ring.ended.get_or_insert(problem);
        ring.readers.iter().for_each(|slot| slot.wake());
    }

    /// Returns whether the feed has ended: no frame follows.
    pub fn has_ended(&self) -> bool {
        self.lock().ended.is_some()
    }

    /// Returns the number of readers.
    pub fn readers(&self) -> usize {
        self.lock().readers.len()
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const TAIL: FeedBounds = FeedBounds {
    frames: TAIL_FRAMES,
    bytes: TAIL_BYTES,
};

impl Ring {
    /// Returns the number of the next frame that the slowest reader wants.
    fn slowest(&self) -> u64 {
        let end = self.first + self.frames.len() as u64;
        let behind = self.readers.iter().filter(|slot| !slot.is_overrun());
        behind.map(|slot| slot.next()).min().unwrap_or(end)
    }

    /// Returns whether the tail exceeds its bounds; the last frame is always kept.
    fn is_over(&self, bounds: FeedBounds) -> bool {
        self.frames.len() > 1 && (self.frames.len() > bounds.frames || self.bytes > bounds.bytes)
    }

    fn drop_first(&mut self) {
        if let Some(frame) = self.frames.pop_front() {
            self.first += 1;
            self.bytes -= frame.text.len();
            self.base = frame.place;
        }
    }
}
