//! The rate limit of a connection. Pure: the time is an argument.

use std::time::{Duration, Instant};

use crate::limits::token_bucket::{BucketLimits, TokenBucket};

/// Gives each frame a token.
#[derive(Debug)]
pub(super) struct RateLimiter {
    limits: BucketLimits,
    bucket: TokenBucket,
    /// The limits of refusals: eight times the burst, and as many a second as frames. A client that sends on
    /// regardless uses them up, however many of its frames get a token in between.
    of_refusals: BucketLimits,
    refusals: TokenBucket,
    start: Instant,
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
        let of_refusals = BucketLimits::new(rate, burst.max(1).saturating_mul(8));
        Self {
            limits,
            bucket: TokenBucket::full(limits, 0),
            of_refusals,
            refusals: TokenBucket::full(of_refusals, 0),
            start: now,
        }
    }

    /// Takes a token for a frame.
    pub(super) fn take(&mut self, now: Instant) -> FrameAdmission {
        let passed = now.saturating_duration_since(self.start).as_millis();
        let passed = u64::try_from(passed).unwrap_or(u64::MAX);
        match self.bucket.take(self.limits, passed) {
            Ok(()) => FrameAdmission::Accept,
            Err(wait_ms) => match self.refusals.take(self.of_refusals, passed) {
                Ok(()) => FrameAdmission::Later(Duration::from_millis(wait_ms)),
                Err(_) => FrameAdmission::Disconnect,
            },
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

    /// Sends this many frames a second for ten seconds. Returns the time after which the connection ends.
    fn ends_after(frames_a_second: u64) -> Option<Duration> {
        let start = Instant::now();
        let mut limiter = RateLimiter::new(200, 400, start);
        (0..10 * frames_a_second).find_map(|n| {
            let passed = Duration::from_micros(n * 1_000_000 / frames_a_second);
            (limiter.take(start + passed) == FrameAdmission::Disconnect).then_some(passed)
        })
    }

    /// A token comes every 5 ms, so some frames of a flood are always accepted.
    #[test]
    fn a_flood_ends_although_some_of_its_frames_are_accepted() {
        let flood = ends_after(20_000);
        assert!(
            flood.is_some_and(|passed| passed < Duration::from_secs(1)),
            "{flood:?}"
        );
        assert_eq!(ends_after(200), None, "as fast as the limit");
        assert_eq!(ends_after(390), None, "a little too fast, and refused at times");
    }
}
