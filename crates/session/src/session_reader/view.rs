//! The deliveries of a reader of a session, in each view.

use std::sync::Arc;

use agentx_types::{Envelope, EnvironmentEvent, RuntimeEvent};
use serde::{Deserialize, Serialize};

/// A committed fact. It is shared, because all readers of a process use the same one. It has no `index`.
pub type Fact = Arc<Envelope<EnvironmentEvent>>;

/// The kind of events that a reader gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// The facts.
    Environment,
    /// The RuntimeEvents.
    #[default]
    Runtime,
}

/// A delivery to a reader.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// A fact.
    Environment(Fact),
    /// A derived event.
    Runtime(Arc<Envelope<RuntimeEvent>>),
    /// All events that existed at the start of the subscription have been delivered, up to this `seq`.
    CaughtUp(u64),
    /// The subscriber was too slow, or the session cannot continue; it can subscribe again from the last
    /// `seq` that it has.
    CutOff(String),
}
