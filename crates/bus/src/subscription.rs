//! The reader's end of a subscription, and the handle by which another task stops it.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use crate::hub::Hub;
use crate::lane::{After, Lane};
use crate::queue::{Delivery, Ended};
use crate::sync::{Arc, poll_proceed};

/// One reader of a bus. Dropping it unsubscribes.
///
/// It is also a [`Stream`] of deliveries, which ends without saying why.
///
/// ```
/// use agentx_bus::{Bus, Delivery, Ended, Filter, Queue};
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
///         Ok(Delivery::Event(note)) => seen.push(note.0.to_string()),
///         Ok(Delivery::Lagged(count)) => seen.push(format!("{count} lost")),
///         Err(ended) => break ended,
///     }
/// };
/// assert_eq!(seen, ["3 lost", "3", "4"]);
/// assert_eq!(ended, Ended::BusClosed);
/// # Ok(())
/// # }
/// ```
pub struct Subscription<E> {
    hub: Arc<Hub<E>>,
    lane: Arc<Lane<E>>,
}

impl<E> Subscription<E> {
    pub(crate) fn new(hub: Arc<Hub<E>>, lane: Arc<Lane<E>>) -> Self {
        Self { hub, lane }
    }

    /// The name under which it was made.
    pub fn name(&self) -> &str {
        self.lane.name()
    }

    /// The next delivery, when there is one. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    ///
    /// [`Ended`], with the reason, once everything in the queue has been read.
    pub async fn recv(&mut self) -> Result<Delivery<E>, Ended> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As [`Subscription::recv`], for hand-written futures. Only the latest caller is woken.
    ///
    /// # Errors
    ///
    /// [`Ended`], with the reason, once everything in the queue has been read.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<Delivery<E>, Ended>> {
        let budget = ready!(poll_proceed(cx));
        let taken = ready!(self.lane.poll_take(cx, |queue| queue.pop()));
        budget.made_progress();
        Poll::Ready(taken)
    }

    /// The next deliveries, when there are some: appends at least one and at most `limit` to `into` and says
    /// how many. The cheapest way to keep up with a busy bus. With a limit of 0 it returns at once.
    ///
    /// # Errors
    ///
    /// [`Ended`], with the reason, once everything in the queue has been read.
    pub async fn recv_many(&mut self, into: &mut Vec<Delivery<E>>, limit: usize) -> Result<usize, Ended> {
        if limit == 0 {
            return Ok(0);
        }
        poll_fn(|cx| {
            let budget = ready!(poll_proceed(cx));
            let taken = ready!(self.lane.poll_take(cx, |queue| queue.pop_many(into, limit)));
            budget.made_progress();
            Poll::Ready(taken)
        })
        .await
    }

    /// The next delivery if it is there already.
    ///
    /// # Errors
    ///
    /// [`Ended`], with the reason, once everything in the queue has been read.
    pub fn try_recv(&mut self) -> Result<Option<Delivery<E>>, Ended> {
        self.lane.try_take(|queue| queue.pop())
    }

    /// A handle that stops this subscription from another task.
    pub fn stop_handle(&self) -> StopHandle<E> {
        StopHandle {
            hub: Arc::clone(&self.hub),
            lane: Arc::clone(&self.lane),
        }
    }
}

impl<E> Drop for Subscription<E> {
    fn drop(&mut self) {
        self.hub.remove(&self.lane);
        let mut after = After::new();
        self.lane.abandon(&mut after);
        after.run();
    }
}

impl<E> Stream for Subscription<E> {
    type Item = Delivery<E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delivery<E>>> {
        self.get_mut().poll_recv(cx).map(Result::ok)
    }
}

impl<E> fmt::Debug for Subscription<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.name()).finish()
    }
}

/// Stops a [`Subscription`] without its reader: it gets no more events, and its reader sees
/// [`Ended::Stopped`] after what is already in the queue. So a loop over the subscription drains and ends.
pub struct StopHandle<E> {
    hub: Arc<Hub<E>>,
    lane: Arc<Lane<E>>,
}

impl<E> StopHandle<E> {
    /// Stops it. Stopping again, or after it ended otherwise, does nothing.
    pub fn stop(&self) {
        self.hub.remove(&self.lane);
        let mut after = After::new();
        self.lane.end(Ended::Stopped, &mut after);
        after.run();
    }
}

impl<E> Clone for StopHandle<E> {
    fn clone(&self) -> Self {
        Self {
            hub: Arc::clone(&self.hub),
            lane: Arc::clone(&self.lane),
        }
    }
}

impl<E> fmt::Debug for StopHandle<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StopHandle").field(&self.lane.name()).finish()
    }
}
