//! The session log as a trait: where facts are kept, and the read models that are updated in the same transaction.

use std::ops::ControlFlow;
use std::sync::Arc;

use agentx_session::{Digest, Projection};
use agentx_types::{
    BlobId, Envelope, EnvironmentEvent, NanoUsd, OwnerId, Role, RunStatus, SessionId, SessionRole, Timestamp,
    Usage,
};
use serde::{Deserialize, Serialize};

use crate::{Adoption, BlobStore, BoxFuture, LogError, LogRows, StoredSize, UsageQuery, UsageRow};

/// A committed fact.
pub type Fact = Arc<Envelope<EnvironmentEvent>>;

/// Takes a fact that is lent to it, and says whether it wants the next one.
pub type TakeFact = Box<dyn FnMut(&mut Envelope<EnvironmentEvent>) -> ControlFlow<()> + Send>;

/// How many facts a log that cannot lend them reads at once.
const SCAN_PAGE: usize = 4_096;

/// Where sessions are kept. Facts are appended in batches, each batch whole or not at all; nothing is ever rewritten
/// in a way that a reader could see.
pub trait SessionLog: BlobStore {
    /// Makes an empty log, or one that begins with another's events up to `at_seq`.
    ///
    /// # Errors
    /// Where the id exists, the parent does not, or the store cannot be written.
    fn create(&self, new: NewLog) -> BoxFuture<'_, Result<(), LogError>>;

    /// Becomes the writer of a session: takes its lock and counts up its epoch. The lock is given back when the
    /// writer is dropped, also by the death of the process.
    ///
    /// # Errors
    /// [`LogError::Busy`] where another process writes it.
    fn attach(&self, session: &SessionId) -> BoxFuture<'_, Result<Writer, LogError>>;

    /// Appends a batch. When it returns, the batch survives the death of the process.
    ///
    /// # Errors
    /// [`LogError::Fenced`] where a later writer exists, [`LogError::Full`] where the disk is full: then nothing of the
    /// batch is kept.
    fn append(&self, writer: &Writer, batch: Batch) -> BoxFuture<'_, Result<(), LogError>>;

    /// Up to `limit` facts after `after_seq`, in order: fewer where they are large. Empty at the end.
    ///
    /// # Errors
    /// Where the session does not exist or what is stored cannot be read.
    fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Fact>, LogError>>;

    /// Lends the facts after `after_seq` up to `upto` to `take`, one after the other, for as long as it wants more. It is called
    /// where the log reads, and should be quick. A log may use the memory of a fact again for the next one; and it may lend pieces
    /// of an answer that follow one another, and differ in text and time alone, as one: with all their text, and the `seq` and time
    /// of the last of them. Whoever keeps nothing but a state cannot tell the difference.
    ///
    /// # Errors
    /// As [`read`](Self::read); `take` has seen what came before.
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

    /// The digest of what was derived, as stored with batches: `(last seq of the batch, digest)`, in order, for batches that
    /// this session itself (not a parent of it) wrote.
    ///
    /// # Errors
    /// Where the session does not exist or cannot be read.
    fn digests(&self, session: &SessionId) -> BoxFuture<'_, Result<Vec<(u64, Digest)>, LogError>>;

    /// Rows as they are stored, from the segment on that holds the event after `after_seq`: whole segments of one part, until
    /// they have `most_bytes`. For a fork, those of its ancestors come first; a row that holds more than is shared is cut.
    ///
    /// # Errors
    /// Where the session does not exist, is damaged there, or this log has no rows.
    fn rows(
        &self,
        session: &SessionId,
        after_seq: u64,
        most_bytes: usize,
    ) -> BoxFuture<'_, Result<LogRows, LogError>>;

    /// Replaces one's own rows by those of another log for the same facts, as far as the facts here go: all of it or
    /// nothing. Facts that no row reaches are laid out anew. Returns the last event whose row is the other's from then on; that
    /// is where the rows begin where nothing was done, since a fork that was made here depends on the rows that are here.
    ///
    /// # Errors
    /// Where the rows do not follow what is here, their hashes are wrong, or they say something else than the facts
    /// that are here; [`LogError::NoBlob`] where they need a blob that is not here.
    fn adopt(&self, writer: &Writer, adoption: Arc<Adoption>) -> BoxFuture<'_, Result<u64, LogError>>;

    /// What lists show of one session.
    ///
    /// # Errors
    /// Where it does not exist.
    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, LogError>>;

    /// Sessions, those with the latest event first; of those that changed together, the greatest id first.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>>;

    /// Sessions of others in which the query's owner has a role, in the same order.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn shared(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>>;

    /// Whose a session is, and what `person` may do in it who is not its owner.
    ///
    /// # Errors
    /// Where it does not exist.
    fn access(
        &self,
        session: &SessionId,
        person: &OwnerId,
    ) -> BoxFuture<'_, Result<(OwnerId, Option<SessionRole>), LogError>>;

