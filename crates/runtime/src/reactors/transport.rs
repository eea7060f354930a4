//! Reports of environments about the connections that they hold: to a server, to a program. A reactor may
//! publish these and nothing else, so this is the one place where something that is not committed comes on
//! the bus.

use std::fmt;
use std::sync::Arc;

use agentx_bus::{Bus, WeakBus};

use crate::system_events::SystemEvent;
use crate::transport_event::{TransportChange, TransportEvent};

/// Publishes reports about connections on a bus, and nothing else. It does not keep the bus open. Clones
/// report on the same bus.
#[derive(Clone)]
pub struct TransportReports(WeakBus<SystemEvent>);

impl TransportReports {
    /// Reports on `bus`.
    pub fn on(bus: &Bus<SystemEvent>) -> Self {
        Self(bus.downgrade())
    }

    /// Publishes that the connection to `endpoint` has changed. Never waits: the report is dropped if the bus
    /// is closed, or if a subscription that loses nothing is full.
    pub fn report(&self, endpoint: &str, change: TransportChange) {
        let Some(bus) = self.0.upgrade().filter(|bus| bus.subscriptions() > 0) else {
            return;
        };
        let event = Arc::new(TransportEvent {
            endpoint: endpoint.to_owned(),
            change,
        });
        if let Err(error) = bus.try_publish(SystemEvent::Transport(event)) {
            tracing::debug!(endpoint, %error, "a report about a connection was dropped");
        }
    }
}

impl fmt::Debug for TransportReports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransportReports")
    }
}
