//! The bytes of blobs that deleted sessions leave on the disk. The log removes a blob an hour after it was stored at
//! the earliest, because the fact that names it may be on its way. A member who deletes and writes again could
//! otherwise fill the disk in that hour; so what is stored and what was deleted may be twice the quota together.
//!
//! It is kept in memory: a restart forgets it, and nobody but the operator restarts a server.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentx_runtime::{Runtime as _, RuntimeError};
use agentx_types::{OwnerId, SessionId};

use crate::state::ServerState;

/// Deletions within this time count as one.
const TOGETHER: Duration = Duration::from_secs(60);
/// The time for which they count. An hour after each of them, the next deletion removes the blobs.
const KEPT: Duration = Duration::from_secs(3600 + 60);

/// The bytes of blobs of deleted sessions, by owner, with the time of the first deletion that an entry counts: at most
/// 61 entries each.
#[derive(Default)]
pub(crate) struct DeletedBlobs(Mutex<HashMap<OwnerId, Vec<(Instant, u64)>>>);

impl DeletedBlobs {
    /// Adds what a session held that is deleted now.
    fn add(&self, owner: &OwnerId, bytes: u64, now: Instant) {
        if bytes == 0 {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, deleted| {
            deleted.retain(|(at, _)| now.duration_since(*at) < KEPT);
            !deleted.is_empty()
        });
        let deleted = all.entry(owner.clone()).or_default();
        match deleted.last_mut() {
            Some((first, sum)) if now.duration_since(*first) < TOGETHER => *sum = sum.saturating_add(bytes),
            _ => deleted.push((now, bytes)),
        }
    }

    /// Returns what sessions of an owner held that were deleted within the hour.
    fn of(&self, owner: &OwnerId, now: Instant) -> u64 {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let deleted = all.get(owner).into_iter().flatten();
        let recent = deleted.filter(|(at, _)| now.duration_since(*at) < KEPT);
        recent.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

impl ServerState {
    /// Returns the bytes of the blobs of a session, before it is deleted.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub(crate) async fn blob_bytes_before_deletion(
        &self,
        owner: &OwnerId,
        session: &SessionId,
    ) -> Result<u64, RuntimeError> {
        if self.quotas().bytes.is_none() || owner == self.operator() {
            return Ok(0);
        }
        let stored = self.runtime_of(owner).stored(Some(session)).await?;
        Ok(stored.map_or(0, |stored| stored.blob_bytes))
    }

    /// Counts what a session held that was deleted now.
    pub(crate) fn count_deleted_blobs(&self, owner: &OwnerId, bytes: u64) {
        self.kept.deleted.add(owner, bytes, Instant::now());
    }

    /// Returns the bytes of blobs of an owner's deleted sessions that may still be on the disk.
    pub(crate) fn deleted_blobs_of(&self, owner: &OwnerId) -> u64 {
        self.kept.deleted.of(owner, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_deleted_counts_for_an_hour_and_fills_no_memory() {
        let deleted = DeletedBlobs::default();
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        deleted.add(&ann, 7, at(0));
        assert_eq!((deleted.of(&ann, at(3599)), deleted.of(&bob, at(0))), (7, 0));
        assert_eq!(deleted.of(&ann, at(3660)), 0);
        for seconds in 0..10_000 {
            deleted.add(&ann, 1, at(seconds));
        }
        let sum = deleted.of(&ann, at(10_000));
        assert!((3_540..=3_720).contains(&sum), "{sum}");
        assert!(deleted.0.lock().is_ok_and(|all| all[&ann].len() <= 61));
        deleted.add(&bob, 1, at(20_000));
        assert!(deleted.0.lock().is_ok_and(|all| !all.contains_key(&ann)));
    }
}
