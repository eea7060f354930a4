//! Writes through one connection, one caller at a time. If the connection is free, the caller itself commits
//! a small append, because handing it to a thread and back takes about as long as the commit. Everything else
//! goes through one bounded queue to the writing thread, which commits appends of all sessions in groups.
//!
//! Appends that arrive during a commit wait and go into the next transaction. Each append has its own answer:
//! a refused one does not affect the others, and if SQLite itself fails, each is tried again separately.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use agentx_runtime::{Batch, LogError};
use agentx_types::SessionId;
use rusqlite::Connection;
use rusqlite::TransactionBehavior::Immediate;
use tokio::sync::{mpsc, oneshot};

use crate::database::checkpoint::Checkpoints;
use crate::database::same_file::SameFile;
use crate::error::{DatabaseFile, Fault};
use crate::models::Unindexed;
use crate::write::open_session::OpenSession;

/// An append that waits for its commit.
pub(crate) struct Append {
    pub(crate) session: SessionId,
    pub(crate) epoch: u64,
    pub(crate) batch: Batch,
}

/// The sender for the outcome of an append.
type AppendReply = oneshot::Sender<Result<(), LogError>>;

/// Other work that only the writer does. It sends its own answer.
pub(crate) type WriterWork = Box<dyn FnOnce(&mut WriterState) + Send>;

pub(crate) enum Job {
    Append(Append, AppendReply),
    Task(WriterWork),
}

/// Maximum number of facts of an append that is committed on the caller's thread: more than a session's
/// driver commits together. The commit takes a tenth of a millisecond; a round trip to the thread takes half
/// as long.
const HERE_FACTS: usize = 1024;

/// Sessions whose writers were dropped: their state can be forgotten.
pub(crate) type Released = Arc<Mutex<Vec<(SessionId, u64)>>>;

/// The state that only the current writer accesses.
pub(crate) struct WriterState {
    pub(crate) connection: Connection,
    pub(crate) place: DatabaseFile,
    /// The sessions that this process has attached. Boxed, because the table reserves twice the room.
    pub(crate) sessions: HashMap<SessionId, Box<OpenSession>>,
    /// The newer versions that forbid writing, if any.
    newer: Option<(u32, u32)>,
    checkpoints: Option<Checkpoints>,
    released: Released,
    busy_timeout: Duration,
    /// Whether there was anything to write so far.
    begun: bool,
    same_file: SameFile,
}

impl WriterState {
    pub(crate) fn new(
        connection: Connection,
        place: DatabaseFile,
        newer: Option<u32>,
        checkpoints: Checkpoints,
        released: Released,
        busy_timeout: Duration,
    ) -> Self {
        let newer = newer.map(|found| (found, crate::database::schema::FORMAT));
        // A database that cannot be written needs none.
        let checkpoints = newer.is_none().then_some(checkpoints);
        Self {
            connection,
            same_file: SameFile::of(&place),
            place,
            sessions: HashMap::new(),
            newer,
            checkpoints,
            released,
            busy_timeout,
            begun: false,
        }
    }

