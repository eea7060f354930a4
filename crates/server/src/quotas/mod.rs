//! Counts what each person holds at a server: sessions, bytes, runs, tool calls, money, connections. The
//! module `quota_checks` compares the counts with the quotas.

pub(crate) mod daily_cost;
pub(crate) mod deleted_blobs;
pub(crate) mod dollars;
pub(crate) mod unlisted_costs;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentx_runtime::CallSlots;
use agentx_types::{NanoUsd, OwnerId, SessionId};

use crate::limits::fair_semaphore::FairSemaphore;
use crate::quotas::daily_cost::AdmittedRuns;
use crate::quotas::deleted_blobs::DeletedBlobs;
use crate::quotas::unlisted_costs::UnlistedCosts;

/// The time for which cached sums of size and cost are valid, for decisions that admit nothing: refusals, and
/// checks of running runs. Admissions use current sums.
const BELIEVED: Duration = Duration::from_secs(5);
/// The number of people that are remembered.
const REMEMBERED: usize = 1024;

/// The number of people whose runs and calls are admitted at once.
const ADMISSIONS: usize = 64;

/// The resources that people hold at the moment.
pub(crate) struct MemberUsage {
    /// Connections and streams, by person or by the address of visitors.
    pub(crate) connections: Counter,
    /// Sessions that are being made, inputs that are on their way, and calls at `/mcp` without a bill.
    pub(crate) begun: Counter,
    /// The runs that may not be on a bill yet.
    pub(crate) admitted: AdmittedRuns,
    /// Each person's runs and calls are admitted one after another, so that those that are being refused
    /// count for nothing.
    pub(crate) admissions: FairSemaphore,
    sums: Mutex<HashMap<OwnerId, (Instant, UsageSums)>>,
    /// The costs that no session lists.
    pub(crate) unlisted: UnlistedCosts,
    /// The blobs that deleted sessions leave on the disk.
    pub(crate) deleted: DeletedBlobs,
    /// The slots of members' tool calls, with their number.
    slots: Mutex<HashMap<OwnerId, (u64, CallSlots)>>,
}

/// The counts by name.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<Mutex<HashMap<String, u64>>>);

/// A counted use of a quota. It ends when this is dropped.
pub(crate) struct QuotaGuard {
    counter: Counter,
    name: String,
    /// A second count that ends with it.
    _also: Option<Box<QuotaGuard>>,
}

/// The size and cost of a person's sessions.
#[derive(Clone, Default)]
pub(crate) struct UsageSums {
    /// Everything that is stored.
    pub(crate) bytes: u64,
    /// The part of it that scripts keep under keys.
    pub(crate) kept: u64,
    pub(crate) cost: NanoUsd,
    /// The part of the cost that sessions list.
    pub(crate) listed: NanoUsd,
    /// The part of the cost that is an estimate of calls at `/mcp` that run now.
    pub(crate) estimated: NanoUsd,
    /// The number of bills of each session that has some.
    pub(crate) bills: Arc<HashMap<SessionId, u64>>,
}

/// The person or address that a connection counts for.
pub(crate) struct ConnectionSlot<'a> {
    /// The member.
    pub(crate) person: &'a OwnerId,
    /// Whether they run the server.
    pub(crate) operator: bool,
    /// Whether they have not authenticated.
    pub(crate) visitor: bool,
    /// The address or network.
    pub(crate) address: &'a str,
}

impl Counter {
    /// Returns the count of this name.
    pub(crate) fn count(&self, name: &str) -> u64 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(name).copied().unwrap_or_default()
    }

    /// Counts one more for this name; also returns the new count.
    pub(crate) fn add(&self, name: String) -> (QuotaGuard, u64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        let now = *count;
        drop(counts);
        let counted = QuotaGuard {
            counter: self.clone(),
            name,
            _also: None,
        };
        (counted, now)
    }

    /// Counts one more for this name, if there are fewer than `most`.
    pub(crate) fn add_up_to(&self, name: String, most: Option<u64>) -> Option<QuotaGuard> {
        let (counted, now) = self.add(name);
        most.is_none_or(|most| now <= most).then_some(counted)
    }
}

impl QuotaGuard {
    /// Returns this count with a second one, which ends with it.
    pub(crate) fn together_with(mut self, other: Self) -> Self {
        self._also = Some(Box::new(other));
        self
    }
}

impl Drop for QuotaGuard {
    fn drop(&mut self) {
        let mut counts = self.counter.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.name);
            }
        }
    }
}

impl UsageSums {
    /// Returns the cost that is on a bill.
    pub(crate) fn billed(&self) -> NanoUsd {
        NanoUsd(self.cost.0.saturating_sub(self.estimated.0))
    }
}

impl MemberUsage {
    /// Creates quotas without reservations; spending and blobs of deleted sessions are read from this
    /// directory.
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self {
            connections: Counter::default(),
            begun: Counter::default(),
            admitted: AdmittedRuns::default(),
            admissions: FairSemaphore::new(ADMISSIONS),
            sums: Mutex::default(),
            unlisted: UnlistedCosts::read(data_dir),
            deleted: DeletedBlobs::read(data_dir),
            slots: Mutex::default(),
        }
    }

    /// Returns the size and cost of a person's sessions, if they were read a moment ago.
    pub(crate) fn cached_sums(&self, owner: &OwnerId) -> Option<UsageSums> {
        let sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, sums) = sums.get(owner)?;
        (at.elapsed() < BELIEVED).then(|| sums.clone())
    }

    /// Keeps the size and cost of a person's sessions, as they were read now.
    pub(crate) fn cache_sums(&self, owner: &OwnerId, sums: &UsageSums) {
        let mut all = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.retain(|_, (at, _)| at.elapsed() < BELIEVED);
        }
        if all.len() < REMEMBERED {
            all.insert(owner.clone(), (Instant::now(), sums.clone()));
        }
    }

    /// Forgets cached sums, because they lack what no quota counted so far.
    pub(crate) fn forget_sums(&self) {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.clear();
    }

    /// Returns the slots for tool calls of a member, at most so many of all. Runtimes come and go; their
    /// calls count together.
    pub(crate) fn slots_of(&self, owner: &OwnerId, most: u64, all: &CallSlots) -> CallSlots {
        let mut known = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slots)) = known.get(owner).filter(|(count, _)| *count == most) {
            return slots.clone();
        }
        if known.len() >= REMEMBERED {
            known.retain(|_, (_, slots)| slots.is_shared());
        }
        let slots = all.part(usize::try_from(most).unwrap_or(usize::MAX));
        known.insert(owner.clone(), (most, slots.clone()));
        slots
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn what_is_counted_is_given_back() {
        let counter = Counter::default();
        let first = counter.add_up_to("ann".into(), Some(2)).unwrap();
        let _second = counter.add_up_to("ann".into(), Some(2)).unwrap();
        assert!(counter.add_up_to("ann".into(), Some(2)).is_none());
        assert!(
            counter.add_up_to("bob".into(), Some(2)).is_some(),
            "others have their own"
        );
        drop(first);
        let third = counter.add_up_to("ann".into(), Some(2));
        assert!(third.is_some());
        drop((third, _second));
        assert!(counter.0.lock().unwrap().is_empty());
    }

    #[test]
    fn estimates_are_on_no_bill() {
        let sums = UsageSums {
            cost: NanoUsd(10),
            estimated: NanoUsd(4),
            ..UsageSums::default()
        };
        assert_eq!(sums.billed(), NanoUsd(6));
    }
}
