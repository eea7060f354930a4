//! What a server counts, for whoever watches over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentx_runtime::RunCounts;

/// A number that goes up.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Counts on.
    pub fn add(&self, more: u64) {
        if more > 0 {
            self.0.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// One less, of what comes and goes.
    pub fn sub(&self, less: u64) {
        self.0.fetch_sub(less, Ordering::Relaxed);
    }

    /// How many.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a server counts.
#[derive(Debug, Default)]
pub struct Counts {
    /// TCP connections that are open.
    pub connections: Count,
    /// TCP connections that were turned away because there were too many.
    pub turned_away: Count,
    /// WebSockets that are open.
    pub sockets: Count,
    /// Subscriptions that are open.
    pub subscriptions: Count,
    /// Frames of clients.
    pub received: Count,
    /// Of those, refused.
    pub refused: Count,
    /// Frames that were sent.
    pub sent: Count,
    /// And their bytes.
    pub sent_bytes: Count,
    /// Readers that were too slow.
    pub overrun: Count,
    /// Sessions that were opened.
    pub opened: Count,
    /// What their runs came to.
    pub runs: Arc<RunCounts>,
}
