//! A session of this process: the bus brings committed facts with the events that their driver derived.
//!
//! It subscribes first and asks for the head of the log afterwards: so facts that are committed in between
//! come twice and are ignored, instead of being missed. A source that the bus cuts off, because it was slow,
//! begins again in the same way.

use std::collections::VecDeque;

use agentx_bus::{BusDelivery, Filter, Queue, SubscriptionEnd};
use agentx_session::{PastRequest, SessionReader, SourceItem, SourceStart, View};
use tokio::sync::{mpsc, oneshot, watch};

use super::{BUS_CAPACITY, EventSource, FollowError, Pages, PastEvents};
use crate::api::RuntimeError;
use crate::commands::DriverStatus;
use crate::commands::SessionCommand;
use crate::system_events::{SystemEvent, SystemEvents};

/// The number of events that are taken from the bus at once.
const AT_ONCE: usize = 256;

type FromBus = agentx_bus::BusSubscription<SystemEvent>;

/// A session as it comes by the bus.
pub(crate) struct BusSource {
    /// The log, for earlier events.
    pages: Pages,
    /// The bus on which the session is published.
    bus: SystemEvents,
    /// The subscription to make: its name, filter and capacity.
    wish: (&'static str, Filter, usize),
    /// `None` before the first, and after a cut.
    subscription: Option<FromBus>,
    /// Whether it begins with the next event, without earlier ones.
    from_now: bool,
    /// The driver of the session, if its end is observed.
    driver: Option<FollowedDriver>,
    /// Events that were taken from the bus and not passed on yet.
    taken: Vec<BusDelivery<SystemEvent>>,
}

/// The driver of a session, as a follower needs it.
pub(super) struct FollowedDriver {
    pub(super) commands: mpsc::Sender<SessionCommand>,
    pub(super) status: watch::Receiver<DriverStatus>,
}

impl BusSource {
    /// All events of a session, until its writer ends.
    pub(super) fn of_session(pages: Pages, bus: SystemEvents, driver: FollowedDriver) -> Self {
        let filter = Filter::all().session(pages.session.as_str());
        Self {
            pages,
            bus,
            wish: ("follower", filter, BUS_CAPACITY),
            subscription: None,
            from_now: false,
            driver: Some(driver),
            taken: Vec::new(),
        }
    }

    /// Subscribes with `filter`. Events that are published after this returns are received. `None` if the bus
    /// is closed.
    pub(crate) fn filtered(
        pages: Pages,
        bus: SystemEvents,
        wish: (&'static str, Filter, usize),
        from_now: bool,
    ) -> Option<Self> {
        let mut source = Self {
            pages,
            bus,
            wish,
            subscription: None,
            from_now,
            driver: None,
            taken: Vec::new(),
        };
        source.subscription = Some(source.subscribe()?);
        Some(source)
    }

    /// A new subscription; `None` if the bus is closed.
    fn subscribe(&self) -> Option<FromBus> {
        let (name, filter, capacity) = &self.wish;
        let queue = Queue::cut_off(*capacity);
        self.bus.subscribe(name, filter.clone(), queue).ok()
    }

    /// The last committed fact, according to the session's driver if there is one, otherwise to the log.
    async fn head(&self) -> Result<u64, FollowError> {
        let committed = match &self.driver {
            Some(driver) => driver.head().await,
            None => None,
        };
        match committed {
            Some(head) => Ok(head),
            None => self.pages.head().await,
        }
    }

    /// Passes the items from the bus to the reader.
    fn forward(&mut self, reading: &SessionReader, heard: &mut VecDeque<SourceItem>) {
        let events = self.taken.drain(..).filter_map(BusDelivery::into_event);
        heard.extend(events.filter_map(|event| as_heard(&event, reading.view())));
    }
}

impl EventSource for BusSource {
    async fn begin(&mut self, _: &SessionReader) -> Result<SourceStart, FollowError> {
        // Subscribe before asking for the head, so that the bus brings everything that is committed after it.
        if self.subscription.is_none() {
            self.subscription = self.subscribe();
        }
        if std::mem::take(&mut self.from_now) || self.subscription.is_none() {
            return Ok(SourceStart::Stream {
                head: None,
                fold: None,
            });
        }
        Ok(SourceStart::Log(self.head().await?))
    }

    async fn read(&mut self, wanted: PastRequest) -> Result<PastEvents, FollowError> {
        self.pages.read(wanted).await
    }

    async fn receive(
        &mut self,
        reading: &SessionReader,
        heard: &mut VecDeque<SourceItem>,
    ) -> Result<bool, FollowError> {
        let Some(bus) = &mut self.subscription else {
            return Ok(false);
        };
        let (taken, status) = (
            &mut self.taken,
            self.driver.as_mut().map(|driver| &mut driver.status),
        );
        let received = tokio::select! {
            biased;
            received = bus.recv_many(taken, AT_ONCE) => received,
            ended = ended(status) => {
                // The queue now has everything that was published.
                while let Ok(Some(delivery)) = bus.try_recv() {
                    taken.push(delivery);
                }
                if taken.is_empty() {
                    return ended;
                }
                Ok(taken.len())
            }
        };
        self.forward(reading, heard);
        match received {
            Ok(_) => Ok(true),
            Err(SubscriptionEnd::CutOff { .. }) => {
                self.subscription = None;
                heard.push_back(SourceItem::Cut);
                Ok(true)
            }
            Err(SubscriptionEnd::BusClosed | SubscriptionEnd::Stopped) => Ok(false),
        }
    }

    fn receive_ready(&mut self, reading: &SessionReader, heard: &mut VecDeque<SourceItem>) {
        let Some(bus) = &mut self.subscription else { return };
        while self.taken.len() < AT_ONCE
            && let Ok(Some(delivery)) = bus.try_recv()
        {
            self.taken.push(delivery);
        }
        self.forward(reading, heard);
    }
}

/// The event for a reader, if its view includes it.
fn as_heard(event: &SystemEvent, view: View) -> Option<SourceItem> {
    match event {
        SystemEvent::Environment(fact) => Some(SourceItem::Fact(fact.clone())),
        SystemEvent::Runtime(event) if view == View::Runtime => Some(SourceItem::Derived(event.clone())),
        _ => None,
    }
}

impl FollowedDriver {
    /// The last fact that is committed; `None` if the driver has ended.
    async fn head(&self) -> Option<u64> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(SessionCommand::Head { reply }).await.ok()?;
        answer.await.ok()?.ok()
    }
}

/// Waits until the session is closed or cannot continue; forever if there is no status to watch.
async fn ended(status: Option<&mut watch::Receiver<DriverStatus>>) -> Result<bool, FollowError> {
    let Some(status) = status else {
        return std::future::pending().await;
    };
    match status
        .wait_for(|status| *status != DriverStatus::Open)
        .await
        .as_deref()
    {
        Ok(DriverStatus::Failed(why)) => Err(RuntimeError::from(why.clone()).into()),
        _ => Ok(false),
    }
}
