//! Reports the connection to a server on the bus of its environment, so that a logger or a monitor there sees
//! why no facts come.

use agentx_runtime::{TransportChange, TransportReports};

use crate::{ConnectionState, ServerEndpoint};

/// Reports of one connection.
pub(super) struct LinkReports {
    /// The address of the server.
    endpoint: String,
    reports: TransportReports,
}

impl LinkReports {
    /// Reports about the connection to `endpoint`.
    pub(super) fn new(endpoint: &ServerEndpoint, reports: TransportReports) -> Self {
        Self {
            endpoint: endpoint.to_string(),
            reports,
        }
    }

    /// Reports a change of the state.
    ///
    /// | from | to | reports |
    /// | --- | --- | --- |
    /// | any | connected | `connection_established` |
    /// | connected | any other | `connection_lost` |
    /// | any | waiting | then `reconnecting` |
    pub(super) fn changed(&self, before: &ConnectionState, now: &ConnectionState) {
        let was_connected = *before == ConnectionState::Connected;
        let is_connected = *now == ConnectionState::Connected;
        if is_connected && !was_connected {
            self.report(TransportChange::Established);
        }
        if was_connected && !is_connected {
            let reason = match now {
                ConnectionState::Waiting { why, .. } | ConnectionState::GaveUp { why } => Some(why.clone()),
                ConnectionState::Idle | ConnectionState::Connecting { .. } | ConnectionState::Connected => {
                    None
                }
            };
            self.report(TransportChange::Lost { reason });
        }
        if let ConnectionState::Waiting { retry_in_ms, .. } = now {
            let retry_in_ms = *retry_in_ms;
            self.report(TransportChange::Reconnecting { retry_in_ms });
        }
    }

    /// Reports a sign of life of the server, if the connection works.
    pub(super) fn report_heartbeat(&self, state: &ConnectionState) {
        if *state == ConnectionState::Connected {
            self.report(TransportChange::Heartbeat);
        }
    }

    fn report(&self, change: TransportChange) {
        self.reports.report(&self.endpoint, change);
    }
}
