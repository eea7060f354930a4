//! A log that keeps no secrets in blobs. Everything else passes unchanged to the log behind it: facts arrive
//! here without secrets.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use agentx_secrets::Redactor;
use agentx_session::{Digest, Fact};
use agentx_types::{BlobId, OwnerId, SessionId, SessionRole};

use crate::api::{StoredSize, UsageQuery, UsageRow};
use crate::future::BoxFuture;
use crate::log::blob_store::{BlobStore, blob_id};
use crate::log::redacting::{Redaction, RedactionPlan};
use crate::log::stored_rows::{Adoption, LogRows};
use crate::log::writing::{Batch, NewLog, Writer};
use crate::log::{SessionLog, TakeFact};
use crate::log_error::LogError;
use crate::session_lists::{EventsHash, SearchHit, SessionInfo, SessionQuery, VerifyReport};

/// A log that replaces the secrets in texts that are stored as blobs. Bytes that are not UTF-8 are stored
/// unchanged.
pub struct RedactingLog {
    log: Arc<dyn SessionLog>,
    redactor: Redactor,
}

impl RedactingLog {
    /// Creates a log that redacts the texts of blobs and stores everything in `log`.
    pub fn new(log: Arc<dyn SessionLog>, redactor: Redactor) -> Self {
        Self { log, redactor }
    }
}

impl BlobStore for RedactingLog {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        let redacted = std::str::from_utf8(&bytes).map(|text| self.redactor.redact(text));
        let redacted = match redacted {
            Ok(std::borrow::Cow::Owned(text)) => Some(text.into_bytes()),
            Ok(std::borrow::Cow::Borrowed(_)) | Err(_) => None,
        };
        self.log.put_blob(redacted.unwrap_or(bytes))
    }

    fn put_exact_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        // Bytes that are mostly text, such as a file in Latin-1, may have a secret too.
        let has_secret = !self.redactor.find(&String::from_utf8_lossy(&bytes)).is_empty();
        if has_secret {
            return Box::pin(std::future::ready(Ok(blob_id(&bytes))));
        }
        self.log.put_exact_blob(bytes)
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        self.log.get_blob(id, range)
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        self.log.blob_size(id)
    }
}

impl SessionLog for RedactingLog {
    fn create(&self, new: NewLog) -> BoxFuture<'_, Result<(), LogError>> {
        self.log.create(new)
    }

    fn attach(&self, session: &SessionId) -> BoxFuture<'_, Result<Writer, LogError>> {
        self.log.attach(session)
    }

    fn append(&self, writer: &Writer, batch: Batch) -> BoxFuture<'_, Result<(), LogError>> {
        self.log.append(writer, batch)
    }

    fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Fact>, LogError>> {
        self.log.read(session, after_seq, limit)
    }

    fn digests(&self, session: &SessionId) -> BoxFuture<'_, Result<Vec<(u64, Digest)>, LogError>> {
        self.log.digests(session)
    }

    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, LogError>> {
        self.log.info(session)
    }

    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>> {
        self.log.list(query)
    }

    fn under_way(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>> {
        self.log.under_way()
    }

    fn reminding(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>> {
        self.log.reminding()
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        self.log.delete(session)
    }

    fn scan(
        &self,
        session: &SessionId,
        after_seq: u64,
        upto: u64,
        take: TakeFact,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        self.log.scan(session, after_seq, upto, take)
    }

    fn resolve(&self, owner: &OwnerId, prefix: &str) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        self.log.resolve(owner, prefix)
    }

    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> BoxFuture<'_, Result<Option<u64>, LogError>> {
        self.log.names_blob(session, blob)
    }

    fn shared(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>> {
        self.log.shared(query)
    }

    fn access(
        &self,
        session: &SessionId,
        person: &OwnerId,
    ) -> BoxFuture<'_, Result<(OwnerId, Option<SessionRole>), LogError>> {
        self.log.access(session, person)
    }

    fn search(
        &self,
        owner: &OwnerId,
        words: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SearchHit>, LogError>> {
        self.log.search(owner, words, limit)
    }

    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<Vec<UsageRow>, LogError>> {
        self.log.usage(query)
    }

    fn stored(
        &self,
        owner: &OwnerId,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<StoredSize, LogError>> {
        self.log.stored(owner, session)
    }

    fn blobs(
        &self,
        owner: &OwnerId,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<BTreeMap<BlobId, u64>, LogError>> {
        self.log.blobs(owner, session)
    }

    fn rows(
        &self,
        session: &SessionId,
        after_seq: u64,
        most_bytes: usize,
    ) -> BoxFuture<'_, Result<LogRows, LogError>> {
        self.log.rows(session, after_seq, most_bytes)
    }

    fn adopt(&self, writer: &Writer, adoption: Arc<Adoption>) -> BoxFuture<'_, Result<u64, LogError>> {
        self.log.adopt(writer, adoption)
    }

    fn verify(&self, session: &SessionId) -> BoxFuture<'_, Result<VerifyReport, LogError>> {
        self.log.verify(session)
    }

    fn hash_at(&self, session: &SessionId, seq: u64) -> BoxFuture<'_, Result<Option<EventsHash>, LogError>> {
        self.log.hash_at(session, seq)
    }

    fn plan_redaction(
        &self,
        session: &SessionId,
        facts: Vec<Fact>,
    ) -> BoxFuture<'_, Result<RedactionPlan, LogError>> {
        self.log.plan_redaction(session, facts)
    }

    fn redact(&self, redaction: Redaction) -> BoxFuture<'_, Result<(), LogError>> {
        self.log.redact(redaction)
    }

    fn erase_remains(&self) -> BoxFuture<'_, Result<bool, LogError>> {
        self.log.erase_remains()
    }

    fn check_place(&self) -> Result<(), LogError> {
        self.log.check_place()
    }

    fn collect_garbage(&self) -> BoxFuture<'_, Result<u64, LogError>> {
        self.log.collect_garbage()
    }
}
