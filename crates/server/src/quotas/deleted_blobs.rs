//! The blobs on the disk that no session names: those of deleted sessions, and those that calls at `/mcp`
//! store, which run outside of any session. The log removes a blob an hour after it was stored at the
//! earliest, because the fact that names it may be on its way. A member who deletes and writes again, or
//! calls tools, could otherwise fill the disk in that hour, so the bytes of sessions and of such blobs
//! together may be at most twice the quota. When the hour is over, the server has the log remove them.
//!
//! Blobs are content-addressed: one that several deleted sessions named is on the disk once, and one that a
//! session of the member still names counts there.
//!
//! A file beside the sessions keeps them over a restart. It has those of a session before that is deleted,
//! and one of a call before it is stored, because a kill may come in between. If the file cannot be read or
//! written, the server says so in its log and continues.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_files::{FileLock, ReplaceOptions, replace_locked};
use agentx_types::{BlobId, OwnerId, Timestamp};
use serde::{Deserialize, Serialize};

/// Deletions of blobs without a name within this time count as one: a minute.
const TOGETHER_US: i64 = 60 * 1_000_000;
/// The time for which deletions count. An hour after each of them, the next collection removes the blobs.
const KEPT_US: i64 = (3600 + 60) * 1_000_000;
/// The maximum number of blobs of an owner that are known by name. For further ones, only the bytes are added
/// up, once per deletion.
const NAMED: usize = 16 << 10;

/// The name of the file in the data directory.
const FILE: &str = "deleted-blobs.json";
/// The largest file that is read: about 40 people with as many blobs as are known by name.
const MAX_BYTES: u64 = 64 << 20;
/// The time to wait for another server on the same data directory.
const PATIENCE: Duration = Duration::from_secs(10);

/// Blobs with their sizes.
pub(crate) type BlobSizes = BTreeMap<BlobId, u64>;

/// The blobs of deleted sessions.
type DeletedByOwner = HashMap<OwnerId, OwnersDeleted>;

/// The blobs of deleted sessions, by owner.
pub(crate) struct DeletedBlobs {
    all: Mutex<DeletedByOwner>,
    file: PathBuf,
    /// Whether something does not count any more, and is to be removed.
    has_expired: AtomicBool,
    /// Held while the file is replaced, so that checks do not wait for the disk.
    writing: Mutex<()>,
}

/// The blobs of the deleted sessions of one owner.
#[derive(Clone, Default, Serialize, Deserialize)]
struct OwnersDeleted {
    /// The time of the last deletion, and the size.
    #[serde(default)]
    named: HashMap<BlobId, (Timestamp, u64)>,
    /// The bytes of further ones, with the time of the first deletion that an entry counts: at most 61
    /// entries.
    #[serde(default)]
    others: Vec<(Timestamp, u64)>,
}

impl OwnersDeleted {
    /// Forgets what no longer counts, and returns whether there was something. What a clock recorded that was
    /// ahead counts from now.
    fn forget_old(&mut self, now: Timestamp) -> bool {
        let named = self.named.values_mut().map(|(at, _)| at);
        for at in named.chain(self.others.iter_mut().map(|(at, _)| at)) {
            *at = (*at).min(now);
        }
        let before = self.named.len() + self.others.len();
        self.named.retain(|_, (at, _)| is_recent(*at, now));
        self.others.retain(|(at, _)| is_recent(*at, now));
        self.named.len() + self.others.len() < before
    }

    fn add(&mut self, blob: BlobId, bytes: u64, now: Timestamp) {
        if self.named.len() < NAMED || self.named.contains_key(&blob) {
            self.named.insert(blob, (now, bytes));
            return;
        }
        match self.others.last_mut() {
            Some((first, sum)) if now.0.saturating_sub(first.0) < TOGETHER_US => {
                *sum = sum.saturating_add(bytes);
            }
            _ => self.others.push((now, bytes)),
        }
    }

    /// Adds what another server on this directory keeps for the owner, as far as there is room.
    fn add_named(&mut self, of_other: &Self) {
        for (blob, (at, bytes)) in &of_other.named {
            if self.named.len() >= NAMED {
                return;
            }
            self.named.entry(blob.clone()).or_insert((*at, *bytes));
        }
    }
}

