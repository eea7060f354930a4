//! Changes of the connections that environments hold. A connection belongs to no session, so its changes are
//! in no log and have no `seq`; a listener that comes later does not get them.

use agentx_types::{ConnectionEstablished, ConnectionLost, Heartbeat, Reconnecting, RuntimeEvent};

/// A change of a connection that an environment holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportEvent {
    /// The other side, without secrets: an address, or the name of a server.
    pub endpoint: String,
    /// The change.
    pub change: TransportChange,
}

/// The changes of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportChange {
    /// The connection is established.
    Established,
    /// It worked, and has ended.
    Lost {
        /// The reason, for people, if it is known.
        reason: Option<String>,
    },
    /// Another attempt to make it follows.
    Reconnecting {
        /// Milliseconds until the attempt.
        retry_in_ms: u64,
    },
    /// The other side gave a sign of life.
    Heartbeat,
}

impl TransportEvent {
    /// The type of the event, as in [`RuntimeEvent`]: `connection_established`, `connection_lost`,
    /// `reconnecting` or `heartbeat`.
    pub fn tag(&self) -> &'static str {
        match self.change {
            TransportChange::Established => "connection_established",
            TransportChange::Lost { .. } => "connection_lost",
            TransportChange::Reconnecting { .. } => "reconnecting",
            TransportChange::Heartbeat => "heartbeat",
        }
    }

    /// Returns the event in the form that front ends know.
    pub fn to_runtime_event(&self) -> RuntimeEvent {
        let endpoint = self.endpoint.clone();
        match &self.change {
            TransportChange::Established => ConnectionEstablished { endpoint }.into(),
            TransportChange::Lost { reason } => ConnectionLost {
                endpoint,
                reason: reason.clone(),
            }
            .into(),
            TransportChange::Reconnecting { retry_in_ms } => Reconnecting {
                endpoint,
                retry_in_ms: *retry_in_ms,
            }
            .into(),
            TransportChange::Heartbeat => Heartbeat {}.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::Vocabulary as _;

    use super::*;

    #[test]
    fn each_change_has_the_type_of_its_event() {
        let changes = [
            TransportChange::Established,
            TransportChange::Lost {
                reason: Some("reset".into()),
            },
            TransportChange::Reconnecting { retry_in_ms: 250 },
            TransportChange::Heartbeat,
        ];
        for change in changes {
            let event = TransportEvent {
                endpoint: "a server".into(),
                change,
            };
            assert_eq!(event.tag(), event.to_runtime_event().tag());
        }
    }
}