    /// Runs `change` in a transaction: all of it or nothing.
    pub(crate) fn transaction<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.check_writable()?;
        let transaction = self.connection.transaction_with_behavior(Immediate)?;
        let answer = change(&transaction)?;
        transaction.commit()?;
        Ok(answer)
    }

    fn check_writable(&self) -> Result<(), LogError> {
        let path = self.place.path();
        match self.newer {
            Some((found, known)) => Err(LogError::Newer { path, found, known }),
            None => self.same_file.check(&self.place),
        }
    }

    /// Once, before the first change.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        if let Some(checkpoints) = &self.checkpoints
            && let Err(fault) = checkpoints.watch(&mut self.connection)
        {
            // The first change will fail in the same way, and its caller gets the error.
            tracing::warn!(?fault, "the write-ahead log cannot be watched");
        }
    }

    /// Does a job, with the appends that wait after it. Returns the next job if it found one there.
    fn work(&mut self, job: Job, jobs: &mut mpsc::Receiver<Job>, group_limit: usize) -> Option<Job> {
        self.begin();
        self.forget_released();
        let mut next = None;
        match job {
            Job::Task(task) => task(self),
            Job::Append(append, reply) => {
                let (group, other) = gather((append, reply), jobs, group_limit);
                next = other;
                self.commit_group(group);
            }
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.after_commit(&self.connection);
        }
        next
    }

    /// Commits one append without waiting for anybody; `None` if another process is writing.
    fn commit_at_once(&mut self, append: &Append) -> Option<Result<(), LogError>> {
        self.begin();
        self.forget_released();
        let answer = match self.without_waiting(|core| core.commit(std::slice::from_ref(append))) {
            Ok(answers) => answers.into_iter().next().unwrap_or(Ok(())),
            Err(fault) if fault.is_busy() => return None,
            Err(fault) => Err(self.place.error(fault)),
        };
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.after_commit(&self.connection);
        }
        Some(answer)
    }

    fn without_waiting<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.connection.busy_timeout(Duration::ZERO)?;
        let done = work(self);
        self.connection.busy_timeout(self.busy_timeout)?;
        done
    }

    fn close(mut self) {
        if self.begun {
            self.index_waiting();
        }
        if let Some(checkpoints) = self.checkpoints.take() {
            checkpoints.close(&self.connection, self.begun);
        }
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, path = self.place.path(), "the session log was not closed cleanly");
        }
    }

    /// Brings the word index up to date with the messages of all sessions that are attached. If that fails,
    /// the words stay out of the index, and the next writer finds their messages.
    pub(crate) fn index_waiting(&mut self) {
        let mut waiting: Vec<Unindexed> = self
            .sessions
            .values_mut()
            .map(|open| std::mem::take(&mut open.unindexed))
            .collect();
        waiting.retain(|unindexed| !unindexed.is_empty());
        if waiting.is_empty() {
            return;
        }
        let indexed = self.transaction(|connection| {
            waiting
                .iter_mut()
                .try_for_each(|unindexed| unindexed.flush(connection))
        });
        if let Err(fault) = indexed {
            tracing::warn!(?fault, "the words of messages are not in the index yet");
        }
    }

    fn forget_released(&mut self) {
        let released = std::mem::take(&mut *self.released.lock().unwrap_or_else(PoisonError::into_inner));
        if !released.is_empty() {
            self.index_waiting();
        }
        for (session, epoch) in released {
            if self
                .sessions
                .get(&session)
                .is_some_and(|open| open.epoch == epoch)
            {
                self.sessions.remove(&session);
            }
        }
    }

    fn commit_group(&mut self, group: Vec<(Append, AppendReply)>) {
        let (appends, replies): (Vec<Append>, Vec<AppendReply>) = group.into_iter().unzip();
        match self.commit(&appends) {
            Ok(answers) => answer_all(replies, answers),
            Err(fault) if appends.len() > 1 => {
                tracing::warn!(
                    ?fault,
                    appends = appends.len(),
                    "a group was rolled back; each is tried alone"
                );
                for alone in appends.into_iter().zip(replies) {
                    self.commit_group(vec![alone]);
                }
            }
            Err(fault) => answer_all(replies, vec![Err(self.place.error(fault))]),
        }
    }

    /// Commits a group. On an error, nothing of the group was kept.
    fn commit(&mut self, group: &[Append]) -> Result<Vec<Result<(), LogError>>, Fault> {
        self.check_writable()?;
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let answers = group
            .iter()
            .map(|append| self.append(append))
            .collect::<Result<Vec<_>, _>>();
        let committed = answers.and_then(|answers| {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(answers)
        });
        if committed.is_err() {
            for append in group {
                self.sessions.remove(&append.session);
            }
            if !self.connection.is_autocommit()
                && let Err(error) = self.connection.execute_batch("ROLLBACK")
            {
                tracing::error!(%error, path = self.place.path(), "a transaction was not rolled back");
            }
        }
        committed
    }
}

/// All appends that wait already, up to the first other job, which is returned too.
fn gather(
    first: (Append, AppendReply),
    jobs: &mut mpsc::Receiver<Job>,
    limit: usize,
) -> (Vec<(Append, AppendReply)>, Option<Job>) {
    let mut group = vec![first];
    while group.len() < limit {
        match jobs.try_recv() {
            Ok(Job::Append(append, reply)) => group.push((append, reply)),
            Ok(task) => return (group, Some(task)),
            Err(_) => break,
        }
    }
    (group, None)
}

