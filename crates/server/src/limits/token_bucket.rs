//! A token bucket: the rate limit of one caller or one connection. Pure: the time is an argument.

/// The size of a bucket, and how fast it fills.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketLimits {
    /// Tokens per second, at least 1.
    rate: u64,
    /// Tokens of a full bucket, at least 1.
    burst: u64,
}

/// The tokens that are left. A new bucket is full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    /// Thousandths of tokens at the time `at_ms`.
    thousandths: u64,
    at_ms: u64,
}

impl BucketLimits {
    /// `rate` a second on average, `burst` at once.
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        Self {
            rate: rate.max(1).into(),
            burst: burst.max(1).into(),
        }
    }
}

impl TokenBucket {
    pub(crate) fn full(limits: BucketLimits, now_ms: u64) -> Self {
        Self {
            thousandths: limits.burst.saturating_mul(1000),
            at_ms: now_ms,
        }
    }

    pub(crate) fn is_full(&self, limits: BucketLimits, now_ms: u64) -> bool {
        self.filled(limits, now_ms) == limits.burst.saturating_mul(1000)
    }

    /// Takes a token.
    ///
    /// # Errors
    /// Returns the milliseconds until there is a token, at least 1.
    pub(crate) fn take(&mut self, limits: BucketLimits, now_ms: u64) -> Result<(), u64> {
        self.thousandths = self.filled(limits, now_ms);
        self.at_ms = now_ms;
        match self.thousandths.checked_sub(1000) {
            Some(left) => {
                self.thousandths = left;
                Ok(())
            }
            None => Err((1000 - self.thousandths).div_ceil(limits.rate).max(1)),
        }
    }

    fn filled(&self, limits: BucketLimits, now_ms: u64) -> u64 {
        let passed = now_ms.saturating_sub(self.at_ms);
        let gained = passed.saturating_mul(limits.rate);
        let full = limits.burst.saturating_mul(1000);
        self.thousandths.saturating_add(gained).min(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_one_at_a_time() {
        let limits = BucketLimits::new(10, 3);
        let mut bucket = TokenBucket::full(limits, 0);
        for _ in 0..3 {
            assert_eq!(bucket.take(limits, 0), Ok(()));
        }
        assert_eq!(bucket.take(limits, 0), Err(100));
        assert_eq!(bucket.take(limits, 99), Err(1));
        assert_eq!(bucket.take(limits, 100), Ok(()));
        assert!(!bucket.is_full(limits, 300));
        assert!(bucket.is_full(limits, 400));
        assert_eq!(bucket.take(limits, 1_000_000), Ok(()));
        assert!(
            !bucket.is_full(limits, 1_000_000),
            "time does not fill it beyond its size"
        );
    }
}
