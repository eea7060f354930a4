//! The reader's end of a subscription, and the handle by which another task stops it.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::history::TakenChunk;
use crate::hub::{BusHub, ReaderId};
use crate::queue::{BusDelivery, SubscriptionEnd};
use crate::reader_cursor::ReaderBatch;
use crate::sync::{Arc, poll_proceed};

/// A reader of a bus. Dropping it unsubscribes.
///
/// It is also a [`Stream`] of deliveries, which ends without a reason.
///
/// ```
/// use agentx_bus::{Bus, BusDelivery, SubscriptionEnd, Filter, Queue};
/// # struct Note(u32);
/// # impl agentx_bus::Routed for Note {
/// #     fn event_type(&self) -> &str { "note" }
/// #     fn topic(&self) -> &str { "notes" }
/// #     fn session(&self) -> Option<&str> { None }
/// #     fn agent_state(&self) -> Option<&str> { None }
/// #     fn run(&self) -> Option<&str> { None }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::new();
/// let mut reader = bus.subscribe("reader", Filter::all(), Queue::lag(2))?;
/// for number in 0..5 {
///     bus.publish(Note(number)).await?;
/// }
/// bus.close();
///
/// let mut seen = Vec::new();
/// let ended = loop {
///     match reader.recv().await {
///         Ok(BusDelivery::Event(note)) => seen.push(note.0.to_string()),
///         Ok(BusDelivery::Lagged(count)) => seen.push(format!("{count} lost")),
///         Err(ended) => break ended,
///     }
/// };
/// assert_eq!(seen, ["3 lost", "3", "4"]);
/// assert_eq!(ended, SubscriptionEnd::BusClosed);
/// # Ok(())
/// # }
/// ```
pub struct BusSubscription<E> {
    name: Box<str>,
    place: StopHandle<E>,
    /// The events that it has taken and not passed on yet.
    run: Option<TakenChunk<E>>,
}

impl<E> BusSubscription<E> {
    pub(crate) fn new(name: &str, hub: Arc<BusHub<E>>, cursor: ReaderId) -> Self {
        Self {
            name: name.into(),
            place: StopHandle { hub, cursor },
            run: None,
        }
    }

    /// The name under which it was made.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next delivery, when there is one. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// Returns [`SubscriptionEnd`] with the reason, once everything in the queue has been read.
    pub async fn recv(&mut self) -> Result<BusDelivery<E>, SubscriptionEnd> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// Polls for the next delivery, for hand-written futures. Only the latest caller is woken.
    ///
    /// # Errors
    ///
    /// Returns [`SubscriptionEnd`] with the reason, once everything in the queue has been read.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<BusDelivery<E>, SubscriptionEnd>> {
        let budget = ready!(poll_proceed(cx));
        let next = match self.take_next() {
            Some(event) => Ok(event),
            None => ready!(self.place.hub.poll_take(self.place.cursor, cx)).map(|taken| self.first_of(taken)),
        };
        budget.made_progress();
        Poll::Ready(next)
    }

    /// The next delivery, without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`SubscriptionEnd`] with the reason, once everything in the queue has been read.
    pub fn try_recv(&mut self) -> Result<Option<BusDelivery<E>>, SubscriptionEnd> {
        if let Some(event) = self.take_next() {
            return Ok(Some(event));
        }
        let taken = self.place.hub.try_take(self.place.cursor)?;
        Ok(taken.map(|taken| self.first_of(taken)))
    }

    /// Waits for the next deliveries, appends at least one and at most `limit` to `into`, and returns their
    /// number. With a limit of 0 it returns at once.
    ///
    /// # Errors
    ///
    /// Returns [`SubscriptionEnd`] with the reason, once everything in the queue has been read.
    pub async fn recv_many(
        &mut self,
        into: &mut Vec<BusDelivery<E>>,
        limit: usize,
    ) -> Result<usize, SubscriptionEnd> {
        if limit == 0 {
            return Ok(0);
        }
        let before = into.len();
        into.push(self.recv().await?);
        into.extend(
            self.run
                .iter_mut()
                .flatten()
                .take(limit - 1)
                .map(BusDelivery::Event),
        );
        self.run.take_if(|run| run.is_empty());
        Ok(into.len() - before)
    }

    /// A handle that stops this subscription from another task.
    pub fn stop_handle(&self) -> StopHandle<E> {
        self.place.clone()
    }

    fn take_next(&mut self) -> Option<BusDelivery<E>> {
        let next = self.run.as_mut()?.next();
        // A reader that has nothing to do holds no events back from being freed.
        self.run.take_if(|run| run.is_empty());
        next.map(BusDelivery::Event)
    }

    fn first_of(&mut self, taken: ReaderBatch<E>) -> BusDelivery<E> {
        match taken {
            ReaderBatch::Gap(count) => BusDelivery::Lagged(count),
            ReaderBatch::Events { first, rest } => {
                self.run = (!rest.is_empty()).then_some(rest);
                BusDelivery::Event(first)
            }
        }
    }
}

impl<E> Drop for BusSubscription<E> {
    fn drop(&mut self) {
        self.place.hub.remove(self.place.cursor);
    }
}

impl<E> Stream for BusSubscription<E> {
    type Item = BusDelivery<E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BusDelivery<E>>> {
        self.get_mut().poll_recv(cx).map(Result::ok)
    }
}

impl<E> fmt::Debug for BusSubscription<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.name).finish()
    }
}

/// Stops a [`BusSubscription`] without its reader: it gets no more events, and its reader sees
/// [`SubscriptionEnd::Stopped`] after the events in the queue. So a loop over the subscription drains and
/// ends.
pub struct StopHandle<E> {
    hub: Arc<BusHub<E>>,
    cursor: ReaderId,
}

impl<E> StopHandle<E> {
    /// Stops it. Stopping again, or after it ended otherwise, does nothing.
    pub fn stop(&self) {
        self.hub.end(self.cursor);
    }
}

impl<E> Clone for StopHandle<E> {
    fn clone(&self) -> Self {
        Self {
            hub: Arc::clone(&self.hub),
            cursor: self.cursor,
        }
    }
}

impl<E> fmt::Debug for StopHandle<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StopHandle")
    }
}