    /// The first event of a session that names a blob; `None` where none does. Text that reads like the id of a blob counts.
    ///
    /// # Errors
    /// Where the session does not exist or the store cannot be read.
    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> BoxFuture<'_, Result<Option<u64>, LogError>>;

    /// Sessions of every owner in which a run is under way.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn under_way(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>>;

    /// Ids of the owner's sessions that begin with `prefix`; at most 10.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn resolve(&self, owner: &OwnerId, prefix: &str) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>>;

    /// Removes a session from lists. Its events go when nothing refers to them any more.
    ///
    /// # Errors
    /// [`LogError::Busy`] where a process writes it.
    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), LogError>>;

    /// Checks every stored byte of a session: hashes, order, blobs.
    ///
    /// # Errors
    /// Where the store cannot be opened at all; what is broken inside a session is in the report.
    fn verify(&self, session: &SessionId) -> BoxFuture<'_, Result<VerifyReport, LogError>>;

    /// Full-text search over messages.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn search(
        &self,
        owner: &OwnerId,
        words: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SearchHit>, LogError>>;

    /// What was spent in the owner's sessions, added up. Only a log that keeps a ledger can tell.
    ///
    /// # Errors
    /// Where the store cannot be read, or keeps none.
    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<Vec<UsageRow>, LogError>> {
        let _ = query;
        Box::pin(std::future::ready(Err(LogError::without("a ledger"))))
    }

    /// What is stored of a session, or of all of its owner's.
    ///
    /// # Errors
    /// Where the store cannot be read, or has no sizes.
    fn stored(
        &self,
        owner: &OwnerId,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<StoredSize, LogError>> {
        let _ = (owner, session);
        Box::pin(std::future::ready(Err(LogError::without("sizes"))))
    }

    /// Removes what nothing refers to any more. Returns the number of bytes of removed blobs and batches; where there were none, by
    /// how much the store became smaller all the same.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn collect_garbage(&self) -> BoxFuture<'_, Result<u64, LogError>>;
}

/// What a log begins with.
#[derive(Clone, Debug)]
pub struct NewLog {
    /// Its id.
    pub session_id: SessionId,
    /// Whose it is.
    pub owner: OwnerId,
    /// When.
    pub at: Timestamp,
    /// The directory that its agent works in.
    pub workspace: String,
    /// For a fork: which session, and the last event that both have.
    pub parent: Option<(SessionId, u64)>,
}

/// The right to append to one session, until it is dropped.
pub struct Writer {
    /// Which session.
    pub session_id: SessionId,
    /// Counts the writers of this session, from 1.
    pub epoch: u64,
    /// The `seq` of its last event; 0 where there is none.
    pub last_seq: u64,
    /// Gives the lock back when dropped.
    pub guard: Box<dyn Send + Sync>,
}

/// What is committed together.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The facts, with dense `seq`.
    pub facts: Vec<Fact>,
    /// The digest of all that was derived in this session up to and including this batch.
    pub derived: Digest,
    /// Changes of the read models that follow from these facts.
    pub projections: Vec<Projection>,
}

/// What lists show of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionInfo {
    /// Its id.
    pub session_id: SessionId,
    /// Whose it is.
    pub owner: OwnerId,
    /// What people see in lists; empty until something was said.
    pub title: String,
    /// The directory that its agent works in.
    pub workspace: String,
    /// The model that is asked.
    pub model: String,
    /// Where its last run stands; `None` before the first.
    pub status: Option<RunStatus>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its last event was committed.
    pub updated_at: Timestamp,
    /// The `seq` of its last event.
    pub last_seq: u64,
    /// How many messages its conversations have.
    pub messages: u64,
    /// Tokens of all its model calls.
    pub usage: Usage,
    /// Money of all its model calls.
    pub cost: NanoUsd,
    /// For a fork: which session, and the last event that both have.
    pub parent: Option<(SessionId, u64)>,
    /// The process that writes it now.
    pub writer: Option<WriterInfo>,
}

/// The process that writes a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriterInfo {
    /// Its process id.
    pub process: u32,
    /// Counts the writers of this session.
    pub epoch: u64,
}

/// Which sessions to list.
#[derive(Clone, Debug)]
pub struct SessionQuery {
    /// Whose.
    pub owner: OwnerId,
    /// Only those of this directory.
    pub workspace: Option<String>,
    /// At most so many.
    pub limit: usize,
    /// Only those whose last event is older than this.
    pub before: Option<Timestamp>,
}

/// A place where searched words were found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchHit {
    /// In which session.
    pub session_id: SessionId,
    /// At which event.
    pub seq: u64,
    /// Who spoke.
    pub role: Role,
    /// The words around it.
    pub snippet: String,
}

/// What a check of a session found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyReport {
    /// Which session.
    pub session_id: SessionId,
    /// How many events are good, from the first on.
    pub good_events: u64,
    /// The `seq` of the last event that is stored.
    pub last_seq: u64,
    /// The hash at the end, in hexadecimal.
    pub head: String,
    /// What is wrong, in words; empty where all is well.
    pub problems: Vec<String>,
}
