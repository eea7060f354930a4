//! Rate limits of callers: a bucket of tokens each, in a bounded map. Pure: the time is an argument.

use std::collections::HashMap;

/// The number of buckets that are known at once; those that are full again are forgotten first.
const BUCKETS: usize = 10_000;

/// The token buckets of all callers.
#[derive(Debug)]
pub(crate) struct RequestRates {
    /// A second.
    rate: u32,
    /// At once.
    burst: u32,
    buckets: HashMap<String, Bucket>,
}

/// Thousandths of tokens, as they were at some time.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    thousandths: u64,
    at_ms: u64,
}

impl RequestRates {
    /// `rate` a second on average, `burst` at once.
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        Self {
            rate: rate.max(1),
            burst: burst.max(1),
            buckets: HashMap::new(),
        }
    }

    /// Takes one.
    ///
    /// # Errors
    /// Returns the milliseconds until there is a token.
    pub(crate) fn take(&mut self, who: &str, now_ms: u64) -> Result<(), u64> {
        let full = u64::from(self.burst) * 1000;
        let rate = u64::from(self.rate);
        let filled = |bucket: &Bucket| {
            let passed = now_ms.saturating_sub(bucket.at_ms);
            bucket
                .thousandths
                .saturating_add(passed.saturating_mul(rate))
                .min(full)
        };
        if self.buckets.len() >= BUCKETS && !self.buckets.contains_key(who) {
            self.buckets.retain(|_, bucket| filled(bucket) < full);
            if self.buckets.len() >= BUCKETS {
                return Err(1000);
            }
        }
        let new = Bucket {
            thousandths: full,
            at_ms: now_ms,
        };
        // A name is copied once, when it is new.
        if !self.buckets.contains_key(who) {
            self.buckets.insert(who.to_owned(), new);
        }
        let Some(bucket) = self.buckets.get_mut(who) else {
            return Ok(());
        };
        let there = filled(bucket);
        bucket.at_ms = now_ms;
        bucket.thousandths = there.saturating_sub(1000);
        if there < 1000 {
            bucket.thousandths = there;
            return Err((1000 - there).div_ceil(rate).max(1));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_one_at_a_time_each_for_themselves() {
        let mut rates = RequestRates::new(10, 3);
        for _ in 0..3 {
            assert_eq!(rates.take("ann", 0), Ok(()));
        }
        assert_eq!(rates.take("ann", 0), Err(100));
        assert_eq!(rates.take("bob", 0), Ok(()));
        assert_eq!(rates.take("ann", 99), Err(1));
        assert_eq!(rates.take("ann", 100), Ok(()));
        assert_eq!(rates.take("ann", 100), Err(100));
        assert_eq!(
            rates.take("ann", 1_000_000),
            Ok(()),
            "time fills it, and not beyond its size"
        );
    }

    #[test]
    fn many_names_do_not_take_all_memory() {
        let mut rates = RequestRates::new(1, 1);
        for n in 0..2 * BUCKETS {
            let _ = rates.take(&n.to_string(), 0);
        }
        assert!(rates.buckets.len() <= BUCKETS);
        assert_eq!(
            rates.take("later", 2000),
            Ok(()),
            "those that are full again are forgotten"
        );
    }
}
