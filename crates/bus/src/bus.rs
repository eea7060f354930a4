//! The handle by which everyone publishes and subscribes.

use std::fmt;
use std::future::poll_fn;
use std::iter;
use std::sync::Arc as EventArc;
use std::task::{Poll, ready};

use crate::filter::Filter;
use crate::hub::{BusHub, Closed, Publication, PublishError};
use crate::queue::Queue;
use crate::route::Routed;
use crate::subscription::BusSubscription;
use crate::sync::{Arc, poll_proceed};

/// A bus of events of one type. A clone is another handle of the same bus, which closes when the last handle
/// is dropped, or at [`Bus::close`].
///
/// Events are shared, not copied: publish an `E` or an `Arc<E>`.
///
/// ```
/// use agentx_bus::{Bus, BusDelivery, Filter, PublishError, Queue};
/// # #[derive(Debug, PartialEq)]
/// # struct Note(&'static str);
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
/// let mut reader = bus.subscribe("reader", Filter::all(), Queue::wait(1))?;
///
/// assert_eq!(bus.publish(Note("first")).await, Ok(1));
/// assert!(matches!(bus.try_publish(Note("second")), Err(PublishError::Full { .. })));
/// assert_eq!(reader.recv().await, Ok(BusDelivery::Event(Note("first").into())));
/// # Ok(())
/// # }
/// ```
pub struct Bus<E> {
    handle: Arc<Handle<E>>,
}

/// Counts the handles: subscriptions hold the hub, so its reference count does not show that no publisher is
/// left.
struct Handle<E> {
    hub: Arc<BusHub<E>>,
}

impl<E> Drop for Handle<E> {
    fn drop(&mut self) {
        self.hub.close();
    }
}

impl<E> Bus<E> {
    /// An open bus with no subscriptions.
    pub fn new() -> Self {
        Self {
            handle: Arc::new(Handle {
                hub: Arc::new(BusHub::new()),
            }),
        }
    }

    /// Subscribes under a name, which serves errors and logs only. When this returns, every later
    /// publication that the filter wants is seen.
    ///
    /// # Errors
    ///
    /// Returns [`Closed`] if the bus is closed.
    pub fn subscribe(&self, name: &str, filter: Filter, queue: Queue) -> Result<BusSubscription<E>, Closed> {
        let cursor = self.hub().add(name, filter, queue)?;
        Ok(BusSubscription::new(name, Arc::clone(self.hub()), cursor))
    }

    /// Closes the bus: nothing more can be published, and each subscription ends after the events in its
    /// queue. Closing again does nothing.
    pub fn close(&self) {
        self.hub().close();
    }

    /// Returns whether the bus is closed.
    pub fn is_closed(&self) -> bool {
        self.hub().is_closed()
    }

    /// The number of subscriptions that are open.
    pub fn subscriptions(&self) -> usize {
        self.hub().subscriptions()
    }

    /// Returns a weak handle for subscribers: it does not keep the bus open.
    pub fn read_only(&self) -> ReadOnlyBus<E> {
        ReadOnlyBus {
            hub: Arc::clone(self.hub()),
        }
    }

    /// Returns a handle that does not keep the bus open, from which a publisher gets one that does.
    #[cfg(not(loom))]
    pub fn downgrade(&self) -> WeakBus<E> {
        WeakBus {
            handle: Arc::downgrade(&self.handle),
        }
    }

    fn hub(&self) -> &Arc<BusHub<E>> {
        &self.handle.hub
    }
}

/// A handle of a bus that does not keep it open, from [`Bus::downgrade`].
#[cfg(not(loom))]
pub struct WeakBus<E> {
    handle: std::sync::Weak<Handle<E>>,
}

#[cfg(not(loom))]
impl<E> WeakBus<E> {
    /// The bus; `None` once all handles that keep it open are gone.
    pub fn upgrade(&self) -> Option<Bus<E>> {
        self.handle.upgrade().map(|handle| Bus { handle })
    }
}

#[cfg(not(loom))]
impl<E> Clone for WeakBus<E> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle.clone(),
        }
    }
}

#[cfg(not(loom))]
impl<E> fmt::Debug for WeakBus<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakBus")
    }
}

/// A bus for subscribing but not for publishing, from [`Bus::read_only`].
///
/// ```
/// use agentx_bus::{Bus, Filter, Queue};
/// # struct Note(&'static str);
///
/// let bus = Bus::<Note>::new();
/// let listeners = bus.read_only();
/// assert!(listeners.subscribe("logger", Filter::all(), Queue::lag(8)).is_ok());
/// drop(bus);
/// assert!(listeners.subscribe("late", Filter::all(), Queue::lag(8)).is_err(), "nobody can publish any more");
/// ```
pub struct ReadOnlyBus<E> {
    hub: Arc<BusHub<E>>,
}

