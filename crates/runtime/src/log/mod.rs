//! The session log as a trait: it keeps the facts, and the read models that are updated in the same
//! transaction.

pub(crate) mod blob_store;
pub(crate) mod blobs;
pub(crate) mod folding;
pub(crate) mod log_in_memory;
pub(crate) mod redacting;
pub(crate) mod stored_rows;
pub(crate) mod titles;
pub(crate) mod writing;

use std::collections::BTreeMap;
use std::future::ready;
use std::ops::ControlFlow;
use std::sync::Arc;

use agentx_session::{Digest, Fact};
use agentx_types::{BlobId, Envelope, EnvironmentEvent, OwnerId, SessionId, SessionRole};

use crate::api::{StoredSize, UsageQuery, UsageRow};
use crate::future::BoxFuture;
use crate::log::blob_store::BlobStore;
use crate::log::redacting::{Redaction, RedactionPlan};
use crate::log::stored_rows::{Adoption, LogRows};
use crate::log::writing::{Batch, NewLog, Writer};
use crate::log_error::LogError;
use crate::session_lists::{EventsHash, SearchHit, SessionInfo, SessionQuery, VerifyReport};

/// A function that receives a borrowed fact, and returns whether to continue with the next one.
pub type TakeFact = Box<dyn FnMut(&mut Envelope<EnvironmentEvent>) -> ControlFlow<()> + Send>;

/// Maximum number of facts that a log without lending reads at once.
const SCAN_PAGE: usize = 4_096;
/// Maximum number of ids to which a prefix is resolved.
const RESOLVED: usize = 10;

/// A store of sessions. Facts are appended in batches, each batch atomically; nothing is ever rewritten in a
/// way that a reader could see.
///
/// Required methods come first: agents run, resume and are listed with them and those of [`BlobStore`]. The
/// rest have defaults, which a store with an index should override. Some defaults only report that the log
/// lacks a feature.
pub trait SessionLog: BlobStore {
    /// Makes an empty log, or one that begins with another's events up to `at_seq`: those are read under the
    /// new session's id.
    ///
    /// # Errors
    /// Returns an error if the id exists, the parent does not, or the store cannot be written.
    fn create(&self, new: NewLog) -> BoxFuture<'_, Result<(), LogError>>;

    /// Becomes the writer of a session: takes its lock and counts up its epoch. The lock is released when the
    /// writer is dropped, and when the process dies.
    ///
    /// # Errors
    /// Returns [`LogError::Busy`] if another process writes the session.
    fn attach(&self, session: &SessionId) -> BoxFuture<'_, Result<Writer, LogError>>;

    /// Appends a batch. When it returns, the batch survives the death of the process.
    ///
    /// The projections of the batch change what [`info`](Self::info) and the lists say. The first message of
    /// a person gives a session its title ([`title_from`](crate::title_from)); if it is a command
    /// ([`is_own_command`](crate::is_own_command)), the first words replace that title. A message with a
    /// known id replaces the earlier one, and spending counts once for each `seq`.
    ///
    /// # Errors
    /// Returns [`LogError::Fenced`] if a later writer exists, and [`LogError::Full`] if the disk is full.
    /// No part of the batch is kept then.
    fn append(&self, writer: &Writer, batch: Batch) -> BoxFuture<'_, Result<(), LogError>>;

    /// Returns up to `limit` facts after `after_seq`, in order: fewer if they are large. Empty at the end.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or its data cannot be read.
    fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Fact>, LogError>>;

    /// The digests of derived events, as stored with batches: `(last seq of the batch, digest)`, in order,
    /// for batches that this session itself (not a parent of it) wrote.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or cannot be read.
    fn digests(&self, session: &SessionId) -> BoxFuture<'_, Result<Vec<(u64, Digest)>, LogError>>;

    /// Returns the row of one session in lists.
    ///
    /// # Errors
    /// Returns an error if it does not exist.
    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, LogError>>;

    /// Sessions, those with the latest event first; at equal times, the greatest id first.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>>;

    /// Sessions of every owner in which a run is in progress.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn under_way(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>>;

    /// Sessions of every owner with a reminder, as the last
    /// [`Projection::Reminder`](crate::Projection::Reminder) of each says.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn reminding(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>>;

