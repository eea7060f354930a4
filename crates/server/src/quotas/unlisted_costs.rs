//! The spending of people that no session lists: the cost of deleted sessions, and of calls at `/mcp`. It
//! counts for a member's quota for a day: they could otherwise spend without end by deleting sessions.
//!
//! A model call at `/mcp` counts by an estimate from its beginning, and by its bill from its end: if the
//! server is killed in between, the estimate stays.
//!
//! The cost of a session is in the file before the session is deleted, under the owner and the session,
//! because a kill may come in between: it counts once the session is no longer listed.
//!
//! A file beside the sessions keeps the sums over a restart. If the file cannot be read or written, the
//! server says so in its log and continues: the sums then last until it ends.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_files::{FileLock, ReplaceOptions, replace_locked};
use agentx_types::{NanoUsd, OwnerId, SessionId, Timestamp};

use crate::quotas::daily_cost::CallBudget;

/// The period whose costs are counted together.
const HOUR_US: i64 = 60 * 60 * 1_000_000;
/// The period for which costs are added up.
pub(crate) const DAY_US: i64 = 24 * HOUR_US;

/// The name of the file in the data directory.
const FILE: &str = "unlisted-costs.json";
/// The largest file that is read: about 10,000 people.
const MAX_BYTES: u64 = 16 << 20;
/// The time to wait for another server on the same data directory.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stands between the owner and the session in the name of a deletion.
const OF_SESSION: char = ' ';

/// Costs by owner, with the time of the first one that an entry counts: at most 25 entries each. Deletions
/// have separate names: see [`deletion`].
type CostsByOwner = HashMap<OwnerId, Vec<(Timestamp, NanoUsd)>>;

/// The costs of the last day that no session lists.
pub(crate) struct UnlistedCosts {
    known: Mutex<KnownCosts>,
    file: PathBuf,
    /// Held while the file is replaced, so that readers of the sums do not wait for the disk.
    writing: Mutex<()>,
}

/// The costs that this server knows. Each is in one of these.
#[derive(Default)]
struct KnownCosts {
    /// Those in the file, also of another server on this directory.
    in_file: CostsByOwner,
    /// Those that are being written. They stay here if that fails.
    being_written: CostsByOwner,
    /// Those that came later.
    new: CostsByOwner,
    /// The amounts that are being subtracted from the file, because an estimate was higher than the bill.
    /// They stay here if the write fails.
    less_being_written: HashMap<OwnerId, NanoUsd>,
    /// The amounts to subtract later.
    less: HashMap<OwnerId, NanoUsd>,
    /// The deletions of this server that have begun and not ended.
    deletions: CostsByOwner,
    /// The names of deletions that have ended, until the file has them no longer.
    ended: HashSet<OwnerId>,
    /// The part of all these that is an estimate of calls of this server that run now.
    estimated: HashMap<OwnerId, NanoUsd>,
    /// The money that is set aside, beyond their estimates, for the model calls that are running. It counts
    /// in no sum of costs.
    reserved: HashMap<OwnerId, NanoUsd>,
}

impl KnownCosts {
    /// Returns what an owner spent within a day.
    fn spent(&self, owner: &OwnerId, now: Timestamp) -> NanoUsd {
        let mut sum = NanoUsd::default();
        for all in [&self.in_file, &self.being_written, &self.new] {
            for (at, cost) in all.get(owner).into_iter().flatten() {
                if is_recent(*at, now) {
                    sum += *cost;
                }
            }
        }
        for less in [&self.less_being_written, &self.less] {
            let less = less.get(owner).copied().unwrap_or_default();
            sum = NanoUsd(sum.0.saturating_sub(less.0));
        }
        sum
    }

    fn end_estimate(&mut self, owner: &OwnerId, estimate: NanoUsd) {
        reduce(&mut self.estimated, owner, estimate);
    }
}

