//! Helpers for the tests of the bus: an event of plain fields, and polling by hand with a waker that records
//! whether it was woken, so that no test waits for time to pass.
#![allow(dead_code, reason = "each test file uses its part")]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use agentx_bus::{BusDelivery, BusSubscription, Routed};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) number: u32,
    pub(crate) event_type: &'static str,
    pub(crate) topic: String,
    pub(crate) session: Option<&'static str>,
    pub(crate) agent_state: Option<&'static str>,
    pub(crate) run: Option<&'static str>,
}

impl Routed for Event {
    fn event_type(&self) -> &str {
        self.event_type
    }
    fn topic(&self) -> &str {
        &self.topic
    }
    fn session(&self) -> Option<&str> {
        self.session
    }
    fn agent_state(&self) -> Option<&str> {
        self.agent_state
    }
    fn run(&self) -> Option<&str> {
        self.run
    }
}

/// An event that is distinguished from others by its number alone.
pub(crate) fn event(number: u32) -> Event {
    on_topic(number, "notes")
}

pub(crate) fn on_topic(number: u32, topic: &str) -> Event {
    Event {
        number,
        event_type: "note",
        topic: topic.to_owned(),
        session: None,
        agent_state: None,
        run: None,
    }
}

/// Remembers whether it was woken.
#[derive(Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) fn was_woken(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls with a fresh flag, which records wakes from now on.
pub(crate) fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> (Poll<F::Output>, Arc<Flag>) {
    let flag = Arc::new(Flag::default());
    let polled = future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(&flag))));
    (polled, flag)
}

/// Returns the deliveries that are ready for a reader: `"1 2 [3 lost] 6 | the bus is closed"`.
pub(crate) fn read_all(subscription: &mut BusSubscription<Event>) -> String {
    let mut seen = Vec::new();
    loop {
        match subscription.try_recv() {
            Ok(Some(BusDelivery::Event(event))) => seen.push(event.number.to_string()),
            Ok(Some(BusDelivery::Lagged(count))) => seen.push(format!("[{count} lost]")),
            Ok(None) => return seen.join(" "),
            Err(ended) => return [seen.join(" "), ended.to_string()].join(" | "),
        }
    }
}
