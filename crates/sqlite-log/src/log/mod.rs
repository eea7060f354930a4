//! The front of the crate: [`SqliteLog`] passes each call to the writer thread or to a reader and waits for
//! the answer.

mod blob_store;
mod erase;
mod gc;
mod lock_guard;
mod maintain;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agentx_runtime::{
    Adoption, Batch, BoxFuture, Digest, EventsHash, Fact, LogError, LogRows, NewLog, Redaction,
    RedactionPlan, SearchHit, SessionInfo, SessionLog, SessionQuery, StoredSize, TakeFact, UsageQuery,
    UsageRow, VerifyReport, Writer,
};
use agentx_types::{BlobId, OwnerId, SessionId, SessionRole};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::database::checkpoint::Checkpoints;
use crate::database::lock::{LockAttempt, Locks, SessionLock};
use crate::database::options::{Durability, LogOptions};
use crate::database::pool::Readers;
use crate::database::same_file::SameFile;
use crate::database::schema::{self, Location};
use crate::error::{DatabaseFile, Fault};
use crate::read::{events_hash, scan, spending, stored_rows, verify};
use crate::write::adopt;
use crate::write::redact;
use crate::write::sessions;
use crate::write::writer::{Append, Job, Released, WriterState, WriterThread};
use crate::{keys, models, read, search};
use lock_guard::LockGuard;

/// The session log in one SQLite database.
///
/// Dropping it waits until everything in the queue is written, then closes the database.
pub struct SqliteLog {
    place: DatabaseFile,
    same_file: SameFile,
    pub(crate) options: LogOptions,
    pub(crate) locks: Locks,
    writer: WriterThread,
    /// `None` for a database in memory: there the writer thread reads too.
    readers: Option<Readers>,
    released: Released,
}

impl SqliteLog {
    /// Opens the database at `path`; creates it, and its directory, if there is none. Session locks are files
    /// in `locks/` next to it.
    ///
    /// A database that was written by a newer version is opened for reading.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, is not a database of AgentX, or is missing or empty
    /// while its write-ahead log exists.
    pub fn open(path: impl AsRef<Path>, options: LogOptions) -> Result<Arc<Self>, LogError> {
        let path = path.as_ref();
        let directory = path.parent().unwrap_or(Path::new("")).join("locks");
        let location = Location::File(path.to_owned());
        let readers = Readers::new(location.clone(), options.clone());
        Self::assemble(
            &location,
            DatabaseFile::new(path),
            options,
            Locks::Directory(directory),
            Some(readers),
        )
    }

    /// A log that is gone when it is dropped, for tests.
    ///
    /// # Errors
    /// Returns an error if memory is short.
    pub fn open_in_memory() -> Result<Arc<Self>, LogError> {
        let place = DatabaseFile::new(Path::new(":memory:"));
        Self::assemble(
            &Location::Memory,
            place,
            LogOptions::default(),
            Locks::Memory(Arc::default()),
            None,
        )
    }

    fn assemble(
        location: &Location,
        place: DatabaseFile,
        options: LogOptions,
        locks: Locks,
        readers: Option<Readers>,
    ) -> Result<Arc<Self>, LogError> {
        let first = schema::open_first(location, &options, &place)?;
        let released = Released::default();
        let checkpoints = Checkpoints::new(location.clone(), options.clone(), first.made_tables);
        let core = WriterState::new(
            first.connection,
            place.clone(),
            first.newer,
            checkpoints,
            released.clone(),
            options.busy_timeout,
        );
        let commits_here = options.durability == Durability::Process;
        let writer = WriterThread::new(core, options.queue, commits_here);
        Ok(Arc::new(Self {
            same_file: SameFile::of(&place),
            place,
            options,
            locks,
            writer,
            readers,
            released,
        }))
    }

