//! A session log in memory: for programs that keep no sessions, and for tests of code that uses a log. It
//! keeps every promise of [`SessionLog`] except those of a disk: it has no stored rows, and it is dropped
//! with its last handle. Only memory bounds it.

mod named_blobs;
mod search;
mod spent;
mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_session::Digest;
use agentx_types::{BlobId, OwnerId, SessionId, SessionRole};

use crate::api::{StoredSize, UsageQuery, UsageRow};
use crate::future::BoxFuture;
use crate::log::SessionLog;
use crate::log::blob_store::{BlobStore, blob_id};
use crate::log::writing::{Batch, NewLog, Writer};
use crate::log_error::LogError;
use crate::session_lists::{SearchHit, SessionInfo, SessionQuery, VerifyReport};
use agentx_session::Fact;
use stored::StoredSession;

/// The most sessions that a prefix names.
const NAMED: usize = 10;

/// A session log in memory. Clones refer to the same log.
///
/// ```
/// use agentx_runtime::{MemoryLog, SessionLog as _};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let log = MemoryLog::new();
/// assert!(log.info(&"ses_1".into()).await.is_err());
/// # });
/// ```
#[derive(Clone, Default)]
pub struct MemoryLog {
    shared: Arc<Mutex<LogState>>,
}

/// The whole log, behind one lock.
#[derive(Clone, Default)]
struct LogState {
    /// The sessions that were not deleted.
    sessions: BTreeMap<SessionId, StoredSession>,
    /// The bytes of all sessions, each once.
    blobs: BTreeMap<BlobId, Arc<[u8]>>,
    /// Blobs of sessions that were deleted: they go with the next collection, if no other session names them.
    left_behind: BTreeSet<BlobId>,
}

/// The return type of the methods of a log.
type LogFuture<'a, T> = BoxFuture<'a, Result<T, LogError>>;

/// A future with a value that is ready.
fn ready<'a, T: Send + 'a>(value: Result<T, LogError>) -> LogFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl MemoryLog {
    /// Creates an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an independent log with the current content of this one. Its sessions have no writers, as on a
    /// disk after all writers died.
    #[must_use]
    pub fn copy(&self) -> Self {
        let mut shared = self.lock().clone();
        shared
            .sessions
            .values_mut()
            .for_each(StoredSession::forget_writer);
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// Returns all facts of a session, beginning with those that it shares with its parent. An unknown
    /// session has none.
    pub fn facts(&self, session: &SessionId) -> Vec<Fact> {
        let shared = self.lock();
        let stored = shared.sessions.get(session);
        stored.map(|stored| stored.facts_after(0)).unwrap_or_default()
    }

    /// The whole log, for one operation.
    fn lock(&self) -> MutexGuard<'_, LogState> {
        // No change is left half done by a panic: each is one insertion, or follows all checks.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with one session.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, or `then` fails.
    fn with<T>(
        &self,
        session: &SessionId,
        then: impl FnOnce(&mut StoredSession) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let mut shared = self.lock();
        let stored = shared.sessions.get_mut(session);
        then(stored.ok_or_else(|| LogError::NotFound(session.to_string()))?)
    }

    /// Sessions that `keep` accepts, those with the latest event first.
    fn latest(&self, query: &SessionQuery, keep: impl Fn(&StoredSession) -> bool) -> Vec<SessionInfo> {
        let shared = self.lock();
        let all = shared.sessions.values().filter(|stored| keep(stored));
        let mut found: Vec<SessionInfo> = all.map(StoredSession::info).collect();
        found.retain(|info| {
            let here = query.workspace.as_ref();
            here.is_none_or(|workspace| info.workspace == *workspace)
                && query.before.is_none_or(|before| info.updated_at < before)
        });
        found.sort_by(|one, other| {
            (other.updated_at, &other.session_id).cmp(&(one.updated_at, &one.session_id))
        });
        found.truncate(query.limit);
        found
    }
}

impl std::fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryLog({} sessions)", self.lock().sessions.len())
    }
}