/// Takes off an amount that was added before.
fn reduce(all: &mut HashMap<OwnerId, NanoUsd>, owner: &OwnerId, less: NanoUsd) {
    if let Some(open) = all.get_mut(owner) {
        *open = NanoUsd(open.0.saturating_sub(less.0));
        if *open == NanoUsd::default() {
            all.remove(owner);
        }
    }
}

impl UnlistedCosts {
    /// Reads those that an earlier server kept in this directory.
    pub(crate) fn read(data_dir: &Path) -> Self {
        let file = data_dir.join(FILE);
        let in_file = read(&file).unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "cannot read what was spent outside of sessions");
            HashMap::new()
        });
        Self {
            known: Mutex::new(KnownCosts {
                in_file,
                ..KnownCosts::default()
            }),
            file,
            writing: Mutex::default(),
        }
    }

    /// Begins the deletion of a session: its cost within a day must be in the file before it is gone. It
    /// counts by [`Self::deletions`].
    pub(crate) fn begin_deletion(&self, owner: &OwnerId, session: &SessionId, now: Timestamp, cost: NanoUsd) {
        if cost > NanoUsd::default() {
            let mut known = self.known();
            let name = deletion(owner, session.as_str());
            known.ended.remove(&name);
            known.deletions.insert(name, vec![(now, cost)]);
        }
    }

    /// Ends the deletion of a session. If it is gone, its cost is one of its owner's.
    pub(crate) fn end_deletion(&self, owner: &OwnerId, session: &SessionId, now: Timestamp, is_gone: bool) {
        let mut known = self.known();
        let name = deletion(owner, session.as_str());
        for (_, cost) in known.deletions.remove(&name).into_iter().flatten() {
            if is_gone {
                add(&mut known.new, owner, now, cost);
            }
            known.ended.insert(name.clone());
        }
    }

    /// Returns the sessions of an owner whose deletion has begun, with their cost within a day. Those that
    /// are still listed have their cost there.
    pub(crate) fn deletions(&self, owner: &OwnerId, now: Timestamp) -> HashMap<SessionId, NanoUsd> {
        let known = self.known();
        let prefix = deletion(owner, "");
        let all = known.in_file.iter().chain(&known.deletions);
        let open = all.filter(|(name, _)| !known.ended.contains(*name));
        let costs = open.filter_map(|(name, costs)| {
            let session = name.as_str().strip_prefix(prefix.as_str())?;
            let (_, cost) = costs.first().filter(|(at, _)| is_recent(*at, now))?;
            Some((SessionId::new(session), *cost))
        });
        costs.collect()
    }

    /// Begins a model call: adds its estimate, and reserves `more`, which it may cost beyond that. If two
    /// begin at the same instant, the second one sees the first.
    ///
    /// # Errors
    /// Returns the owner's spent and reserved amounts if the budget has no room for the estimate. Then
    /// nothing is added.
    pub(crate) fn begin(
        &self,
        owner: &OwnerId,
        now: Timestamp,
        budget: Option<CallBudget>,
        estimate: NanoUsd,
        more: NanoUsd,
    ) -> Result<(), NanoUsd> {
        let mut known = self.known();
        if let Some(budget) = budget {
            let mut spent = budget.listed;
            spent += known.spent(owner, now);
            spent += known.reserved.get(owner).copied().unwrap_or_default();
            if spent >= budget.most || spent.0.saturating_add(estimate.0) > budget.most.0 {
                return Err(spent);
            }
        }
        add(&mut known.new, owner, now, estimate);
        *known.estimated.entry(owner.clone()).or_default() += estimate;
        if more > NanoUsd::default() {
            *known.reserved.entry(owner.clone()).or_default() += more;
        }
        Ok(())
    }

    /// Releases the reservation of a call that has ended.
    pub(crate) fn release(&self, owner: &OwnerId, more: NanoUsd) {
        reduce(&mut self.known().reserved, owner, more);
    }

    /// Keeps an estimate as the cost of a call that never gets a bill.
    pub(crate) fn keep_estimate(&self, owner: &OwnerId, estimate: NanoUsd) {
        self.known().end_estimate(owner, estimate);
    }

    /// Replaces an estimate that was added before by the cost.
    pub(crate) fn settle(&self, owner: &OwnerId, now: Timestamp, estimate: NanoUsd, cost: NanoUsd) {
        let mut known = self.known();
        known.end_estimate(owner, estimate);
        let (more, less) = (
            cost.0.saturating_sub(estimate.0),
            estimate.0.saturating_sub(cost.0),
        );
        if more > 0 {
            add(&mut known.new, owner, now, NanoUsd(more));
        } else if less > 0 {
            *known.less.entry(owner.clone()).or_default() += NanoUsd(less);
        }
    }

    /// Adds the missing entries to the file. Blocks meanwhile.
    pub(crate) fn write(&self, now: Timestamp) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.add_to_file(now) {
            tracing::warn!(file = %self.file.display(), %error, "cannot keep what was spent outside of sessions");
        }
    }

    fn add_to_file(&self, now: Timestamp) -> std::io::Result<()> {
        let WantedChanges {
            added,
            less,
            begun,
            ended,
        } = self.begin_writing(now);
        if added.is_empty() && less.is_empty() && begun.is_empty() && ended.is_empty() {
            return Ok(());
        }
        let lock = FileLock::wait(&FileLock::path_for(&self.file), PATIENCE)?;
        let busy = "another program has been writing it for ten seconds";
        let lock = lock.ok_or_else(|| std::io::Error::other(busy))?;
        // Another server on this directory may have added something meanwhile.
        let mut all = read(&self.file).unwrap_or_else(|_| self.known().in_file.clone());
        add_all(&mut all, &added, now);
        take_off(&mut all, &less);
        all.retain(|name, _| !ended.contains(name));
        all.extend(begun);
        let text = serde_json::to_vec(&all)?;
        replace_locked(&self.file, &text, ReplaceOptions::default(), &lock)?;
        let mut known = self.known();
        known.in_file = all;
        known.being_written.clear();
        known.less_being_written.clear();
        known.ended.retain(|name| !ended.contains(name));
        Ok(())
    }

    fn begin_writing(&self, now: Timestamp) -> WantedChanges {
        let mut known = self.known();
        let new = std::mem::take(&mut known.new);
        add_all(&mut known.being_written, &new, now);
        for (owner, less) in std::mem::take(&mut known.less) {
            *known.less_being_written.entry(owner).or_default() += less;
        }
        let begun = known.deletions.iter();
        let begun = begun.filter(|(name, costs)| known.in_file.get(*name) != Some(*costs));
        WantedChanges {
            added: known.being_written.clone(),
            less: known.less_being_written.clone(),
            begun: begun.map(|(name, costs)| (name.clone(), costs.clone())).collect(),
            ended: known.ended.clone(),
        }
    }

    /// Returns what an owner spent within a day, and the part of it that is an estimate of calls that run
    /// now.
    pub(crate) fn spent(&self, owner: &OwnerId, now: Timestamp) -> (NanoUsd, NanoUsd) {
        let known = self.known();
        let sum = known.spent(owner, now);
        let estimated = known.estimated.get(owner).copied().unwrap_or_default();
        (sum, estimated.min(sum))
    }

    fn known(&self) -> MutexGuard<'_, KnownCosts> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Changes that the file does not have yet.
