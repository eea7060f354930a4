//! Rate limits of callers: a bucket of tokens each, in a bounded map. Pure: the time is an argument.

use std::collections::HashMap;

use crate::limits::token_bucket::{BucketLimits, TokenBucket};

/// The number of buckets that are known at once; those that are full again are forgotten first.
const BUCKETS: usize = 10_000;

/// The token buckets of all callers.
#[derive(Debug)]
pub(crate) struct RequestRates {
    limits: BucketLimits,
    buckets: HashMap<String, TokenBucket>,
}

impl RequestRates {
    /// `rate` a second on average, `burst` at once.
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        Self {
            limits: BucketLimits::new(rate, burst),
            buckets: HashMap::new(),
        }
    }

    /// Takes a token of a caller.
    ///
    /// # Errors
    /// Returns the milliseconds until there is a token.
    pub(crate) fn take(&mut self, who: &str, now_ms: u64) -> Result<(), u64> {
        let limits = self.limits;
        // A name is copied once, when it is new.
        if let Some(bucket) = self.buckets.get_mut(who) {
            return bucket.take(limits, now_ms);
        }
        if self.buckets.len() >= BUCKETS {
            self.buckets.retain(|_, bucket| !bucket.is_full(limits, now_ms));
            if self.buckets.len() >= BUCKETS {
                return Err(1000);
            }
        }
        let new = TokenBucket::full(limits, now_ms);
        self.buckets
            .entry(who.to_owned())
            .or_insert(new)
            .take(limits, now_ms)
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