impl BlobStore for MemoryLog {
    fn put_blob(&self, bytes: Vec<u8>) -> LogFuture<'_, BlobId> {
        let id = blob_id(&bytes);
        self.lock()
            .blobs
            .entry(id.clone())
            .or_insert_with(|| bytes.into());
        ready(Ok(id))
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> LogFuture<'_, Vec<u8>> {
        let shared = self.lock();
        let Some(bytes) = shared.blobs.get(id) else {
            return ready(Err(LogError::NoBlob(id.clone())));
        };
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (at(range.start), at(range.end));
        ready(Ok(bytes[start..end.max(start)].to_vec()))
    }

    fn blob_size(&self, id: &BlobId) -> LogFuture<'_, u64> {
        let shared = self.lock();
        let size = shared.blobs.get(id).map(|bytes| bytes.len() as u64);
        ready(size.ok_or_else(|| LogError::NoBlob(id.clone())))
    }
}

impl SessionLog for MemoryLog {
    fn create(&self, new: NewLog) -> LogFuture<'_, ()> {
        let mut shared = self.lock();
        if shared.sessions.contains_key(&new.session_id) {
            return ready(Err(LogError::Exists(new.session_id)));
        }
        let stored = match &new.parent {
            None => Ok(StoredSession::new(&new)),
            Some((parent, at_seq)) => match shared.sessions.get(parent) {
                Some(parent) => parent.fork(&new, *at_seq),
                None => Err(LogError::NotFound(parent.to_string())),
            },
        };
        let stored = stored.map(|stored| {
            shared.sessions.insert(new.session_id, stored);
        });
        ready(stored)
    }

    fn attach(&self, session: &SessionId) -> LogFuture<'_, Writer> {
        ready(self.with(session, StoredSession::attach))
    }

    fn append(&self, writer: &Writer, batch: Batch) -> LogFuture<'_, ()> {
        ready(self.with(&writer.session_id, |stored| stored.append(writer, batch)))
    }

    fn read(&self, session: &SessionId, after_seq: u64, limit: usize) -> LogFuture<'_, Vec<Fact>> {
        ready(self.with(session, |stored| Ok(stored.page(after_seq, limit))))
    }

    fn digests(&self, session: &SessionId) -> LogFuture<'_, Vec<(u64, Digest)>> {
        ready(self.with(session, |stored| Ok(stored.digests())))
    }

    fn info(&self, session: &SessionId) -> LogFuture<'_, SessionInfo> {
        ready(self.with(session, |stored| Ok(stored.info())))
    }

    fn list(&self, query: SessionQuery) -> LogFuture<'_, Vec<SessionInfo>> {
        ready(Ok(self.latest(&query, |stored| stored.owner() == &query.owner)))
    }

    fn shared(&self, query: SessionQuery) -> LogFuture<'_, Vec<SessionInfo>> {
        let theirs =
            |stored: &StoredSession| stored.owner() != &query.owner && stored.role_of(&query.owner).is_some();
        ready(Ok(self.latest(&query, theirs)))
    }

    fn access(&self, session: &SessionId, person: &OwnerId) -> LogFuture<'_, (OwnerId, Option<SessionRole>)> {
        ready(self.with(session, |stored| {
            Ok((stored.owner().clone(), stored.role_of(person)))
        }))
    }

    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> LogFuture<'_, Option<u64>> {
        ready(self.with(session, |stored| Ok(stored.names(blob))))
    }

    fn under_way(&self) -> LogFuture<'_, Vec<(SessionId, OwnerId)>> {
        let shared = self.lock();
        let runs = shared.sessions.values().filter(|stored| stored.is_under_way());
        let found = runs.map(|stored| (stored.id().clone(), stored.owner().clone()));
        ready(Ok(found.collect()))
    }

    fn reminding(&self) -> LogFuture<'_, Vec<(SessionId, OwnerId)>> {
        let shared = self.lock();
        let found = shared.sessions.values().filter(|stored| stored.has_reminder());
        let found = found.map(|stored| (stored.id().clone(), stored.owner().clone()));
        ready(Ok(found.collect()))
    }

    fn resolve(&self, owner: &OwnerId, prefix: &str) -> LogFuture<'_, Vec<SessionId>> {
        let with_kind = format!("{}{prefix}", SessionId::PREFIX);
        let shared = self.lock();
        let begins = |id: &SessionId| id.as_str().starts_with(prefix) || id.as_str().starts_with(&with_kind);
        let fits = shared
            .sessions
            .values()
            .filter(|stored| stored.owner() == owner && begins(stored.id()));
        ready(Ok(fits.map(|stored| stored.id().clone()).take(NAMED).collect()))
    }

    fn delete(&self, session: &SessionId) -> LogFuture<'_, ()> {
        let mut shared = self.lock();
        let Some(stored) = shared.sessions.get(session) else {
            return ready(Err(LogError::NotFound(session.to_string())));
        };
        if let Err(busy) = stored.check_free() {
            return ready(Err(busy));
        }
        let named = stored.all_blobs();
        shared.left_behind.extend(named);
        // Forks hold their own copy of the shared facts.
        shared.sessions.remove(session);
        ready(Ok(()))
    }

    fn verify(&self, session: &SessionId) -> LogFuture<'_, VerifyReport> {
        ready(self.with(session, |stored| Ok(stored.report())))
    }

    fn search(&self, owner: &OwnerId, words: &str, limit: usize) -> LogFuture<'_, Vec<SearchHit>> {
        let shared = self.lock();
        let theirs = shared.sessions.values().filter(|stored| stored.owner() == owner);
        ready(Ok(search::find(theirs, words, limit)))
    }

    fn usage(&self, query: UsageQuery) -> LogFuture<'_, Vec<UsageRow>> {
        let shared = self.lock();
        let theirs = shared
            .sessions
            .values()
            .filter(|stored| stored.owner() == &query.owner);
        ready(spent::add_up(theirs, &query))
    }

    fn stored(&self, owner: &OwnerId, session: Option<&SessionId>) -> LogFuture<'_, StoredSize> {
        let shared = self.lock();
        if let Some(session) = session.filter(|session| !shared.sessions.contains_key(session)) {
            return ready(Err(LogError::NotFound(session.to_string())));
        }
        let asked = shared.sessions.values().filter(|stored| match session {
            Some(session) => stored.id() == session,
            None => stored.owner() == owner,
        });
        let mut size = StoredSize::default();
        for stored in asked {
            size.facts += stored.bytes();
            let named = stored.blobs().into_iter();
            let sizes = named.filter_map(|blob| shared.blobs.get(&blob));
            for bytes in sizes {
                size.blobs += 1;
                size.blob_bytes += bytes.len() as u64;
            }
        }
        ready(Ok(size))
    }

    fn blobs(&self, owner: &OwnerId, session: Option<&SessionId>) -> LogFuture<'_, BTreeMap<BlobId, u64>> {
        let shared = self.lock();
        let asked = shared.sessions.values().filter(|stored| match session {
            Some(session) => stored.id() == session,
            None => stored.owner() == owner,
        });
        let named = asked.flat_map(StoredSession::blobs);
        let sizes = named.filter_map(|blob| {
            let bytes = shared.blobs.get(&blob)?.len() as u64;
            Some((blob, bytes))
        });
        ready(Ok(sizes.collect()))
    }

    fn collect_garbage(&self) -> LogFuture<'_, u64> {
        let mut shared = self.lock();
        let named: BTreeSet<BlobId> = shared
            .sessions
            .values()
            .flat_map(StoredSession::all_blobs)
            .collect();
        let left_behind = std::mem::take(&mut shared.left_behind);
        let mut bytes = 0;
        for blob in left_behind.difference(&named) {
            bytes += shared.blobs.remove(blob).map_or(0, |blob| blob.len() as u64);
        }
        ready(Ok(bytes))
    }
}
