//! The event bus: the parts of a runtime receive each other's events without knowing each other.
//!
//! An event is published once, on a [`Bus`], and reaches every [`BusSubscription`] whose
//! [`Filter`] wants it. Three promises hold for all of them:
//!
//! - **One order.** Every subscriber gets the events it wants in the order in which they were published, each
//!   once. It gets every event that is published after [`Bus::subscribe`] returns.
//! - **Bounded.** Each subscription has its own [`Queue`]: a capacity, and an overflow policy
//!   ([`OverflowPolicy`]: the publisher waits, the oldest event is dropped and counted, or the subscription
//!   is cut off). A slow reader never affects another one.
//! - **Explicit.** A gap is a [`BusDelivery::Lagged`], an end is an [`SubscriptionEnd`] with its reason, and
//!   publishing on a closed bus is a [`PublishError`].
//!
//! Subscriptions with equal filters share one history of events, so a publication costs the same for one of
//! them as for a hundred; each different filter costs its comparison. Nothing is copied but an `Arc`.
//!
//! A request goes to exactly one responder instead: [`Dispatcher`] finds the one that serves its topic and
//! key, bounds its concurrent requests, and reports the outcome to the requester.
//!
//! The parts on a bus (environments, loggers, monitors, connections to other machines) are [`Reactor`]s;
//! [`Reactors`] starts them, owns their tasks, restarts or removes those that fail, and drains them in order
//! at shutdown.
//!
//! ```
//! use agentx_bus::{Bus, BusDelivery, Filter, Queue, Routed, TopicPattern};
//!
//! struct Event { topic: &'static str, session: &'static str }
//!
//! impl Routed for Event {
//!     fn event_type(&self) -> &str { "note" }
//!     fn topic(&self) -> &str { self.topic }
//!     fn session(&self) -> Option<&str> { Some(self.session) }
//!     fn agent_state(&self) -> Option<&str> { None }
//!     fn run(&self) -> Option<&str> { None }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bus = Bus::new();
//! let tools = Filter::all().topic("tools.*".parse()?).session("ses_1");
//! let mut subscription = bus.subscribe("tools", tools, Queue::lag(64))?;
//!
//! bus.publish(Event { topic: "tools.requests", session: "ses_1" }).await?;
//! bus.publish(Event { topic: "llm.requests", session: "ses_1" }).await?;
//! bus.close();
//!
//! let BusDelivery::Event(event) = subscription.recv().await? else { panic!("nothing was dropped") };
//! assert_eq!(event.topic, "tools.requests");
//! assert!(subscription.recv().await.is_err(), "the bus is closed and the queue is empty");
//! # Ok(())
//! # }
//! ```
//!
//! # Checks beside the tests
//!
//! - The loom model of send, lag, drop and close (about a minute):
//!   `RUSTFLAGS="--cfg loom" cargo test -p agentx-bus --release --target-dir target/loom --test loom_bus`
//! - The speed compared with `tokio::sync::broadcast`, as ratios of one run: `cargo bench -p agentx-bus`

mod bus;
mod filter;
mod filter_group;
mod history;
mod hub;
mod queue;
mod reader_cursor;
mod route;
mod subscription;
mod sync;
mod topic;

#[cfg(not(loom))]
mod driver;
#[cfg(not(loom))]
mod listener;
#[cfg(not(loom))]
mod reactor;
#[cfg(not(loom))]
mod reactor_status;
#[cfg(not(loom))]
mod reactors;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod serve;

#[cfg(not(loom))]
pub use bus::WeakBus;
pub use bus::{Bus, ReadOnlyBus, Subscribe};
pub use filter::Filter;
pub use hub::{Closed, PublishError};
pub use queue::{BusDelivery, OverflowPolicy, Queue, SubscriptionEnd};
pub use route::Routed;
pub use subscription::{BusSubscription, StopHandle};
pub use topic::{PatternError, TopicPattern};

#[cfg(not(loom))]
pub use listener::Listener;
#[cfg(not(loom))]
pub use reactor::{Reactor, ReactorFailure, ReactorTask};
#[cfg(not(loom))]
pub use reactor_status::{ReactorList, ReactorStatus};
#[cfg(not(loom))]
pub use reactors::Reactors;
#[cfg(not(loom))]
pub use report::{ReactorChange, ReactorError, ReactorId, ReactorReport, Restart};
#[cfg(not(loom))]
pub use serve::{
    Addressed, Canceller, Claim, Dispatcher, Grace, KeyPattern, RequestEnd, RequestError, Requests,
    ResponderId, ResponderInfo, Serve, Ticket,
};
