//! Reports connections to servers on the bus of the runtime, so that a monitor there sees when a server is
//! started, and when its connection ends. The end of a program is noticed by the next call, or when the
//! server is detached, so it is reported then.

use agentx_runtime::{TransportChange, TransportReports};

/// A connection that was reported. Dropping it reports the end.
pub(crate) struct ReportedConnection {
    reports: TransportReports,
    /// `mcp` and the name of the server: its address may contain a secret.
    endpoint: String,
}

impl ReportedConnection {
    /// Reports that the connection to this server is made.
    pub(crate) fn new(reports: &TransportReports, server: &str) -> Self {
        let reported = Self {
            reports: reports.clone(),
            endpoint: format!("mcp {server}"),
        };
        reported.report(TransportChange::Established);
        reported
    }

    fn report(&self, change: TransportChange) {
        self.reports.report(&self.endpoint, change);
    }
}

impl Drop for ReportedConnection {
    fn drop(&mut self) {
        self.report(TransportChange::Lost { reason: None });
    }
}
