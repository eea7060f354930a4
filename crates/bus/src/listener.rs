//! The most common reactor: a subscription and a function for each delivery.

use std::future::Future;

use crate::bus::Subscribe;
use crate::filter::Filter;
use crate::queue::{BusDelivery, Queue, SubscriptionEnd};
use crate::reactor::{Reactor, ReactorFailure, ReactorTask};
use crate::subscription::{BusSubscription, StopHandle};

/// A reactor that calls a function for each delivery, one after the other. When it is stopped, it still
/// handles the deliveries in its queue. It fails when it is cut off, so that a restart subscribes it again.
///
/// The function gets the bus on which the listener was started, for publishing. It must not wait there for an
/// event that its own filter wants if its queue has [`OverflowPolicy::Wait`](crate::OverflowPolicy::Wait).
///
/// ```
/// use agentx_bus::{Bus, BusDelivery, Filter, Listener, Queue, Reactors, Restart};
/// # use std::time::Duration;
/// # struct Note(&'static str);
/// # impl agentx_bus::Routed for Note {
/// #     fn event_type(&self) -> &str { "note" }
/// #     fn topic(&self) -> &str { self.0 }
/// #     fn session(&self) -> Option<&str> { None }
/// #     fn agent_state(&self) -> Option<&str> { None }
/// #     fn run(&self) -> Option<&str> { None }
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pings = Filter::all().topic("ping".parse()?);
/// let echo = Listener::new("echo", pings, Queue::wait(8), |bus: Bus<Note>, _ping| async move {
///     bus.publish(Note("pong")).await.ok();
/// });
///
/// let bus = Bus::new();
/// let mut reactors = Reactors::new(bus.clone(), |_report| ());
/// reactors.start(echo, Restart::Never).await?;
/// let mut pongs = bus.subscribe("test", Filter::all().topic("pong".parse()?), Queue::lag(8))?;
/// bus.publish(Note("ping")).await?;
/// assert!(matches!(pongs.recv().await, Ok(BusDelivery::Event(note)) if note.0 == "pong"));
/// # Ok(())
/// # }
/// ```
pub struct Listener<B: Subscribe, F> {
    name: String,
    filter: Filter,
    queue: Queue,
    handle: F,
    stop: Option<StopHandle<B::Event>>,
}

impl<B, F, Done> Listener<B, F>
where
    B: Subscribe,
    F: Fn(B, BusDelivery<B::Event>) -> Done + Clone + Send + Sync + 'static,
    Done: Future<Output = ()> + Send,
{
    /// A listener that is not started yet. The function is cloned for each start.
    pub fn new(name: &str, filter: Filter, queue: Queue, handle: F) -> Self {
        Self {
            name: name.to_owned(),
            filter,
            queue,
            handle,
            stop: None,
        }
    }
}

impl<B, F, Done> Reactor<B> for Listener<B, F>
where
    B: Subscribe,
    F: Fn(B, BusDelivery<B::Event>) -> Done + Clone + Send + Sync + 'static,
    Done: Future<Output = ()> + Send,
{
    fn name(&self) -> &str {
        &self.name
    }

    async fn start(&mut self, bus: B) -> Result<ReactorTask, ReactorFailure> {
        let subscription = bus.subscribe(&self.name, self.filter.clone(), self.queue)?;
        self.stop = Some(subscription.stop_handle());
        let handle = self.handle.clone();
        Ok(ReactorTask::new(async move {
            listen(bus, subscription, handle).await
        }))
    }

    async fn stop(&mut self) {
        self.stop.take().inspect(StopHandle::stop);
    }
}

async fn listen<B, F, Done>(
    bus: B,
    mut subscription: BusSubscription<B::Event>,
    handle: F,
) -> Result<(), ReactorFailure>
where
    B: Subscribe,
    F: Fn(B, BusDelivery<B::Event>) -> Done,
    Done: Future<Output = ()>,
{
    loop {
        match subscription.recv().await {
            Ok(delivery) => handle(bus.clone(), delivery).await,
            Err(SubscriptionEnd::BusClosed | SubscriptionEnd::Stopped) => return Ok(()),
            Err(cut_off @ SubscriptionEnd::CutOff { .. }) => return Err(ReactorFailure(cut_off.to_string())),
        }
    }
}
