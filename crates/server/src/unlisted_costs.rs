//! The spending of people that no session lists: the cost of deleted sessions, and of calls at `/mcp`. It
//! counts for a member's quota for a day: they could otherwise spend without end by deleting sessions.
//!
//! A file beside the sessions keeps it over a restart. If the file cannot be read or written, the server says so in
//! its log and continues: the sums then count until it ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use agentx_files::{ReplaceOptions, replace};
use agentx_types::{NanoUsd, OwnerId, Timestamp};

/// The period whose deletions are counted together.
const HOUR_US: i64 = 60 * 60 * 1_000_000;
/// The period for which costs are added up.
pub(crate) const DAY_US: i64 = 24 * HOUR_US;

/// The name of the file in the data directory.
const FILE: &str = "unlisted-costs.json";
/// The largest file that is read: about 10,000 people.
const MAX_BYTES: u64 = 16 << 20;

/// Costs by owner, with the time of the first one that an entry counts: at most 25 entries each.
type CostsByOwner = HashMap<OwnerId, Vec<(Timestamp, NanoUsd)>>;

/// The costs of the last day that no session lists.
pub(crate) struct UnlistedCosts {
    costs: Mutex<CostsByOwner>,
    file: PathBuf,
    /// Held while the file is replaced, so that readers of the sums do not wait for the disk.
    writing: Mutex<()>,
}

impl UnlistedCosts {
    /// Reads those that an earlier server kept in this directory.
    pub(crate) fn read(data_dir: &Path) -> Self {
        let file = data_dir.join(FILE);
        let costs = read(&file).unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "cannot read what was spent outside of sessions");
            HashMap::new()
        });
        Self {
            costs: Mutex::new(costs),
            file,
            writing: Mutex::default(),
        }
    }

    /// Adds a cost incurred now: that of a deleted session, or of a call outside of sessions. Blocks while
    /// the file is written.
    pub(crate) fn add(&self, owner: &OwnerId, now: Timestamp, cost: NanoUsd) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.added(owner, now, cost);
        if let Err(error) = self.write(&all) {
            tracing::warn!(file = %self.file.display(), %error, "cannot keep what was spent outside of sessions");
        }
    }

    fn write(&self, costs: &CostsByOwner) -> std::io::Result<()> {
        replace(&self.file, &serde_json::to_vec(costs)?, ReplaceOptions::default())
    }

    /// Adds a cost, and forgets those older than a day. Returns all costs.
    fn added(&self, owner: &OwnerId, now: Timestamp, cost: NanoUsd) -> CostsByOwner {
        let mut all = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, costs| {
            costs.retain(|(at, _)| is_recent(*at, now));
            !costs.is_empty()
        });
        let costs = all.entry(owner.clone()).or_default();
        match costs.last_mut() {
            Some((at, sum)) if now.0 - at.0 < HOUR_US => *sum += cost,
            _ => costs.push((now, cost)),
        }
        all.clone()
    }

    /// Returns what an owner spent within a day.
    pub(crate) fn within_a_day(&self, owner: &OwnerId, now: Timestamp) -> NanoUsd {
        let all = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = NanoUsd::default();
        for (at, cost) in all.get(owner).into_iter().flatten() {
            if is_recent(*at, now) {
                sum += *cost;
            }
        }
        sum
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

    #[test]
    fn a_cost_counts_over_a_restart_and_a_damaged_file_stops_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        UnlistedCosts::read(directory.path()).add(&ada, now, NanoUsd(7));
        let again = UnlistedCosts::read(directory.path());
        assert_eq!(again.within_a_day(&ada, now), NanoUsd(7));
        std::fs::write(directory.path().join(FILE), "{").unwrap();
        let damaged = UnlistedCosts::read(directory.path());
        assert_eq!(damaged.within_a_day(&ada, now), NanoUsd(0));
        damaged.add(&ada, now, NanoUsd(1));
        let mended = UnlistedCosts::read(directory.path());
        assert_eq!(mended.within_a_day(&ada, now), NanoUsd(1));
    }

    #[test]
    fn a_cost_counts_for_a_day_and_fills_no_memory() {
        let directory = tempfile::tempdir().unwrap();
        let costs = UnlistedCosts::read(directory.path());
        let ada = OwnerId::new("own_ada");
        for minute in 0..3_000 {
            costs.add(&ada, Timestamp(minute * 60 * 1_000_000), NanoUsd(1));
        }
        let now = Timestamp(3_000 * 60 * 1_000_000);
        let sum = costs.within_a_day(&ada, now).0;
        assert!((1_380..=1_500).contains(&sum), "{sum}");
        assert!(costs.costs.lock().unwrap()[&ada].len() <= 25);
        assert_eq!(costs.within_a_day(&OwnerId::new("own_bob"), now), NanoUsd(0));
        assert_eq!(costs.within_a_day(&ada, Timestamp(now.0 + DAY_US)), NanoUsd(0));
    }
}
