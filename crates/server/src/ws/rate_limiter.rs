//! The rate limit of a connection. Pure: the time is an argument.

use std::time::{Duration, Instant};

/// A bucket of tokens: each frame takes one, and they come back with time.
#[derive(Debug)]
pub(super) struct RateLimiter {
    rate: f64,
    burst: f64,
    left: f64,
    since: Instant,
    /// The number of frames that were refused since the last accepted one.
    refused: u32,
}

/// The decision about a frame.
#[derive(Debug, PartialEq)]
pub(super) enum FrameAdmission {
    /// Handle the frame.
    Accept,
    /// Not now, but after this time.
    Later(Duration),
    /// End the connection: the client ignores the limit.
    Disconnect,
}

impl RateLimiter {
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

    /// Takes a token for a frame.
    pub(super) fn take(&mut self, now: Instant) -> FrameAdmission {
        let passed = now.saturating_duration_since(self.since).as_secs_f64();
        self.since = now;
        self.left = (self.left + passed * self.rate).min(self.burst);
        if self.left >= 1.0 {
            self.left -= 1.0;
            self.refused = 0;
            return FrameAdmission::Accept;
        }
        self.refused += 1;
        if f64::from(self.refused) > 8.0 * self.burst {
            return FrameAdmission::Disconnect;
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
        let mut limiter = RateLimiter::new(10, 3, start);
        for _ in 0..3 {
            assert_eq!(limiter.take(start), FrameAdmission::Accept);
        }
        assert_eq!(
            limiter.take(start),
            FrameAdmission::Later(Duration::from_millis(100))
        );
        assert_eq!(
            limiter.take(start + Duration::from_millis(100)),
            FrameAdmission::Accept
        );
        for _ in 0..24 {
            assert!(matches!(
                limiter.take(start + Duration::from_millis(100)),
                FrameAdmission::Later(_)
            ));
        }
        assert_eq!(
            limiter.take(start + Duration::from_millis(100)),
            FrameAdmission::Disconnect
        );
    }
}
