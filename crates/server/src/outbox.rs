//! The queue of answers and notices to a connection. It is bounded; a slow client is disconnected.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use agentx_types::wire::ServerNotice;
use axum::body::Bytes;
use axum::extract::ws::Utf8Bytes;
use futures_util::task::AtomicWaker;

use crate::connections::held_bytes::HeldShare;
use crate::feed::FeedBounds;

/// The step in which bytes of a queue are counted for its connection.
const COUNTED: usize = 64 * 1024;

/// The queue of one connection, next to its subscriptions.
pub struct Outbox<T> {
    bounds: FeedBounds,
    queue: Mutex<OutboxQueue<T>>,
    waker: AtomicWaker,
    /// The part of its connection in the bytes that the server holds.
    held: Option<HeldShare>,
}

struct OutboxQueue<T> {
    items: VecDeque<OutboxItem<T>>,
    bytes: usize,
    /// The bytes that are counted for the connection.
    counted: usize,
    state: OutboxState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OutboxState {
    Open,
    /// More came than it holds.
    Overrun,
    /// Closed.
    Closed,
}

/// An item of an outbox.
pub enum OutboxItem<T> {
    /// A frame to send.
    Text(Utf8Bytes),
    /// Bytes to send unchanged: frames of the WebSocket protocol.
    Framed(Bytes),
    /// A task to run, in its place between the frames.
    Task(T),
}

/// The result of taking an item.
pub enum NextFrame<T> {
    /// The next item.
    Item(OutboxItem<T>),
    /// More came than it holds.
    Overrun,
}

impl<T> Outbox<T> {
    /// Creates an empty outbox.
    pub fn new(bounds: FeedBounds) -> Self {
        let queue = OutboxQueue {
            items: VecDeque::new(),
            bytes: 0,
            counted: 0,
            state: OutboxState::Open,
        };
        Self {
            bounds,
            queue: Mutex::new(queue),
            waker: AtomicWaker::new(),
            held: None,
        }
    }

    /// Counts what waits in it in this share, too.
    pub(crate) fn counted(mut self, held: Option<HeldShare>) -> Self {
        self.held = held;
        self
    }

    /// Queues a text message.
    pub fn text(&self, text: Utf8Bytes) {
        let size = text.len();
        self.push(OutboxItem::Text(text), size);
    }

    /// Queues a notice as a text message, in JSON.
    pub fn notice(&self, notice: &ServerNotice) {
        self.text(encode(notice));
    }

    /// Queues WebSocket frames that are encoded already.
    pub fn framed(&self, frames: Bytes) {
        let size = frames.len();
        self.push(OutboxItem::Framed(frames), size);
    }

    /// Queues a task, which is returned when its turn comes.
    pub fn task(&self, task: T) {
        self.push(OutboxItem::Task(task), 0);
    }

    /// Polls for the next item; pending while the queue is empty.
    pub fn poll_next(&self, cx: &Context<'_>) -> Poll<NextFrame<T>> {
        if let Some(next) = self.take() {
            return Poll::Ready(next);
        }
        self.waker.register(cx.waker());
        self.take().map_or(Poll::Pending, Poll::Ready)
    }

    /// Takes all queued items but the tasks; none if the queue has overflowed.
    pub fn drain(&self) -> Vec<OutboxItem<T>> {
        let mut queue = self.lock();
        if queue.state != OutboxState::Open {
            return Vec::new();
        }
        queue.bytes = 0;
        let items = std::mem::take(&mut queue.items);
        self.count(&mut queue);
        drop(queue);
        let is_said = |item: &OutboxItem<T>| !matches!(item, OutboxItem::Task(_));
        items.into_iter().filter(is_said).collect()
    }

    /// Returns whether more came than it holds.
    pub fn poll_overrun(&self, cx: &Context<'_>) -> Poll<()> {
        self.waker.register(cx.waker());
        if self.lock().state == OutboxState::Overrun {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Closes the queue; later items are dropped.
    pub fn close(&self) {
        let mut queue = self.lock();
        queue.state = OutboxState::Closed;
        let items = std::mem::take(&mut queue.items);
        queue.bytes = 0;
        self.count(&mut queue);
        drop(queue);
        drop(items);
    }

    fn take(&self) -> Option<NextFrame<T>> {
        let mut queue = self.lock();
        if queue.state == OutboxState::Overrun {
            return Some(NextFrame::Overrun);
        }
        let item = queue.items.pop_front()?;
        queue.bytes -= match &item {
            OutboxItem::Text(text) => text.len(),
            OutboxItem::Framed(frames) => frames.len(),
            OutboxItem::Task(_) => 0,
        };
        if queue.items.is_empty() {
            // An idle connection keeps no memory of an earlier queue.
            queue.items = VecDeque::new();
        }
        self.count(&mut queue);
        Some(NextFrame::Item(item))
    }

    fn push(&self, item: OutboxItem<T>, size: usize) {
        let mut queue = self.lock();
        if queue.state != OutboxState::Open {
            return;
        }
        queue.bytes += size;
        queue.items.push_back(item);
        if queue.items.len() > self.bounds.frames
            || (queue.bytes > self.bounds.bytes && queue.items.len() > 1)
        {
            queue.state = OutboxState::Overrun;
        }
        self.count(&mut queue);
        drop(queue);
        self.waker.wake();
    }

    /// Counts what waits, in steps, so that a short queue costs nothing.
    fn count(&self, queue: &mut OutboxQueue<T>) {
        let waits = queue.bytes - queue.bytes % COUNTED;
        if let Some(held) = self.held.as_ref().filter(|_| waits != queue.counted) {
            queue.counted = waits;
            held.set_queued(waits);
        }
    }

    fn lock(&self) -> MutexGuard<'_, OutboxQueue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serializes a notice.
pub fn encode(notice: &ServerNotice) -> Utf8Bytes {
    // Notices are plain data with string keys; writing them to memory has no way to fail.
    Utf8Bytes::from(serde_json::to_string(notice).unwrap_or_default())
}

/// Receives the notices to everybody in a session.
pub trait RoomListener: Send + Sync {
    /// Takes a notice.
    fn hear(&self, text: Utf8Bytes);
}

impl<T: Send> RoomListener for Outbox<T> {
    fn hear(&self, text: Utf8Bytes) {
        self.text(text);
    }
}
