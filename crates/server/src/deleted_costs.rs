//! What deleted sessions have cost. It counts for the quota of their owner for a day, as if they were still
//! there: a member could otherwise spend without end by deleting sessions. Forgotten when the server ends.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use agentx_types::{NanoUsd, OwnerId, Timestamp};

/// The period whose deletions are counted together.
const HOUR_US: i64 = 60 * 60 * 1_000_000;
/// The period for which costs are added up.
pub(crate) const DAY_US: i64 = 24 * HOUR_US;

/// Costs by owner, with the time of the first deletion that an entry counts: at most 25 entries each.
#[derive(Default)]
pub(crate) struct DeletedCosts(Mutex<HashMap<OwnerId, Vec<(Timestamp, NanoUsd)>>>);

impl DeletedCosts {
    /// Adds the cost of a session that was deleted now.
    pub(crate) fn add(&self, owner: &OwnerId, now: Timestamp, cost: NanoUsd) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, costs| {
            costs.retain(|(at, _)| is_recent(*at, now));
            !costs.is_empty()
        });
        let costs = all.entry(owner.clone()).or_default();
        match costs.last_mut() {
            Some((at, sum)) if now.0 - at.0 < HOUR_US => *sum += cost,
            _ => costs.push((now, cost)),
        }
    }

    /// Returns what an owner's deleted sessions have cost within a day.
    pub(crate) fn within_a_day(&self, owner: &OwnerId, now: Timestamp) -> NanoUsd {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = NanoUsd::default();
        for (at, cost) in all.get(owner).into_iter().flatten() {
            if is_recent(*at, now) {
                sum += *cost;
            }
        }
        sum
    }
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    at.0 > now.0.saturating_sub(DAY_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_counts_for_a_day_and_fills_no_memory() {
        let costs = DeletedCosts::default();
        let ada = OwnerId::new("own_ada");
        for minute in 0..10_000 {
            costs.add(&ada, Timestamp(minute * 60 * 1_000_000), NanoUsd(1));
        }
        let now = Timestamp(10_000 * 60 * 1_000_000);
        let sum = costs.within_a_day(&ada, now).0;
        assert!((1_380..=1_500).contains(&sum), "{sum}");
        assert!(costs.0.lock().unwrap()[&ada].len() <= 25);
        assert_eq!(costs.within_a_day(&OwnerId::new("own_bob"), now), NanoUsd(0));
        assert_eq!(costs.within_a_day(&ada, Timestamp(now.0 + DAY_US)), NanoUsd(0));
    }
}
