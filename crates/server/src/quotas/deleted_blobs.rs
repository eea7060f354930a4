//! The blobs that deleted sessions leave on the disk. The log removes a blob an hour after it was stored at the earliest,
//! because the fact that names it may be on its way. A member who deletes and writes again could otherwise fill the disk
//! in that hour, so stored and deleted bytes together may be at most twice the quota.
//!
//! Blobs are content-addressed: one that several deleted sessions named is on the disk once, and one that a session of
//! the member still names counts there.
//!
//! It is kept in memory: a restart forgets it, and nobody but the operator restarts a server.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentx_types::{BlobId, OwnerId};

/// Deletions of blobs without a name within this time count as one.
const TOGETHER: Duration = Duration::from_secs(60);
/// The time for which deletions count. An hour after each of them, the next deletion removes the blobs.
const KEPT: Duration = Duration::from_secs(3600 + 60);
/// The largest number of blobs of an owner that are known by name. Of further ones only the bytes are added up, once for
/// each deletion.
const NAMED: usize = 16 << 10;

/// Blobs with their sizes.
pub(crate) type BlobSizes = BTreeMap<BlobId, u64>;

/// The blobs of deleted sessions, by owner.
#[derive(Default)]
pub(crate) struct DeletedBlobs(Mutex<HashMap<OwnerId, OwnersDeleted>>);

/// The blobs of the deleted sessions of one owner.
#[derive(Default)]
struct OwnersDeleted {
    /// The time of the last deletion, and the size.
    named: HashMap<BlobId, (Instant, u64)>,
    /// The bytes of further ones, with the time of the first deletion that an entry counts: at most 61 entries.
    others: Vec<(Instant, u64)>,
}

impl OwnersDeleted {
    fn forget_old(&mut self, now: Instant) {
        self.named.retain(|_, (at, _)| is_recent(*at, now));
        self.others.retain(|(at, _)| is_recent(*at, now));
    }

    fn add(&mut self, blob: BlobId, bytes: u64, now: Instant) {
        if self.named.len() < NAMED || self.named.contains_key(&blob) {
            self.named.insert(blob, (now, bytes));
            return;
        }
        match self.others.last_mut() {
            Some((first, sum)) if now.duration_since(*first) < TOGETHER => *sum = sum.saturating_add(bytes),
            _ => self.others.push((now, bytes)),
        }
    }
}

impl DeletedBlobs {
    /// Adds what a session held that is deleted now.
    pub(crate) fn add(&self, owner: &OwnerId, blobs: BlobSizes, now: Instant) {
        if blobs.is_empty() {
            return;
        }
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, deleted| {
            deleted.forget_old(now);
            !deleted.named.is_empty() || !deleted.others.is_empty()
        });
        let deleted = all.entry(owner.clone()).or_default();
        for (blob, bytes) in blobs {
            deleted.add(blob, bytes, now);
        }
    }

    /// Returns the bytes of blobs of an owner's sessions that were deleted within the hour, without those that are
    /// `still` named.
    pub(crate) fn of(&self, owner: &OwnerId, still: &BlobSizes, now: Instant) -> u64 {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(deleted) = all.get(owner) else {
            return 0;
        };
        let named = deleted.named.iter();
        let named = named.filter(|(blob, _)| !still.contains_key(*blob));
        let named = named.map(|(_, counted)| counted);
        let recent = named.chain(&deleted.others).filter(|(at, _)| is_recent(*at, now));
        recent.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

fn is_recent(at: Instant, now: Instant) -> bool {
    now.duration_since(at) < KEPT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs(names: impl IntoIterator<Item = u64>, bytes: u64) -> BlobSizes {
        let name = |number| (BlobId::with_suffix(number), bytes);
        names.into_iter().map(name).collect()
    }

    #[test]
    fn what_was_deleted_counts_for_an_hour_and_fills_no_memory() {
        let deleted = DeletedBlobs::default();
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let none = BlobSizes::new();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        deleted.add(&ann, blobs([1], 7), at(0));
        let of = |owner: &OwnerId, seconds| deleted.of(owner, &none, at(seconds));
        assert_eq!((of(&ann, 3599), of(&bob, 0)), (7, 0));
        assert_eq!(of(&ann, 3660), 0);
        // More than are known by name.
        let known = NAMED as u64;
        deleted.add(&ann, blobs(0..known, 1), at(10_000));
        for number in 0..200 {
            deleted.add(&ann, blobs([known + number], 1), at(10_000 + 12 * number));
        }
        assert_eq!(of(&ann, 12_500), known + 200);
        let is_small = |owned: &OwnersDeleted| owned.named.len() == NAMED && owned.others.len() <= 61;
        assert!(deleted.0.lock().is_ok_and(|all| is_small(&all[&ann])));
        deleted.add(&bob, blobs([1], 1), at(20_000));
        assert!(deleted.0.lock().is_ok_and(|all| !all.contains_key(&ann)));
    }

    #[test]
    fn a_blob_counts_once_and_not_beside_a_session_that_names_it() {
        let deleted = DeletedBlobs::default();
        let ann = OwnerId::new("own_ann");
        let now = Instant::now();
        for _ in 0..5 {
            deleted.add(&ann, blobs([1, 2], 7), now);
        }
        assert_eq!(deleted.of(&ann, &BlobSizes::new(), now), 14);
        assert_eq!(deleted.of(&ann, &blobs([2], 7), now), 7);
    }
}
