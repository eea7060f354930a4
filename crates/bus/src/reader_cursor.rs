//! A subscription inside a log: the position of its reader, its overflow policy, and whether it sleeps.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::task::Waker;

use crate::history::{EventBuffer, HistoryChunk, Sealed, TakenChunk};
use crate::queue::{OverflowPolicy, Queue, SubscriptionEnd};

/// A reader takes at most this part of its capacity at once. Events that it has taken no longer count as
/// waiting, so a full queue can hold at most this part more than the reader has really seen.
const STRIDE_PART: usize = 4;

pub(crate) struct ReaderCursor<E> {
    /// The number that distinguishes it from a later cursor at the same index.
    pub(crate) number: u64,
    pub(crate) name: Box<str>,
    pub(crate) reader: Option<Waker>,
    queue: Queue,
    /// The position of the next event to take.
    cursor: u64,
    /// Events dropped since the last one taken.
    lagged: u64,
    end: Option<CursorEnd<E>>,
}

/// A cursor without new events owns its waiting events, so that it delays no other cursor.
struct CursorEnd<E> {
    reason: SubscriptionEnd,
    left: VecDeque<Sealed<E>>,
}

/// Events that a reader gets at once.
pub(crate) enum ReaderBatch<E> {
    /// The number of dropped events.
    Gap(u64),
    /// The next event, and those that were taken with it.
    Events { first: Arc<E>, rest: TakenChunk<E> },
}

impl<E> ReaderCursor<E> {
    pub(crate) fn new(number: u64, name: &str, queue: Queue, cursor: u64) -> Self {
        Self {
            number,
            name: name.into(),
            reader: None,
            queue,
            cursor,
            lagged: 0,
            end: None,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Returns the reason why there is nothing more to take, if it ended.
    pub(crate) fn ended(&self) -> Option<SubscriptionEnd> {
        self.end.as_ref().map(|end| end.reason)
    }

    /// Returns whether publishers wait for it.
    pub(crate) fn waits(&self) -> bool {
        self.is_open() && self.queue.overflow() == OverflowPolicy::Wait
    }

    /// The position at which its queue is full; `None` if that does not make publishers wait.
    pub(crate) fn full_at(&self) -> Option<u64> {
        let bounded = self.is_open() && self.queue.overflow() != OverflowPolicy::Lag;
        bounded.then_some(self.cursor + self.queue.capacity() as u64)
    }

    /// The reason for cutting it off, if one more event does.
    pub(crate) fn overrun(&self, head: u64) -> Option<SubscriptionEnd> {
        let overrun = self.queue.overflow() == OverflowPolicy::CutOff && self.full_at() == Some(head);
        overrun.then_some(SubscriptionEnd::CutOff {
            capacity: self.queue.capacity(),
        })
    }

    /// Returns whether it has taken everything up to this position.
    pub(crate) fn has_taken(&self, position: u64) -> bool {
        self.is_open() && self.cursor >= position
    }

    /// Drops events beyond its capacity, if that is its policy.
    pub(crate) fn give_up_overflow(
        &mut self,
        history: &mut EventBuffer<E>,
        dropped: &mut Vec<HistoryChunk<E>>,
    ) {
        let oldest = history.head().saturating_sub(self.queue.capacity() as u64);
        if self.cursor < oldest && self.queue.overflow() == OverflowPolicy::Lag && self.is_open() {
            self.lagged += oldest - self.cursor;
            history.leave(self.cursor, oldest, dropped);
            self.cursor = oldest;
        }
    }

    /// Returns the next gap or events; nothing if the reader has read every sealed chunk.
    pub(crate) fn take(
        &mut self,
        history: &mut EventBuffer<E>,
        dropped: &mut Vec<HistoryChunk<E>>,
    ) -> Option<ReaderBatch<E>> {
        self.give_up_overflow(history, dropped);
        if self.lagged > 0 {
            return Some(ReaderBatch::Gap(mem::take(&mut self.lagged)));
        }
        let source = match &self.end {
            Some(end) => end.left.front(),
            None => history.chunk_at(self.cursor),
        }?;
        let stride = (self.queue.capacity() / STRIDE_PART).max(1);
        let (mut rest, chunk_end) = (source.run(self.cursor, stride), source.end());
        let cursor = self.cursor + rest.len() as u64;
        match &mut self.end {
            Some(end) if cursor == chunk_end => dropped.extend(end.left.pop_front().map(Sealed::into_chunk)),
            Some(_) => {}
            None => history.leave(self.cursor, cursor, dropped),
        }
        self.cursor = cursor;
        rest.next().map(|first| ReaderBatch::Events { first, rest })
    }

    /// Ends the cursor, which must be open, in a history whose tail is sealed. Waiting events stay readable.
    pub(crate) fn end(
        &mut self,
        reason: SubscriptionEnd,
        history: &mut EventBuffer<E>,
        dropped: &mut Vec<HistoryChunk<E>>,
    ) {
        self.give_up_overflow(history, dropped);
        self.end = Some(CursorEnd {
            reason,
            left: history.chunks_from(self.cursor),
        });
        history.leave(self.cursor, u64::MAX, dropped);
    }

    /// Returns the chunks that are still held for its reader.
    pub(crate) fn into_remaining_chunks(self) -> impl Iterator<Item = HistoryChunk<E>> {
        self.end
            .map(|end| end.left)
            .into_iter()
            .flatten()
            .map(Sealed::into_chunk)
    }
}