fn answer_all(replies: Vec<AppendReply>, answers: Vec<Result<(), LogError>>) {
    for (reply, answer) in replies.into_iter().zip(answers) {
        // The caller may have gone away; the commit stays.
        let _ = reply.send(answer);
    }
}

/// `None` once the database is closed.
type SharedConnection = Arc<Mutex<Option<WriterState>>>;

/// The writer for the rest of the process; its thread is started when it is first needed.
pub(crate) struct WriterThread {
    core: SharedConnection,
    state: Mutex<AppendState>,
    queue: usize,
    /// Whether a caller may commit its append itself.
    commits_here: bool,
}

enum AppendState {
    Waiting,
    Running(mpsc::Sender<Job>, JoinHandle<()>),
    Closed,
}

impl WriterThread {
    /// `commits_here`: whether the caller's thread commits, because a commit does not wait for the disk.
    pub(crate) fn new(core: WriterState, queue: usize, commits_here: bool) -> Self {
        Self {
            core: Arc::new(Mutex::new(Some(core))),
            state: Mutex::new(AppendState::Waiting),
            queue: queue.max(1),
            commits_here,
        }
    }

    /// Commits an append: here if nothing else is being written, otherwise on the thread.
    pub(crate) async fn append(&self, append: Append) -> Result<Result<(), LogError>, Fault> {
        if let Some(answer) = self.append_here(&append) {
            return Ok(answer);
        }
        let (reply, answer) = oneshot::channel();
        self.send(Job::Append(append, reply)).await?;
        answer.await.map_err(|_| stopped())
    }

    fn append_here(&self, append: &Append) -> Option<Result<(), LogError>> {
        if !self.commits_here || append.batch.facts.len() > HERE_FACTS || self.is_awaited() {
            return None;
        }
        let mut core = self.core.try_lock().ok()?;
        core.as_mut()?.commit_at_once(append)
    }

    /// Returns whether jobs wait for the thread; they come first.
    fn is_awaited(&self) -> bool {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            AppendState::Running(sender, _) => sender.capacity() < sender.max_capacity(),
            AppendState::Waiting | AppendState::Closed => false,
        }
    }

    /// Queues a job for the thread; waits if the queue is full.
    pub(crate) async fn send(&self, job: Job) -> Result<(), Fault> {
        let sender = self.sender()?;
        sender.send(job).await.map_err(|_| stopped())
    }

    fn sender(&self) -> Result<mpsc::Sender<Job>, Fault> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            AppendState::Running(sender, _) => return Ok(sender.clone()),
            AppendState::Closed => return Err(stopped()),
            AppendState::Waiting => {}
        }
        let (sender, jobs) = mpsc::channel(self.queue);
        let (core, queue) = (self.core.clone(), self.queue);
        let thread = std::thread::Builder::new()
            .name("agentx-log-writer".to_owned())
            .spawn(move || work(&core, jobs, queue))
            .map_err(|e| Fault::Other(format!("the writer thread cannot be started: {e}")))?;
        *state = AppendState::Running(sender.clone(), thread);
        Ok(sender)
    }

    /// Returns whether it has got any writes.
    pub(crate) fn has_begun(&self) -> bool {
        // The current holder writes.
        let core = self.core.try_lock();
        core.map_or(true, |core| core.as_ref().is_some_and(|core| core.begun))
    }

    /// Waits until everything in the queue is written and the database is closed.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *state, AppendState::Closed);
        drop(state);
        if let AppendState::Running(sender, thread) = last {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!("the writer thread of the session log panicked");
            }
        }
        let core = self.core.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(core) = core {
            core.close();
        }
    }
}

/// The body of the thread: does jobs until all senders are gone. After a panic in a job, here or on another
/// thread, it does no more.
fn work(core: &SharedConnection, mut jobs: mpsc::Receiver<Job>, group_limit: usize) {
    let mut next = None;
    while let Some(job) = next.take().or_else(|| jobs.blocking_recv()) {
        let Ok(mut core) = core.lock() else { return };
        let Some(core) = core.as_mut() else { return };
        next = core.work(job, &mut jobs, group_limit);
    }
}

fn stopped() -> Fault {
    Fault::Other("the session log is closed".to_owned())
}
