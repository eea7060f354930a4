//! The recent events of one filter, stored once for all its readers.
//!
//! Events are appended to an open tail. A reader that gets there seals the tail: it becomes a chunk that
//! never changes again, so readers go through it without a lock. A chunk is freed when the last reader has
//! left it.

use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of events in a chunk: enough that taking a lock per chunk costs little per event.
const CHUNK: usize = 64;

/// A run of events that no longer changes.
pub(crate) type HistoryChunk<E> = Arc<[Arc<E>]>;

/// The part of a chunk that a reader has taken and processes without a lock.
pub(crate) struct TakenChunk<E> {
    chunk: HistoryChunk<E>,
    next: usize,
    end: usize,
}

impl<E> TakenChunk<E> {
    pub(crate) fn len(&self) -> usize {
        self.end - self.next
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<E> Iterator for TakenChunk<E> {
    type Item = Arc<E>;

    fn next(&mut self) -> Option<Arc<E>> {
        let event = self.chunk[..self.end].get(self.next)?;
        self.next += 1;
        Some(Arc::clone(event))
    }
}

pub(crate) struct EventBuffer<E> {
    /// In the order of their positions, without a gap, up to the tail.
    sealed: VecDeque<Sealed<E>>,
    tail: Vec<Arc<E>>,
    head: u64,
}

pub(crate) struct Sealed<E> {
    chunk: HistoryChunk<E>,
    /// The position after its last event.
    end: u64,
    /// The number of readers that have not taken all of it.
    readers: usize,
}

impl<E> Sealed<E> {
    /// The events from this position, which is in the chunk, at most `limit`.
    pub(crate) fn run(&self, from: u64, limit: usize) -> TakenChunk<E> {
        let len = self.chunk.len();
        let next = len - (self.end - from) as usize;
        TakenChunk {
            chunk: Arc::clone(&self.chunk),
            next,
            end: len.min(next + limit),
        }
    }

    /// The position after its last event.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn into_chunk(self) -> HistoryChunk<E> {
        self.chunk
    }
}

impl<E> EventBuffer<E> {
    pub(crate) fn new() -> Self {
        Self {
            sealed: VecDeque::new(),
            tail: Vec::new(),
            head: 0,
        }
    }

    /// The position after the newest event.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// The position at which the tail begins.
    pub(crate) fn sealed_until(&self) -> u64 {
        self.head - self.tail.len() as u64
    }

    /// Appends an event; returns true if the tail is full and must be sealed.
    pub(crate) fn push(&mut self, event: Arc<E>) -> bool {
        self.tail.push(event);
        self.head += 1;
        self.tail.len() == CHUNK
    }

    /// Makes a chunk of the tail, which this many readers have yet to take.
    pub(crate) fn seal(&mut self, readers: usize) {
        if !self.tail.is_empty() {
            let chunk = self.tail.drain(..).collect();
            self.sealed.push_back(Sealed {
                chunk,
                end: self.head,
                readers,
            });
        }
    }

    /// The chunk that holds this position, if it is sealed.
    pub(crate) fn chunk_at(&self, position: u64) -> Option<&Sealed<E>> {
        self.sealed.get(self.place_after(position))
    }

    /// All sealed chunks from this position on, for one reader.
    pub(crate) fn chunks_from(&self, position: u64) -> VecDeque<Sealed<E>> {
        let kept = self.sealed.range(self.place_after(position)..);
        kept.map(|sealed| Sealed {
            chunk: Arc::clone(&sealed.chunk),
            end: sealed.end,
            readers: 1,
        })
        .collect()
    }

    /// Moves one reader past all chunks that end between two of its positions, and adds the chunks that
    /// nobody needs any more to `dropped`, so that they are dropped outside the lock.
    pub(crate) fn leave(&mut self, from: u64, to: u64, dropped: &mut Vec<HistoryChunk<E>>) {
        let first = self.place_after(from);
        for sealed in self
            .sealed
            .range_mut(first..)
            .take_while(|sealed| sealed.end <= to)
        {
            sealed.readers -= 1;
        }
        while self.sealed.front().is_some_and(|sealed| sealed.readers == 0) {
            dropped.extend(self.sealed.pop_front().map(Sealed::into_chunk));
        }
    }

    /// Returns the index of the first sealed chunk that ends after this position.
    fn place_after(&self, position: u64) -> usize {
        match self.sealed.front() {
            // A reader that keeps up is at the front.
            Some(first) if first.end > position => 0,
            _ => self.sealed.partition_point(|sealed| sealed.end <= position),
        }
    }
}