impl DeletedBlobs {
    /// Reads those that an earlier server kept in this directory.
    pub(crate) fn read(data_dir: &Path) -> Self {
        let file = data_dir.join(FILE);
        let all = read(&file).unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "cannot read which files of deleted sessions are on the disk");
            HashMap::new()
        });
        Self {
            all: Mutex::new(all),
            file,
            has_expired: AtomicBool::new(false),
            writing: Mutex::default(),
        }
    }

    /// Adds what a session holds that is deleted now, or a call stores next. The file has it after
    /// [`Self::write`].
    pub(crate) fn add(&self, owner: &OwnerId, blobs: BlobSizes, now: Timestamp) {
        if blobs.is_empty() {
            return;
        }
        let mut all = self.all();
        self.note_expired(forget_old(&mut all, now));
        let deleted = all.entry(owner.clone()).or_default();
        for (blob, bytes) in blobs {
            deleted.add(blob, bytes, now);
        }
    }

    /// Writes them to the file. Blocks meanwhile.
    pub(crate) fn write(&self, now: Timestamp) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.replace_file(now) {
            tracing::warn!(file = %self.file.display(), %error, "cannot keep which files of deleted sessions are on the disk");
        }
    }

    fn replace_file(&self, now: Timestamp) -> std::io::Result<()> {
        let lock = FileLock::wait(&FileLock::path_for(&self.file), PATIENCE)?;
        let busy = "another program has been writing it for ten seconds";
        let lock = lock.ok_or_else(|| std::io::Error::other(busy))?;
        let mut all = self.all().clone();
        for (owner, deleted) in read(&self.file).unwrap_or_default() {
            all.entry(owner).or_default().add_named(&deleted);
        }
        forget_old(&mut all, now);
        let text = serde_json::to_vec(&all)?;
        replace_locked(&self.file, &text, ReplaceOptions::default(), &lock)
    }

    /// Returns whether a blob of an owner counts now, by its name.
    pub(crate) fn has(&self, owner: &OwnerId, blob: &BlobId, now: Timestamp) -> bool {
        let all = self.all();
        let named = all.get(owner).and_then(|deleted| deleted.named.get(blob));
        named.is_some_and(|(at, _)| is_recent(*at, now))
    }

    /// Returns whether something has stopped counting since the last time, so that it is to be removed from
    /// the disk.
    pub(crate) fn take_expired(&self, now: Timestamp) -> bool {
        let has_expired = forget_old(&mut self.all(), now);
        self.has_expired.swap(false, Ordering::AcqRel) || has_expired
    }

    fn note_expired(&self, has_expired: bool) {
        self.has_expired.fetch_or(has_expired, Ordering::AcqRel);
    }

    /// Returns the bytes of blobs of an owner that were deleted or stored by calls within the hour, without
    /// those that are `still` named.
    pub(crate) fn of(&self, owner: &OwnerId, still: &BlobSizes, now: Timestamp) -> u64 {
        let mut all = self.all();
        let Some(deleted) = all.get_mut(owner) else {
            return 0;
        };
        self.note_expired(deleted.forget_old(now));
        let named = deleted.named.iter();
        let named = named.filter(|(blob, _)| !still.contains_key(*blob));
        let sizes = named.map(|(_, counted)| counted).chain(&deleted.others);
        sizes.fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    fn all(&self) -> MutexGuard<'_, DeletedByOwner> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets what no longer counts, and returns whether there was something.
fn forget_old(all: &mut DeletedByOwner, now: Timestamp) -> bool {
    let mut has_expired = false;
    all.retain(|_, deleted| {
        has_expired |= deleted.forget_old(now);
        !deleted.named.is_empty() || !deleted.others.is_empty()
    });
    has_expired
}

fn read(file: &Path) -> std::io::Result<DeletedByOwner> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Ok(found) if !found.is_file() || found.len() > MAX_BYTES => {
            return Err(std::io::Error::other("it is not a file of sizes, or too large"));
        }
        found => found?,
    };
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}

fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    now.0.saturating_sub(at.0) < KEPT_US
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs(names: impl IntoIterator<Item = u64>, bytes: u64) -> BlobSizes {
        let name = |number| (BlobId::with_suffix(number), bytes);
        names.into_iter().map(name).collect()
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp(i64::try_from(seconds).unwrap() * 1_000_000)
    }

    #[test]
    fn what_was_deleted_counts_for_an_hour_and_fills_no_memory() {
        let directory = tempfile::tempdir().unwrap();
        let deleted = DeletedBlobs::read(directory.path());
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let none = BlobSizes::new();
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
        assert!(is_small(&deleted.all()[&ann]));
        deleted.add(&bob, blobs([1], 1), at(20_000));
        assert!(!deleted.all().contains_key(&ann));
    }

    #[test]
    fn what_no_longer_counts_is_to_be_removed_once() {
        let directory = tempfile::tempdir().unwrap();
        let ann = OwnerId::new("own_ann");
        let deleted = DeletedBlobs::read(directory.path());
        deleted.add(&ann, blobs([1], 7), at(0));
        deleted.write(at(0));
        let name = BlobId::with_suffix(1_u64);
        assert!(deleted.has(&ann, &name, at(3_659)) && !deleted.take_expired(at(3_659)));
        assert!(!deleted.has(&ann, &name, at(3_660)));
        assert!(deleted.take_expired(at(3_660)) && !deleted.take_expired(at(3_660)));
        // Somebody else notices first.
        deleted.add(&ann, blobs([1], 7), at(4_000));
        assert_eq!(deleted.of(&ann, &BlobSizes::new(), at(8_000)), 0);
        assert!(deleted.take_expired(at(8_000)));
        let again = DeletedBlobs::read(directory.path());
        assert!(
            again.take_expired(at(8_000)),
            "no server ran when the time was over"
        );
    }

    #[test]
    fn a_blob_counts_once_and_not_beside_a_session_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let deleted = DeletedBlobs::read(directory.path());
        let ann = OwnerId::new("own_ann");
        for _ in 0..5 {
            deleted.add(&ann, blobs([1, 2], 7), at(0));
        }
        assert_eq!(deleted.of(&ann, &BlobSizes::new(), at(0)), 14);
        assert_eq!(deleted.of(&ann, &blobs([2], 7), at(0)), 7);
    }

    #[test]
    fn what_was_deleted_counts_over_a_restart_and_no_longer_than_an_hour_whatever_the_clock_said() {
        let directory = tempfile::tempdir().unwrap();
        let (ann, bob) = (OwnerId::new("own_ann"), OwnerId::new("own_bob"));
        let none = BlobSizes::new();
        let one = DeletedBlobs::read(directory.path());
        let other = DeletedBlobs::read(directory.path());
        one.add(&ann, blobs([1, 2], 7), at(10_000));
        one.write(at(10_000));
        other.add(&ann, blobs([2, 3], 7), at(10_000));
        other.add(&bob, blobs([4], 7), at(10_000));
        other.write(at(10_000));
        let again = DeletedBlobs::read(directory.path());
        let of = |owner: &OwnerId, seconds| again.of(owner, &none, at(seconds));
        assert_eq!((of(&ann, 10_000), of(&bob, 10_000)), (21, 7));
        // The clock has gone back: it counts for an hour from then.
        assert_eq!((of(&ann, 100), of(&ann, 3_700), of(&ann, 3_760)), (21, 21, 0));
        assert_eq!(of(&bob, 13_660), 0);
        std::fs::write(directory.path().join(FILE), "{").unwrap();
        let damaged = DeletedBlobs::read(directory.path());
        assert_eq!(damaged.of(&ann, &none, at(10_000)), 0);
        damaged.add(&ann, blobs([1], 7), at(10_000));
        damaged.write(at(10_000));
        let mended = DeletedBlobs::read(directory.path());
        assert_eq!(mended.of(&ann, &none, at(10_000)), 7);
    }
}