    /// Removes a session from lists. Its events are removed when nothing refers to them any more.
    ///
    /// # Errors
    /// Returns [`LogError::Busy`] if a process writes the session.
    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), LogError>>;

    // Each method from now on has a default.

    /// Lends the facts after `after_seq` up to `upto` to `take`, one after the other, until it wants no more.
    /// `take` is called on the log's reading thread, and should be quick.
    ///
    /// A log may reuse the memory of a fact for the next one. It may also lend consecutive pieces of an
    /// answer that differ only in text and time as one fact, with all their text, and the `seq` and time of
    /// the last one. A reader that only keeps a state gets the same result.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`read`](Self::read); `take` has seen the facts before the
    /// error.
    fn scan(
        &self,
        session: &SessionId,
        after_seq: u64,
        upto: u64,
        mut take: TakeFact,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        let session = session.clone();
        Box::pin(async move {
            let mut after = after_seq;
            loop {
                let page = self.read(&session, after, SCAN_PAGE).await?;
                let Some(last) = page.last() else { return Ok(()) };
                after = last.seq;
                for fact in page {
                    let mut fact = Arc::unwrap_or_clone(fact);
                    if fact.seq > upto || take(&mut fact).is_break() {
                        return Ok(());
                    }
                }
            }
        })
    }

    /// Ids of the owner's sessions that begin with `prefix`; at most 10.
    /// By default all of the owner's sessions are listed.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn resolve(&self, owner: &OwnerId, prefix: &str) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        let query = SessionQuery {
            owner: owner.clone(),
            workspace: None,
            limit: usize::MAX,
            before: None,
        };
        let prefix = prefix.to_owned();
        Box::pin(async move {
            let all = self.list(query).await?.into_iter();
            let fits = all
                .map(|info| info.session_id)
                .filter(|id| id.as_str().starts_with(&prefix));
            Ok(fits.take(RESOLVED).collect())
        })
    }

    /// The first event of a session that names a blob; `None` if none does. Text that reads like the id of a
    /// blob counts. By default all facts are read until one does.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or the store cannot be read.
    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> BoxFuture<'_, Result<Option<u64>, LogError>> {
        let (session, blob) = (session.clone(), blob.clone());
        Box::pin(async move {
            let mut after = 0;
            loop {
                let page = self.read(&session, after, SCAN_PAGE).await?;
                let Some(last) = page.last() else { return Ok(None) };
                after = last.seq;
                let id = blob.as_str().as_bytes();
                let names_it = |fact: &&Fact| {
                    fact.payload_json()
                        .windows(id.len().max(1))
                        .any(|part| part == id)
                };
                if let Some(found) = page.iter().find(names_it) {
                    return Ok(Some(found.seq));
                }
            }
        })
    }

    /// Sessions of others in which the query's owner has a role, in the same order.
    /// A log that keeps no roles has none. It needs [`access`](Self::access) too.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn shared(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>> {
        let _ = query;
        Box::pin(ready(Ok(Vec::new())))
    }

    /// The owner of a session, and the role in it of `person`, who is not its owner. A log that keeps no
    /// roles returns only the owner.
    ///
    /// # Errors
    /// Returns an error if it does not exist.
    fn access(
        &self,
        session: &SessionId,
        person: &OwnerId,
    ) -> BoxFuture<'_, Result<(OwnerId, Option<SessionRole>), LogError>> {
        let _ = person;
        let info = self.info(session);
        Box::pin(async move { Ok((info.await?.owner, None)) })
    }

    /// Full-text search over messages. A log without an index of words returns an error.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn search(
        &self,
        owner: &OwnerId,
        words: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SearchHit>, LogError>> {
        let _ = (owner, words, limit);
        Box::pin(ready(Err(LogError::unsupported("an index of words"))))
    }

    /// Returns the sum of the spending in the owner's sessions. Only a log that keeps a ledger knows it.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read, or keeps none.
    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<Vec<UsageRow>, LogError>> {
        let _ = query;
        Box::pin(ready(Err(LogError::unsupported("a ledger"))))
    }

    /// Returns the stored size of a session, or of all sessions of its owner.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read, or has no sizes.
    fn stored(
        &self,
        owner: &OwnerId,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<StoredSize, LogError>> {
        let _ = (owner, session);
        Box::pin(ready(Err(LogError::unsupported("sizes"))))
    }

    /// Returns the blobs that a session names, or all sessions of its owner, with their sizes; none if the
    /// log does not know them.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn blobs(
        &self,
        owner: &OwnerId,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<BTreeMap<BlobId, u64>, LogError>> {
        let _ = (owner, session);
        Box::pin(ready(Ok(BTreeMap::new())))
    }

    /// Rows as they are stored, beginning with the segment that holds the event after `after_seq`: whole
    /// segments of one part, until they have `most_bytes`. For a fork, those of its ancestors come first; a
    /// row that holds more than the shared events is cut. A log without rows returns an error: mirrors of its
    /// sessions keep their own rows.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, is damaged there, or this log has no rows.
    fn rows(
        &self,
        session: &SessionId,
        after_seq: u64,
        most_bytes: usize,
    ) -> BoxFuture<'_, Result<LogRows, LogError>> {
        let _ = (session, after_seq, most_bytes);
        Box::pin(ready(Err(LogError::unsupported("rows"))))
    }

    /// Replaces this log's rows by those of another log for the same facts, up to the last fact here: all of
    /// them or none. Facts that no row covers are packed again. Returns the last event whose row now comes
    /// from the other log; if nothing was replaced, because a fork that was made here depends on the present
    /// rows, that is the place where the rows begin. A log without rows returns an error.
    ///
    /// # Errors
    /// Returns an error if the rows do not follow what is here, their hashes are wrong, or they differ from
    /// the facts here; [`LogError::NoBlob`] if they need a missing blob.
    fn adopt(&self, writer: &Writer, adoption: Arc<Adoption>) -> BoxFuture<'_, Result<u64, LogError>> {
        let _ = (writer, adoption);
        Box::pin(ready(Err(LogError::unsupported("rows"))))
    }

    /// Checks every stored byte of a session: hashes, order, blobs. A log without hashes returns an error.
    ///
    /// # Errors
    /// Returns an error if the store cannot be opened; damage inside a session is in the report.
    fn verify(&self, session: &SessionId) -> BoxFuture<'_, Result<VerifyReport, LogError>> {
        let _ = session;
        Box::pin(ready(Err(LogError::unsupported("hashes to check"))))
    }

    /// Returns the hash of the events up to `seq`; `None` if the session has no such event. Earlier segments
    /// are not read: [`verify`](Self::verify) checks them. A log without hashes returns an error.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, or is damaged near that event.
    fn hash_at(&self, session: &SessionId, seq: u64) -> BoxFuture<'_, Result<Option<EventsHash>, LogError>> {
        let _ = (session, seq);
        Box::pin(ready(Err(LogError::unsupported("hashes of events"))))
    }

    /// Returns what it would replace to store these facts in place of those with the same numbers. Changes
    /// nothing. A log that cannot replace facts returns an error.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, is damaged there, or a fact has no number of its.
    fn plan_redaction(
        &self,
        session: &SessionId,
        facts: Vec<Fact>,
    ) -> BoxFuture<'_, Result<RedactionPlan, LogError>> {
        let _ = (session, facts);
        Box::pin(ready(Err(LogError::unsupported("redactions"))))
    }

    /// Replaces facts, in one step: the segments of the [plan](Self::plan_redaction), their blobs, the read
    /// models and, where it is given, the record of it. The hashes that the chain goes on from stay.
    ///
    /// # Errors
    /// Returns an error if a session has another writer, or if its events changed after the plan was made. In
    /// both cases nothing is changed.
    fn redact(&self, redaction: Redaction) -> BoxFuture<'_, Result<(), LogError>> {
        let _ = redaction;
        Box::pin(ready(Err(LogError::unsupported("redactions"))))
    }

    /// Overwrites what removed data left behind: free space in the store, words in its index, and its
    /// write-ahead log. Returns whether all of it could be overwritten; another program that reads the store
    /// may prevent that for a while.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn erase_remains(&self) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(ready(Ok(true)))
    }

    /// Checks that the store was not removed or replaced since it was opened: later writes to it would be
    /// lost.
    ///
    /// # Errors
    /// Returns an error if it is not; see [`LogError::is_lost`].
    fn check_place(&self) -> Result<(), LogError> {
        Ok(())
    }

    /// Removes data that nothing refers to any more. Returns the number of bytes of removed blobs and
    /// batches; if there were none, the bytes by which the store shrank anyway. By default there is nothing
    /// to remove.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn collect_garbage(&self) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(ready(Ok(0)))
    }
}
