//! The quotas of each person on a server: sessions, bytes, runs, tool calls, money, connections. The operator
//! has none; members have those of the settings; visitors only read, and are counted by address.

pub(crate) mod daily_cost;
pub(crate) mod deleted_blobs;
pub(crate) mod dollars;
pub(crate) mod unlisted_costs;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentx_config::Quotas;
use agentx_runtime::{CallSlots, Runtime as _, RuntimeError, Session, SessionQuery};
use agentx_types::{NanoUsd, OwnerId, RunStatus, SessionId};

use crate::limits::fair_semaphore::FairSemaphore;
use crate::problems::remote;
use crate::quotas::daily_cost::{AdmittedRuns, sum_of};
use crate::quotas::deleted_blobs::DeletedBlobs;
use crate::quotas::dollars::too_dear;
use crate::quotas::unlisted_costs::UnlistedCosts;
use crate::state::ServerState;

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
    connections: Counter,
    /// Sessions that are being made, inputs that are on their way, and calls at `/mcp` without a bill.
    pub(crate) begun: Counter,
    /// The runs that may not be on a bill yet.
    pub(crate) admitted: AdmittedRuns,
    /// Each person's runs and calls are admitted one after another, so that those that are being refused count for
    /// nothing.
    pub(crate) admissions: FairSemaphore,
    sums: Mutex<HashMap<OwnerId, (Instant, UsageSums)>>,
    /// The costs that no session lists.
    pub(crate) unlisted: UnlistedCosts,
    /// What deleted sessions leave on the disk.
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
    bytes: u64,
    /// The part of it that scripts keep under keys.
    kept: u64,
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
    fn add_up_to(&self, name: String, most: Option<u64>) -> Option<QuotaGuard> {
        let (counted, now) = self.add(name);
        most.is_none_or(|most| now <= most).then_some(counted)
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
    /// Nobody holds anything yet; what was spent is in this directory.
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self {
            connections: Counter::default(),
            begun: Counter::default(),
            admitted: AdmittedRuns::default(),
            admissions: FairSemaphore::new(ADMISSIONS),
            sums: Mutex::default(),
            unlisted: UnlistedCosts::read(data_dir),
            deleted: DeletedBlobs::default(),
            slots: Mutex::default(),
        }
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

impl ServerState {
    pub(crate) fn quotas(&self) -> Quotas {
        self.settings().quotas.clone()
    }

    /// Counts one more connection or stream; `None` if there are too many.
    pub(crate) fn count_in(&self, who: &ConnectionSlot<'_>) -> Option<QuotaGuard> {
        let (limits, quotas) = (&self.options().limits, self.quotas());
        let connections = &self.kept.connections;
        let in_all = |most: usize| Some(most as u64);
        if who.visitor {
            // They are many, but authenticated people need room too.
            let all = connections.add_up_to("visitors".into(), in_all(limits.connections / 2))?;
            let name = format!("visitors at {}", who.address);
            let mut counted = connections.add_up_to(name, quotas.visitor_connections)?;
            counted._also = Some(Box::new(all));
            return Some(counted);
        }
        let own = quotas.connections.filter(|_| !who.operator);
        let most = own.into_iter().chain(in_all(limits.connections_per_person)).min();
        connections.add_up_to(who.person.to_string(), most)
    }

    /// Checks that a person may create one more session. Keep the guard until the session exists.
    ///
    /// # Errors
    /// Returns `quota_storage` if they have too many sessions, or their sessions take too much space.
    pub(crate) async fn check_create(&self, owner: &OwnerId) -> Result<Option<QuotaGuard>, RuntimeError> {
        if owner == self.runtime().owner() {
            return Ok(None);
        }
        let (counted, begun) = self.kept.begun.add(format!("makes {owner}"));
        if let Some(most) = self.quotas().sessions {
            let query = SessionQuery {
                owner: owner.clone(),
                workspace: None,
                limit: usize::try_from(most).unwrap_or(usize::MAX),
                before: None,
            };
            let there = self.runtime_of(owner).sessions(query).await?.len() as u64;
            if there + begun > most {
                let what = format!(
                    "you have reached this server's limit of {most} sessions per member (`quotas.sessions`): delete one first"
                );
                return Err(remote("quota_storage", &what));
            }
        }
        self.check_bytes(owner, &self.sums_to_admit(owner).await?).await?;
        Ok(Some(counted))
    }

    /// Checks that a session of `owner` may permanently store more.
    ///
    /// # Errors
    /// Returns `quota_storage` if their sessions take too much space.
    pub(crate) async fn check_storage(&self, owner: &OwnerId) -> Result<(), RuntimeError> {
        if owner == self.runtime().owner() {
            return Ok(());
        }
        self.check_bytes(owner, &self.sums_to_admit(owner).await?).await
    }

    /// Checks that a run may start in a session of `owner`. Keep the guard until the run is recorded.
    ///
    /// # Errors
    /// Returns `quota_storage` if their sessions take too much space, `quota_usage` if they cost too much or
    /// too many run.
    pub(crate) async fn check_run(
        &self,
        owner: &OwnerId,
        session: &SessionId,
    ) -> Result<Option<QuotaGuard>, RuntimeError> {
        if owner == self.runtime().owner() {
            return Ok(None);
        }
        let _turn = self.kept.admissions.take(owner).await;
        let begun = self.begun_work(owner).await?;
        let sums = self.sums_to_admit(owner).await?;
        self.check_bytes(owner, &sums).await?;
        self.check_money(owner, Some(session), &begun, &sums)?;
        if let Some(most) = self.quotas().running {
            let others = begun.running.iter().filter(|other| *other != session).count() as u64;
            if others + begun.inputs >= most {
                let what = format!(
                    "{most} other sessions of this owner are running, which is this server's limit per member (`quotas.running_sessions`): wait for one, or stop it"
                );
                return Err(remote("quota_usage", &what));
            }
        }
        self.note_admitted(owner, session, &sums);
        Ok(Some(self.kept.begun.add(format!("runs {owner}")).0))
    }

    /// Ends the runs and the calls at `/mcp` of members whose bills have reached their cost quota, because the cost is not
    /// known before they begin; estimates end nothing. A call that waits for a person costs nothing, and continues waiting.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn end_runs_over_cost_quota(&self) -> Result<(), RuntimeError> {
        let Some(most) = self.quotas().cost else {
            return Ok(());
        };
        for person in self.client_calls.people() {
            if person != *self.operator() && self.sums(&person).await?.billed() >= most {
                self.client_calls.stop(&person);
            }
        }
        for (session, owner) in self.runtime().under_way().await? {
            if owner == *self.operator() {
                continue;
            }
            let cost = self.sums(&owner).await?.billed();
            let room = self.rooms().there(&session).await.filter(|_| cost >= most);
            let Some(open) = room.as_ref().and_then(|room| room.session()) else {
                continue;
            };
            // A session that fails must not keep the others running.
            if let Err(error) = end_one(&**open, too_dear(cost, most)).await {
                tracing::warn!(%session, %error, "cannot stop session, although its owner's budget is used up");
            }
        }
        Ok(())
    }

    /// Forgets cached sums, because they lack what no quota counted so far.
    pub(crate) fn forget_sums(&self) {
        let mut sums = self.kept.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.clear();
    }

    /// Returns the size and cost of a person's sessions, possibly from the cache.
    pub(crate) async fn sums(&self, owner: &OwnerId) -> Result<UsageSums, RuntimeError> {
        match self.cached_sums(owner) {
            Some(sums) => Ok(sums),
            None => self.read_sums(owner).await,
        }
    }

    /// Returns the size and cost of a person's sessions, from the cache only if it leads to a refusal: else many small
    /// requests would be admitted by the same sum.
    pub(crate) async fn sums_to_admit(&self, owner: &OwnerId) -> Result<UsageSums, RuntimeError> {
        let quotas = self.quotas();
        let is_over = |sums: &UsageSums| {
            quotas.bytes.is_some_and(|most| sums.bytes >= most)
                || quotas.cost.is_some_and(|most| sums.cost >= most)
        };
        match self.cached_sums(owner).filter(is_over) {
            Some(sums) => Ok(sums),
            None => self.read_sums(owner).await,
        }
    }

    fn cached_sums(&self, owner: &OwnerId) -> Option<UsageSums> {
        let sums = self.kept.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, sums) = sums.get(owner)?;
        (at.elapsed() < BELIEVED).then(|| sums.clone())
    }

    async fn read_sums(&self, owner: &OwnerId) -> Result<UsageSums, RuntimeError> {
        let runtime = self.runtime_of(owner);
        let mut sums = UsageSums::default();
        if self.quotas().bytes.is_some() {
            let stored = runtime.stored(None).await?.unwrap_or_default();
            sums.kept = stored.kept_bytes;
            sums.bytes = stored
                .facts
                .saturating_add(stored.blob_bytes)
                .saturating_add(sums.kept);
        }
        if self.quotas().cost.is_some() {
            let rows = self.costs_of(owner, None).await?;
            sums.listed = sum_of(&rows);
            sums.cost = sums.listed;
            let (unlisted, estimated) = self.kept.unlisted.spent(owner, self.now());
            sums.cost += unlisted;
            sums.estimated = estimated;
            let bills = rows.into_iter().map(|row| (SessionId::new(row.key), row.calls));
            sums.bills = Arc::new(bills.collect());
        }
        let mut all = self.kept.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.retain(|_, (at, _)| at.elapsed() < BELIEVED);
        }
        if all.len() < REMEMBERED {
            all.insert(owner.clone(), (Instant::now(), sums.clone()));
        }
        Ok(sums)
    }
}

/// Ends the run of one session, and holds its queue back. A call that waits for a person continues waiting.
async fn end_one(open: &dyn Session, why: String) -> Result<(), RuntimeError> {
    let waits = [RunStatus::AwaitingApproval, RunStatus::Stopping];
    let run = open.state().await?.run;
    if run.is_some_and(|run| !run.status.is_final() && !waits.contains(&run.status)) {
        open.halt(Some(why)).await?;
    }
    Ok(())
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