    /// Runs `change` on the writer thread, after all earlier work in the queue.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut WriterState) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, LogError> {
        let (reply, answer) = oneshot::channel();
        let task = Box::new(move |core: &mut WriterState| {
            // The caller may have gone away; the work stays done.
            let _ = reply.send(change(core));
        });
        self.writer
            .send(Job::Task(task))
            .await
            .map_err(|fault| self.place.error(fault))?;
        self.answer(answer.await)
    }

    /// Runs `read` on a reader, in one snapshot of the database.
    pub(crate) async fn read_with<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, LogError> {
        let Some(readers) = &self.readers else {
            return self.change(move |core| in_snapshot(&core.connection, read)).await;
        };
        let (reply, answer) = oneshot::channel();
        let reading = Box::new(move |connection: Result<&Connection, Fault>| {
            let _ = reply.send(connection.and_then(|connection| in_snapshot(connection, read)));
        });
        readers
            .send(reading)
            .await
            .map_err(|fault| self.place.error(fault))?;
        self.answer(answer.await)
    }

    fn answer<T>(&self, answer: Result<Result<T, Fault>, oneshot::error::RecvError>) -> Result<T, LogError> {
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(fault)) => Err(self.place.error(fault)),
            Err(_) => Err(self.place.log_error("the session log is closed")),
        }
    }

    async fn lock(&self, session: &SessionId) -> Result<SessionLock, LogError> {
        let (locks, of) = (self.locks.clone(), session.clone());
        match self.read_with(move |_| locks.take(&of)).await? {
            LockAttempt::Held(lock) => Ok(lock),
            LockAttempt::Busy(process, server) => Err(LogError::Busy {
                session: session.clone(),
                process,
                server,
            }),
        }
    }
}

fn in_snapshot<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let transaction = connection.unchecked_transaction()?;
    let answer = read(&transaction)?;
    transaction.commit()?;
    Ok(answer)
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        if let Some(readers) = &self.readers {
            readers.close();
        }
        self.writer.close();
    }
}

impl SessionLog for SqliteLog {
    fn check_place(&self) -> Result<(), LogError> {
        self.same_file.check(&self.place)
    }

