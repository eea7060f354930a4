//! The log in memory, for tests of the layers above a log: it can be full, shows projections, and leaves the
//! state that a dying process leaves.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentx_runtime::{
    Adoption, Batch, BlobStore, BoxFuture, Digest, Fact, LogError, LogRows, NewLog, Projection, SearchHit,
    SessionInfo, SessionLog, SessionQuery, StoredSize, UsageQuery, UsageRow, VerifyReport, Writer,
};
use agentx_types::{BlobId, OwnerId, SessionId, SessionRole};

/// A session log in memory that can be made to fail. Clones refer to the same log.
#[derive(Clone, Default)]
pub struct FaultyLog {
    log: agentx_runtime::MemoryLog,
    full: Arc<AtomicBool>,
    projected: Arc<Mutex<Projected>>,
}

/// The projections of each session.
type Projected = BTreeMap<SessionId, Vec<Projection>>;

type LogFuture<'a, T> = BoxFuture<'a, Result<T, LogError>>;

impl FaultyLog {
    /// Creates an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets every append fail as on a full disk from now on, or no longer.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// Returns the log that another process finds after this one has died: the same sessions, without a
    /// writer. Later writes of the old process go to its own log, not to this one.
    #[must_use]
    pub fn crashed(&self) -> Self {
        Self {
            log: self.log.copy(),
            full: Arc::default(),
            projected: Arc::new(Mutex::new(self.projected().clone())),
        }
    }

    /// Returns all facts of a session, those of its parents first.
    pub fn facts(&self, session: &SessionId) -> Vec<Fact> {
        self.log.facts(session)
    }

    /// Returns all changes of the read models, in order.
    pub fn projections(&self, session: &SessionId) -> Vec<Projection> {
        self.projected().get(session).cloned().unwrap_or_default()
    }

    fn projected(&self) -> MutexGuard<'_, Projected> {
        self.projected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlobStore for FaultyLog {
    fn put_blob(&self, bytes: Vec<u8>) -> LogFuture<'_, BlobId> {
        self.log.put_blob(bytes)
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> LogFuture<'_, Vec<u8>> {
        self.log.get_blob(id, range)
    }

    fn blob_size(&self, id: &BlobId) -> LogFuture<'_, u64> {
        self.log.blob_size(id)
    }
}

impl SessionLog for FaultyLog {
    fn create(&self, new: NewLog) -> LogFuture<'_, ()> {
        self.log.create(new)
    }

    fn attach(&self, session: &SessionId) -> LogFuture<'_, Writer> {
        self.log.attach(session)
    }

    fn append(&self, writer: &Writer, batch: Batch) -> LogFuture<'_, ()> {
        if self.full.load(Ordering::SeqCst) {
            let full = LogError::Full {
                path: "memory".into(),
            };
            return Box::pin(std::future::ready(Err(full)));
        }
        let (session, projections) = (writer.session_id.clone(), batch.projections.clone());
        let appended = self.log.append(writer, batch);
        Box::pin(async move {
            appended.await?;
            self.projected().entry(session).or_default().extend(projections);
            Ok(())
        })
    }

    fn read(&self, session: &SessionId, after_seq: u64, limit: usize) -> LogFuture<'_, Vec<Fact>> {
        self.log.read(session, after_seq, limit)
    }

    fn digests(&self, session: &SessionId) -> LogFuture<'_, Vec<(u64, Digest)>> {
        self.log.digests(session)
    }

    fn rows(&self, session: &SessionId, after_seq: u64, most_bytes: usize) -> LogFuture<'_, LogRows> {
        self.log.rows(session, after_seq, most_bytes)
    }

    fn adopt(&self, writer: &Writer, adoption: Arc<Adoption>) -> LogFuture<'_, u64> {
        self.log.adopt(writer, adoption)
    }

    fn info(&self, session: &SessionId) -> LogFuture<'_, SessionInfo> {
        self.log.info(session)
    }

    fn list(&self, query: SessionQuery) -> LogFuture<'_, Vec<SessionInfo>> {
        self.log.list(query)
    }

    fn shared(&self, query: SessionQuery) -> LogFuture<'_, Vec<SessionInfo>> {
        self.log.shared(query)
    }

    fn access(&self, session: &SessionId, person: &OwnerId) -> LogFuture<'_, (OwnerId, Option<SessionRole>)> {
        self.log.access(session, person)
    }

    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> LogFuture<'_, Option<u64>> {
        self.log.names_blob(session, blob)
    }

    fn under_way(&self) -> LogFuture<'_, Vec<(SessionId, OwnerId)>> {
        self.log.under_way()
    }

    fn reminding(&self) -> LogFuture<'_, Vec<(SessionId, OwnerId)>> {
        self.log.reminding()
    }

    fn resolve(&self, owner: &OwnerId, prefix: &str) -> LogFuture<'_, Vec<SessionId>> {
        self.log.resolve(owner, prefix)
    }

    fn delete(&self, session: &SessionId) -> LogFuture<'_, ()> {
        self.log.delete(session)
    }

    fn verify(&self, session: &SessionId) -> LogFuture<'_, VerifyReport> {
        self.log.verify(session)
    }

    fn search(&self, owner: &OwnerId, words: &str, limit: usize) -> LogFuture<'_, Vec<SearchHit>> {
        self.log.search(owner, words, limit)
    }

    fn usage(&self, query: UsageQuery) -> LogFuture<'_, Vec<UsageRow>> {
        self.log.usage(query)
    }

    fn stored(&self, owner: &OwnerId, session: Option<&SessionId>) -> LogFuture<'_, StoredSize> {
        self.log.stored(owner, session)
    }

    fn blobs(&self, owner: &OwnerId, session: Option<&SessionId>) -> LogFuture<'_, BTreeMap<BlobId, u64>> {
        self.log.blobs(owner, session)
    }

    fn collect_garbage(&self) -> LogFuture<'_, u64> {
        self.log.collect_garbage()
    }
}
