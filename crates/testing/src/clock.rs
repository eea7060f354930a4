//! A clock that a test moves by hand, so that its results never depend on how fast it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use agentx_types::Timestamp;

/// A clock that is shared by clones and moved by hand.
///
/// ```
/// use std::time::Duration;
/// use agentx_testing::SimulatedClock;
///
/// let clock = SimulatedClock::default();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(2));
/// assert_eq!(clock.now().millis_since(before), 2_000);
/// ```
#[derive(Clone, Debug)]
pub struct SimulatedClock {
    micros: Arc<AtomicI64>,
}

impl Default for SimulatedClock {
    /// Starts at 2025-11-20 09:20:00 UTC.
    fn default() -> Self {
        Self::at(Timestamp(1_763_630_400_000_000))
    }
}

impl SimulatedClock {
    /// Starts at `start`.
    pub fn at(start: Timestamp) -> Self {
        Self {
            micros: Arc::new(AtomicI64::new(start.0)),
        }
    }

    /// Returns the time that it shows.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.micros.load(Ordering::SeqCst))
    }

    /// Shows the time, then advances by one microsecond: no two events are at the same time.
    pub fn tick(&self) -> Timestamp {
        Timestamp(self.micros.fetch_add(1, Ordering::SeqCst))
    }

    /// Moves on by `time`.
    pub fn advance(&self, time: Duration) {
        let micros = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        self.micros.fetch_add(micros, Ordering::SeqCst);
    }
}

impl agentx_runtime::Clock for SimulatedClock {
    /// Advances by a microsecond with each read: no two facts are at the same time.
    fn now(&self) -> Timestamp {
        self.tick()
    }
}