struct WantedChanges {
    added: CostsByOwner,
    /// The amounts to subtract.
    less: HashMap<OwnerId, NanoUsd>,
    /// The deletions that have begun.
    begun: CostsByOwner,
    /// The names of those that have ended.
    ended: HashSet<OwnerId>,
}

/// The name under which the file has the cost of a session that is being deleted. It is not the name of an
/// owner, so an earlier version counts it for nobody.
fn deletion(owner: &OwnerId, session: &str) -> OwnerId {
    OwnerId::new(format!("{owner}{OF_SESSION}{session}"))
}

/// Adds a cost, to the last ones if they are of the same hour.
fn add(all: &mut CostsByOwner, owner: &OwnerId, at: Timestamp, cost: NanoUsd) {
    let costs = all.entry(owner.clone()).or_default();
    match costs.last_mut() {
        Some((first, sum)) if at.0.saturating_sub(first.0) < HOUR_US => *sum += cost,
        _ => costs.push((at, cost)),
    }
}

/// Adds costs, and forgets what is older than a day.
fn add_all(all: &mut CostsByOwner, more: &CostsByOwner, now: Timestamp) {
    for (owner, costs) in more {
        for (at, cost) in costs {
            add(all, owner, *at, *cost);
        }
    }
    all.retain(|_, costs| {
        costs.retain(|(at, _)| is_recent(*at, now));
        !costs.is_empty()
    });
}

