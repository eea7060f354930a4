//! The terms of a subscription: the bound of its queue, the policy when it is full, and the values that its
//! reader receives.

use std::num::NonZeroUsize;
use std::sync::Arc;

/// The policy for an event that arrives at a full queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowPolicy {
    /// The publisher waits until there is room. Nothing is lost, but a slow reader slows every publisher of
    /// events that it wants. It is for readers that need every event and are trusted to be quick. A reader
    /// that requests anything from the publisher before it reads on, for example from the session whose
    /// events it reads, waits for itself forever: give it `Lag` or `CutOff`.
    Wait,
    /// The oldest event in the queue is dropped; the reader gets the number of dropped ones in
    /// [`BusDelivery::Lagged`].
    Lag,
    /// The subscription ends with [`SubscriptionEnd::CutOff`], after the events in its queue. For readers
    /// that return by `seq` and prefer to start again to a gap.
    CutOff,
}

/// The bound of one subscription: the number of events that may wait for its reader, and the policy for one
/// more.
///
/// A reader takes events in runs of up to a quarter of the capacity, and those that it has taken no longer
/// wait. So with a capacity under 8 the bound is exact; otherwise up to a quarter more is held for a reader.
///
/// ```
/// use agentx_bus::{OverflowPolicy, Queue};
///
/// let queue = Queue::lag(256);
/// assert_eq!((queue.capacity(), queue.overflow()), (256, OverflowPolicy::Lag));
/// assert_eq!(Queue::wait(0).capacity(), 1, "a queue holds at least one event");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    capacity: NonZeroUsize,
    overflow: OverflowPolicy,
}

impl Queue {
    /// A queue of at most `capacity` events, at least one.
    pub fn new(capacity: usize, overflow: OverflowPolicy) -> Self {
        Self {
            capacity: NonZeroUsize::new(capacity).unwrap_or(NonZeroUsize::MIN),
            overflow,
        }
    }

    /// A queue whose publishers wait when it is full.
    pub fn wait(capacity: usize) -> Self {
        Self::new(capacity, OverflowPolicy::Wait)
    }

    /// A queue that drops its oldest event when it is full, and counts it.
    pub fn lag(capacity: usize) -> Self {
        Self::new(capacity, OverflowPolicy::Lag)
    }

    /// A queue whose subscription ends when it is full.
    pub fn cut_off(capacity: usize) -> Self {
        Self::new(capacity, OverflowPolicy::CutOff)
    }

    /// The number of events that may wait for the reader.
    pub fn capacity(self) -> usize {
        self.capacity.get()
    }

    /// Returns the policy for one event more.
    pub fn overflow(self) -> OverflowPolicy {
        self.overflow
    }
}

/// A value that a reader receives.
#[derive(Debug, PartialEq, Eq)]
pub enum BusDelivery<E> {
    /// The next event.
    Event(Arc<E>),
    /// The number of events dropped here, between the last delivery and the next one.
    Lagged(u64),
}

impl<E> BusDelivery<E> {
    /// The event, if this is one.
    pub fn into_event(self) -> Option<Arc<E>> {
        match self {
            Self::Event(event) => Some(event),
            Self::Lagged(_) => None,
        }
    }
}

// Derived, it would ask for `E: Clone`.
impl<E> Clone for BusDelivery<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Event(event) => Self::Event(Arc::clone(event)),
            Self::Lagged(count) => Self::Lagged(*count),
        }
    }
}

/// The reason why a subscription has no more events. It comes after everything that was in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubscriptionEnd {
    /// The bus was closed, or its last handle was dropped.
    #[error("the bus is closed")]
    BusClosed,
    /// The queue was full and its policy is [`OverflowPolicy::CutOff`].
    #[error("cut off: {capacity} events were waiting and one more came")]
    CutOff {
        /// The capacity of the queue.
        capacity: usize,
    },
    /// A [`StopHandle`](crate::StopHandle) stopped it.
    #[error("the subscription was stopped")]
    Stopped,
}
