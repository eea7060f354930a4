//! The rate limit of a connection. Pure: the time is an argument.

use std::time::{Duration, Instant};

use crate::limits::token_bucket::{BucketLimits, TokenBucket};

/// Gives each frame a token.
#[derive(Debug)]
pub(super) struct RateLimiter {
    limits: BucketLimits,
    bucket: TokenBucket,
    start: Instant,
    /// The number of frames that were refused since the last accepted one.
    refused: u64,
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
        let limits = BucketLimits::new(rate, burst);
        Self {
            limits,
            bucket: TokenBucket::full(limits, 0),
            start: now,
            refused: 0,
        }
    }

    /// Takes a token for a frame.
    pub(super) fn take(&mut self, now: Instant) -> FrameAdmission {
        let passed = now.saturating_duration_since(self.start).as_millis();
        match self
            .bucket
            .take(self.limits, u64::try_from(passed).unwrap_or(u64::MAX))
        {
            Ok(()) => {
                self.refused = 0;
                FrameAdmission::Accept
            }
            Err(wait_ms) => {
                self.refused += 1;
                if self.refused > 8 * self.limits.burst() {
                    FrameAdmission::Disconnect
                } else {
                    FrameAdmission::Later(Duration::from_millis(wait_ms))
                }
            }
        }
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
