//! Counters of a server, for monitoring.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_runtime::RunCounts;

/// A counter or gauge for the metrics of a server.
#[derive(Debug, Default)]
pub struct MetricCounter(AtomicU64);

impl MetricCounter {
    /// Adds to the counter.
    pub fn add(&self, more: u64) {
        if more > 0 {
            self.0.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Subtracts from a gauge.
    pub fn sub(&self, less: u64) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    /// Returns the current count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of a server.
#[derive(Debug, Default)]
pub struct ServerCounters {
    /// TCP connections that are open.
    pub connections: MetricCounter,
    /// TCP connections that were turned away because there were too many.
    pub turned_away: MetricCounter,
    /// The number of open WebSockets.
    pub sockets: MetricCounter,
    /// The number of open subscriptions.
    pub subscriptions: MetricCounter,
    /// The number of frames that clients sent.
    pub received: MetricCounter,
    /// Frames of clients that were refused.
    pub refused: MetricCounter,
    /// The number of frames that were sent to clients.
    pub sent: MetricCounter,
    /// The number of bytes in the sent frames.
    pub sent_bytes: MetricCounter,
    /// Readers that were too slow.
    pub overrun: MetricCounter,
    /// The number of sessions that were opened.
    pub opened: MetricCounter,
    /// The numbers of runs by outcome.
    pub runs: Arc<RunCounts>,
}