/// Takes off amounts from the latest costs.
fn take_off(all: &mut CostsByOwner, less: &HashMap<OwnerId, NanoUsd>) {
    for (owner, less) in less {
        let mut left = less.0;
        for (_, cost) in all.get_mut(owner).into_iter().flatten().rev() {
            let part = cost.0.min(left);
            cost.0 -= part;
            left -= part;
        }
    }
}

fn read(file: &Path) -> std::io::Result<CostsByOwner> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Ok(found) if !found.is_file() || found.len() > MAX_BYTES => {
            return Err(std::io::Error::other("it is not a file of costs, or too large"));
        }
        found => found?,
    };
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    at.0 > now.0.saturating_sub(DAY_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl UnlistedCosts {
        pub(crate) fn reserved(&self, owner: &OwnerId) -> NanoUsd {
            self.known().reserved.get(owner).copied().unwrap_or_default()
        }

        pub(crate) fn within_a_day(&self, owner: &OwnerId, now: Timestamp) -> NanoUsd {
            self.spent(owner, now).0
        }

        /// Adds a cost incurred now. It counts immediately; the file has it after [`Self::write`].
        fn add(&self, owner: &OwnerId, now: Timestamp, cost: NanoUsd) {
            add(&mut self.known().new, owner, now, cost);
        }

        fn keep(&self, owner: &OwnerId, now: Timestamp, cost: NanoUsd) {
            self.add(owner, now, cost);
            self.write(now);
        }
    }

    #[test]
    fn two_servers_on_one_directory_keep_the_costs_of_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        let (one, other) = (
            UnlistedCosts::read(directory.path()),
            UnlistedCosts::read(directory.path()),
        );
        one.keep(&ada, now, NanoUsd(7));
        other.add(&ada, now, NanoUsd(1));
        assert_eq!(
            other.within_a_day(&ada, now),
            NanoUsd(1),
            "it counts before it is written"
        );
        other.write(now);
        one.write(now);
        assert_eq!(other.within_a_day(&ada, now), NanoUsd(8));
        let again = UnlistedCosts::read(directory.path());
        assert_eq!(again.within_a_day(&ada, now), NanoUsd(8));
    }

    #[test]
    fn a_cost_counts_over_a_restart_and_a_damaged_file_stops_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        UnlistedCosts::read(directory.path()).keep(&ada, now, NanoUsd(7));
        let again = UnlistedCosts::read(directory.path());
        assert_eq!(again.within_a_day(&ada, now), NanoUsd(7));
        std::fs::write(directory.path().join(FILE), "{").unwrap();
        let damaged = UnlistedCosts::read(directory.path());
        assert_eq!(damaged.within_a_day(&ada, now), NanoUsd(0));
        damaged.keep(&ada, now, NanoUsd(1));
        let mended = UnlistedCosts::read(directory.path());
        assert_eq!(mended.within_a_day(&ada, now), NanoUsd(1));
    }

    #[test]
    fn an_estimate_counts_until_its_bill_comes_or_for_good() {
        let directory = tempfile::tempdir().unwrap();
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        let costs = UnlistedCosts::read(directory.path());
        let in_file = || UnlistedCosts::read(directory.path()).within_a_day(&ada, now);
        costs.keep(&ada, now, NanoUsd(7));
        costs.keep(&ada, now, NanoUsd(10));
        assert_eq!(in_file(), NanoUsd(17), "a server that is killed now has spent it");
        costs.settle(&ada, now, NanoUsd(10), NanoUsd(4));
        assert_eq!(costs.within_a_day(&ada, now), NanoUsd(11));
        costs.write(now);
        assert_eq!(
            (costs.within_a_day(&ada, now), in_file()),
            (NanoUsd(11), NanoUsd(11))
        );
        costs.settle(&ada, now, NanoUsd(4), NanoUsd(9));
        costs.write(now);
        assert_eq!(
            (costs.within_a_day(&ada, now), in_file()),
            (NanoUsd(16), NanoUsd(16))
        );
    }

    #[test]
    fn the_cost_of_a_session_survives_a_kill_during_its_deletion_and_counts_once() {
        let directory = tempfile::tempdir().unwrap();
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        let session = SessionId::new("ses_1");
        let costs = UnlistedCosts::read(directory.path());
        let after_a_kill = || UnlistedCosts::read(directory.path());
        let sums = |costs: &UnlistedCosts| {
            let open: u64 = costs.deletions(&ada, now).values().map(|cost| cost.0).sum();
            (costs.within_a_day(&ada, now).0, open)
        };
        costs.begin_deletion(&ada, &session, now, NanoUsd(7));
        costs.write(now);
        assert_eq!((sums(&costs), sums(&after_a_kill())), ((0, 7), (0, 7)));
        let killed = after_a_kill();
        assert_eq!(killed.deletions(&ada, now)[&session], NanoUsd(7));
        assert!(killed.deletions(&OwnerId::new("own_ad"), now).is_empty());
        assert!(killed.deletions(&ada, Timestamp(now.0 + DAY_US)).is_empty());
        // The session is still there, and is deleted again.
        killed.begin_deletion(&ada, &session, now, NanoUsd(8));
        killed.write(now);
        killed.end_deletion(&ada, &session, now, true);
        assert_eq!(sums(&killed), (8, 0), "before the file has it");
        assert_eq!(sums(&after_a_kill()), (0, 8));
        killed.write(now);
        assert_eq!((sums(&killed), sums(&after_a_kill())), ((8, 0), (8, 0)));
        // This one could not be deleted.
        killed.begin_deletion(&ada, &session, now, NanoUsd(9));
        killed.write(now);
        killed.end_deletion(&ada, &session, now, false);
        killed.write(now);
        assert_eq!((sums(&killed), sums(&after_a_kill())), ((8, 0), (8, 0)));
    }

    #[test]
    fn a_cost_counts_for_a_day_and_fills_no_memory() {
        let directory = tempfile::tempdir().unwrap();
        let costs = UnlistedCosts::read(directory.path());
        let ada = OwnerId::new("own_ada");
        for minute in 0..3_000 {
            costs.keep(&ada, Timestamp(minute * 60 * 1_000_000), NanoUsd(1));
        }
        let now = Timestamp(3_000 * 60 * 1_000_000);
        let sum = costs.within_a_day(&ada, now).0;
        assert!((1_380..=1_500).contains(&sum), "{sum}");
        assert!(costs.known().in_file[&ada].len() <= 25);
        assert_eq!(costs.within_a_day(&OwnerId::new("own_bob"), now), NanoUsd(0));
        assert_eq!(costs.within_a_day(&ada, Timestamp(now.0 + DAY_US)), NanoUsd(0));
    }
}
