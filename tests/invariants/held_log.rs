//! A log whose commits can be held: a batch blocks until the test releases it.

use std::ops::Range;
use std::sync::Arc;

use agentx_runtime::{
    Adoption, Batch, BlobStore, BoxFuture, Digest, Fact, LogError, LogRows, NewLog, SearchHit, SessionInfo,
    SessionLog, SessionQuery, VerifyReport, Writer,
};
use agentx_testing::FaultyLog;
use agentx_types::{BlobId, OwnerId, SessionId, SessionRole};
use tokio::sync::watch;

/// A log in memory behind a door.
#[derive(Clone)]
pub(crate) struct HeldLog {
    inner: FaultyLog,
    held: watch::Sender<bool>,
    waiting: watch::Sender<bool>,
}

impl HeldLog {
    pub(crate) fn new(inner: FaultyLog) -> Self {
        Self {
            inner,
            held: watch::Sender::new(false),
            waiting: watch::Sender::new(false),
        }
    }

    /// The log behind the door.
    pub(crate) fn inner(&self) -> &FaultyLog {
        &self.inner
    }

    /// From here on, appends wait.
    pub(crate) fn hold(&self) {
        self.held.send_replace(true);
    }

    /// Lets in what waits, and what comes.
    pub(crate) fn release(&self) {
        self.held.send_replace(false);
    }

    /// Waits until an append stands at the door.
    pub(crate) async fn wait_for_append(&self) {
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting).await;
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, LogError>>;

impl SessionLog for HeldLog {
    fn append(&self, writer: &Writer, batch: Batch) -> Answer<'_, ()> {
        // The log in memory writes when it is called, so it is called when the door opens.
        let writer = Writer::new(writer.session_id.clone(), writer.epoch, writer.last_seq, ());
        Box::pin(async move {
            if *self.held.borrow() {
                self.waiting.send_replace(true);
            }
            let _ = self.held.subscribe().wait_for(|held| !*held).await;
            self.inner.append(&writer, batch).await
        })
    }

    fn create(&self, new: NewLog) -> Answer<'_, ()> {
        self.inner.create(new)
    }

    fn attach(&self, session: &SessionId) -> Answer<'_, Writer> {
        self.inner.attach(session)
    }

    fn read(&self, session: &SessionId, after_seq: u64, limit: usize) -> Answer<'_, Vec<Fact>> {
        self.inner.read(session, after_seq, limit)
    }

    fn digests(&self, session: &SessionId) -> Answer<'_, Vec<(u64, Digest)>> {
        self.inner.digests(session)
    }

    fn rows(&self, session: &SessionId, after_seq: u64, most_bytes: usize) -> Answer<'_, LogRows> {
        self.inner.rows(session, after_seq, most_bytes)
    }

    fn adopt(&self, writer: &Writer, adoption: Arc<Adoption>) -> Answer<'_, u64> {
        self.inner.adopt(writer, adoption)
    }

    fn info(&self, session: &SessionId) -> Answer<'_, SessionInfo> {
        self.inner.info(session)
    }

    fn list(&self, query: SessionQuery) -> Answer<'_, Vec<SessionInfo>> {
        self.inner.list(query)
    }

    fn shared(&self, query: SessionQuery) -> Answer<'_, Vec<SessionInfo>> {
        self.inner.shared(query)
    }

    fn access(&self, session: &SessionId, person: &OwnerId) -> Answer<'_, (OwnerId, Option<SessionRole>)> {
        self.inner.access(session, person)
    }

    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> Answer<'_, Option<u64>> {
        self.inner.names_blob(session, blob)
    }

    fn under_way(&self) -> Answer<'_, Vec<(SessionId, OwnerId)>> {
        self.inner.under_way()
    }

    fn reminding(&self) -> Answer<'_, Vec<(SessionId, OwnerId)>> {
        self.inner.reminding()
    }

    fn resolve(&self, owner: &OwnerId, prefix: &str) -> Answer<'_, Vec<SessionId>> {
        self.inner.resolve(owner, prefix)
    }

    fn delete(&self, session: &SessionId) -> Answer<'_, ()> {
        self.inner.delete(session)
    }

    fn verify(&self, session: &SessionId) -> Answer<'_, VerifyReport> {
        self.inner.verify(session)
    }

    fn search(&self, owner: &OwnerId, words: &str, limit: usize) -> Answer<'_, Vec<SearchHit>> {
        self.inner.search(owner, words, limit)
    }

    fn collect_garbage(&self) -> Answer<'_, u64> {
        self.inner.collect_garbage()
    }
}

impl BlobStore for HeldLog {
    fn put_blob(&self, bytes: Vec<u8>) -> Answer<'_, BlobId> {
        self.inner.put_blob(bytes)
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> Answer<'_, Vec<u8>> {
        self.inner.get_blob(id, range)
    }

    fn blob_size(&self, id: &BlobId) -> Answer<'_, u64> {
        self.inner.blob_size(id)
    }
}
