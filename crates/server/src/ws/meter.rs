//! How often a connection may ask. Pure; time comes in.

use std::time::{Duration, Instant};

/// A bucket of tokens: each frame takes one, and they come back with time.
#[derive(Debug)]
pub(super) struct Meter {
    rate: f64,
    burst: f64,
    left: f64,
    since: Instant,
    /// How many were refused since the last that was not.
    refused: u32,
}

/// Whether a frame may be looked at.
#[derive(Debug, PartialEq)]
pub(super) enum FrameAdmission {
    /// It may.
    Fine,
    /// Not now, but after this time.
    Later(Duration),
    /// It is never going to listen.
    Hopeless,
}

impl Meter {
    /// `rate` a second on average, `burst` at once.
    pub(super) fn new(rate: u32, burst: u32, now: Instant) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            rate: f64::from(rate.max(1)),
            burst,
            left: burst,
            since: now,
            refused: 0,
        }
    }

    /// A frame comes.
    pub(super) fn take(&mut self, now: Instant) -> FrameAdmission {
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        self.since = now;
        self.left = (self.left + passed * self.rate).min(self.burst);
        if self.left >= 1.0 {
            self.left -= 1.0;
            self.refused = 0;
            return FrameAdmission::Fine;
        }
        self.refused += 1;
        if f64::from(self.refused) > 8.0 * self.burst {
            return FrameAdmission::Hopeless;
        }
        FrameAdmission::Later(Duration::from_secs_f64((1.0 - self.left) / self.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_a_pace_then_the_end() {
        let start = Instant::now();
        let mut meter = Meter::new(10, 3, start);
        for _ in 0..3 {
            assert_eq!(meter.take(start), FrameAdmission::Fine);
        }
        assert_eq!(
            meter.take(start),
            FrameAdmission::Later(Duration::from_millis(100))
        );
        assert_eq!(
            meter.take(start + Duration::from_millis(100)),
            FrameAdmission::Fine
        );
        for _ in 0..24 {
            assert!(matches!(
                meter.take(start + Duration::from_millis(100)),
                FrameAdmission::Later(_)
            ));
        }
        assert_eq!(
            meter.take(start + Duration::from_millis(100)),
            FrameAdmission::Hopeless
        );
    }
}