    fn create(&self, new: NewLog) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.change(move |core| core.transaction(|connection| sessions::create(connection, &new))))
    }

    fn attach(&self, session: &SessionId) -> BoxFuture<'_, Result<Writer, LogError>> {
        let session_id = session.clone();
        Box::pin(async move {
            let lock = self.lock(&session_id).await?;
            let of = session_id.clone();
            let (epoch, last_seq) = self.change(move |core| sessions::take_over(core, &of)).await?;
            let (session, released) = (session_id.clone(), self.released.clone());
            let guard = LockGuard::new(lock, session, epoch, released);
            Ok(Writer::new(session_id, epoch, last_seq, guard))
        })
    }

    fn append(&self, writer: &Writer, batch: Batch) -> BoxFuture<'_, Result<(), LogError>> {
        let append = Append {
            session: writer.session_id.clone(),
            epoch: writer.epoch,
            batch,
        };
        Box::pin(async move {
            let answer = self.writer.append(append).await;
            answer.unwrap_or_else(|fault| Err(self.place.error(fault)))
        })
    }

    fn read(
        &self,
        session: &SessionId,
        after_seq: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Fact>, LogError>> {
        let session = session.clone();
        let most = (limit, read::PAGE_BYTES);
        Box::pin(self.read_with(move |connection| read::page(connection, &session, after_seq, most)))
    }

    fn scan(
        &self,
        session: &SessionId,
        after_seq: u64,
        upto: u64,
        mut take: TakeFact,
    ) -> BoxFuture<'_, Result<(), LogError>> {
        let session = session.clone();
        Box::pin(
            self.read_with(move |connection| scan::scan(connection, &session, after_seq, upto, &mut take)),
        )
    }

    fn digests(&self, session: &SessionId) -> BoxFuture<'_, Result<Vec<(u64, Digest)>, LogError>> {
        let session = session.clone();
        Box::pin(self.read_with(move |connection| sessions::digests(connection, &session)))
    }

    fn rows(
        &self,
        session: &SessionId,
        after_seq: u64,
        most_bytes: usize,
    ) -> BoxFuture<'_, Result<LogRows, LogError>> {
        let session = session.clone();
        Box::pin(
            self.read_with(move |connection| stored_rows::rows(connection, &session, after_seq, most_bytes)),
        )
    }

    fn adopt(&self, writer: &Writer, adoption: Arc<Adoption>) -> BoxFuture<'_, Result<u64, LogError>> {
        let (session, epoch) = (writer.session_id.clone(), writer.epoch);
        Box::pin(self.change(move |core| adopt::adopt(core, &session, epoch, &adoption)))
    }

    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, LogError>> {
        let (session, locks) = (session.clone(), self.locks.clone());
        Box::pin(self.read_with(move |connection| sessions::info(connection, &locks, &session)))
    }

    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>> {
        let locks = self.locks.clone();
        Box::pin(self.read_with(move |connection| sessions::list(connection, &locks, &query)))
    }

    fn shared(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, LogError>> {
        let locks = self.locks.clone();
        Box::pin(self.read_with(move |connection| sessions::shared(connection, &locks, &query)))
    }

    fn access(
        &self,
        session: &SessionId,
        person: &OwnerId,
    ) -> BoxFuture<'_, Result<(OwnerId, Option<SessionRole>), LogError>> {
        let (session, person) = (session.clone(), person.clone());
        Box::pin(self.read_with(move |connection| sessions::access(connection, &session, &person)))
    }

    fn names_blob(&self, session: &SessionId, blob: &BlobId) -> BoxFuture<'_, Result<Option<u64>, LogError>> {
        let (session, blob) = (session.clone(), blob.clone());
        Box::pin(self.read_with(move |connection| sessions::names_blob(connection, &session, &blob)))
    }

    fn under_way(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>> {
        Box::pin(self.read_with(sessions::under_way))
    }

    fn reminding(&self) -> BoxFuture<'_, Result<Vec<(SessionId, OwnerId)>, LogError>> {
        Box::pin(self.read_with(models::reminders::reminding))
    }

    fn resolve(&self, owner: &OwnerId, prefix: &str) -> BoxFuture<'_, Result<Vec<SessionId>, LogError>> {
        let (owner, prefix) = (owner.clone(), prefix.to_owned());
        Box::pin(self.read_with(move |connection| sessions::resolve(connection, &owner, &prefix)))
    }

    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), LogError>> {
        let session = session.clone();
        Box::pin(async move {
            let _lock = self.lock(&session).await?;
            self.change(move |core| sessions::delete(core, &session)).await
        })
    }

    fn verify(&self, session: &SessionId) -> BoxFuture<'_, Result<VerifyReport, LogError>> {
        let session = session.clone();
        Box::pin(self.read_with(move |connection| verify::verify(connection, &session)))
    }

    fn hash_at(&self, session: &SessionId, seq: u64) -> BoxFuture<'_, Result<Option<EventsHash>, LogError>> {
        let session = session.clone();
        Box::pin(self.read_with(move |connection| events_hash::hash_at(connection, &session, seq)))
    }

    fn search(
        &self,
        owner: &OwnerId,
        words: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<SearchHit>, LogError>> {
        let (owner, words) = (owner.clone(), words.to_owned());
        Box::pin(async move {
            // The words of runs in progress wait in the writer; a search in this process finds them too.
            if self.writer.has_begun() {
                self.change(|core| {
                    core.index_waiting();
                    Ok(())
                })
                .await?;
            }
            self.read_with(move |connection| search::search(connection, &owner, &words, limit))
                .await
        })
    }

    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<Vec<UsageRow>, LogError>> {
        Box::pin(self.read_with(move |connection| spending::usage(connection, &query)))
    }

    fn stored(
        &self,
        owner: &OwnerId,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<StoredSize, LogError>> {
        let (owner, session) = (owner.clone(), session.cloned());
        Box::pin(self.read_with(move |connection| spending::stored(connection, &owner, session.as_ref())))
    }

    fn blobs(
        &self,
        owner: &OwnerId,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<BTreeMap<BlobId, u64>, LogError>> {
        let (owner, session) = (owner.clone(), session.cloned());
        Box::pin(self.read_with(move |connection| spending::blobs(connection, &owner, session.as_ref())))
    }

    fn plan_redaction(
        &self,
        session: &SessionId,
        facts: Vec<Fact>,
    ) -> BoxFuture<'_, Result<RedactionPlan, LogError>> {
        let session = session.clone();
        Box::pin(self.read_with(move |connection| redact::plan(connection, &session, &facts)))
    }

    fn redact(&self, redaction: Redaction) -> BoxFuture<'_, Result<(), LogError>> {
        Box::pin(self.change(move |core| redact::redact(core, &redaction)))
    }

    fn erase_remains(&self) -> BoxFuture<'_, Result<bool, LogError>> {
        Box::pin(self.erase_all())
    }

    fn collect_garbage(&self) -> BoxFuture<'_, Result<u64, LogError>> {
        Box::pin(self.collect_garbage_at(keys::now()))
    }
}