impl<E> ReadOnlyBus<E> {
    /// Subscribes; see [`Bus::subscribe`].
    ///
    /// # Errors
    ///
    /// Returns [`Closed`] if the bus is closed.
    pub fn subscribe(&self, name: &str, filter: Filter, queue: Queue) -> Result<BusSubscription<E>, Closed> {
        let cursor = self.hub.add(name, filter, queue)?;
        Ok(BusSubscription::new(name, Arc::clone(&self.hub), cursor))
    }

    /// The number of subscriptions that are open.
    pub fn subscriptions(&self) -> usize {
        self.hub.subscriptions()
    }
}

impl<E> Clone for ReadOnlyBus<E> {
    fn clone(&self) -> Self {
        Self {
            hub: Arc::clone(&self.hub),
        }
    }
}

impl<E> fmt::Debug for ReadOnlyBus<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadOnlyBus({} subscriptions)", self.subscriptions())
    }
}

/// A target on which a [`Listener`](crate::Listener) can be started: a bus, or anything that gives access to
/// one.
pub trait Subscribe: Clone + Send + Sync + 'static {
    /// The type of the published events.
    type Event: Send + Sync + 'static;

    /// Subscribes to the events that are published there; see [`Bus::subscribe`].
    ///
    /// # Errors
    ///
    /// Returns [`Closed`] if the bus is closed.
    fn subscribe(
        &self,
        name: &str,
        filter: Filter,
        queue: Queue,
    ) -> Result<BusSubscription<Self::Event>, Closed>;
}

impl<E: Send + Sync + 'static> Subscribe for Bus<E> {
    type Event = E;

    fn subscribe(&self, name: &str, filter: Filter, queue: Queue) -> Result<BusSubscription<E>, Closed> {
        Bus::subscribe(self, name, filter, queue)
    }
}

impl<E: Send + Sync + 'static> Subscribe for ReadOnlyBus<E> {
    type Event = E;

    fn subscribe(&self, name: &str, filter: Filter, queue: Queue) -> Result<BusSubscription<E>, Closed> {
        ReadOnlyBus::subscribe(self, name, filter, queue)
    }
}

impl<E: Routed> Bus<E> {
    /// Publishes an event and returns the number of subscriptions that it reached. Waits while a subscription
    /// with [`OverflowPolicy::Wait`](crate::OverflowPolicy::Wait) that wants it is full.
    ///
    /// All or nothing: the event enters every queue at once. If the future is dropped, it entered none. A
    /// task that reads such a subscription must not wait here for an event that this subscription wants: it
    /// would wait for itself.
    ///
    /// # Errors
    ///
    /// Returns [`PublishError::Closed`] if the bus is closed, or is closed while this waits.
    pub async fn publish(&self, event: impl Into<EventArc<E>>) -> Result<usize, PublishError> {
        self.deliver(iter::once(event.into())).await
    }

    /// Publishes events in their order, cheaper than one by one, and returns the number of deliveries. Events
    /// of other publishers may come in between.
    ///
    /// If the future is dropped, or the bus is closed meanwhile, the first few events may have entered.
    ///
    /// # Errors
    ///
    /// Returns [`PublishError::Closed`] if the bus is closed, or is closed while this waits.
    pub async fn publish_all(&self, events: Vec<EventArc<E>>) -> Result<usize, PublishError> {
        self.deliver(events.into_iter()).await
    }

    /// Publishes an event without ever waiting, from any thread, and returns the number of subscriptions that
    /// it reached.
    ///
    /// # Errors
    ///
    /// Returns [`PublishError::Full`] if a subscription with
    /// [`OverflowPolicy::Wait`](crate::OverflowPolicy::Wait) that wants the event is full: then nobody got
    /// it. Returns [`PublishError::Closed`] if the bus is closed.
    pub fn try_publish(&self, event: impl Into<EventArc<E>>) -> Result<usize, PublishError> {
        self.hub().try_publish(event.into())
    }

    async fn deliver(&self, events: impl Iterator<Item = EventArc<E>>) -> Result<usize, PublishError> {
        let mut publication = Publication::new(self.hub(), events);
        poll_fn(|cx| {
            let budget = ready!(poll_proceed(cx));
            let done = ready!(publication.poll(cx));
            budget.made_progress();
            Poll::Ready(done)
        })
        .await
    }
}

impl<E> Clone for Bus<E> {
    fn clone(&self) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
        }
    }
}

impl<E> Default for Bus<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> fmt::Debug for Bus<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = if self.is_closed() { "closed" } else { "open" };
        write!(f, "Bus({open}, {} subscriptions)", self.subscriptions())
    }
}
