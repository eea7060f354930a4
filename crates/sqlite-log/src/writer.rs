//! The one thread that writes: it takes appends of all sessions from one bounded queue and commits them in groups.
//!
//! While a commit runs, what arrives waits; all of it goes into the next transaction. Each append has its own answer: one
//! that is refused takes nothing away from the others, and where SQLite itself fails, each is tried again alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use agentx_runtime::{Batch, LogError};
use agentx_types::SessionId;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::append::OpenSession;
use crate::checkpoint::Checkpoints;
use crate::error::{Fault, Place};
use crate::models::Unindexed;

/// An append that waits for its commit.
pub(crate) struct Append {
    pub(crate) session: SessionId,
    pub(crate) epoch: u64,
    pub(crate) batch: Batch,
    pub(crate) reply: oneshot::Sender<Result<(), LogError>>,
}

/// Something else that only the writer does; it answers by itself.
pub(crate) type Task = Box<dyn FnOnce(&mut Core) + Send>;

pub(crate) enum Job {
    Append(Append),
    Task(Task),
}

/// Sessions whose writers were dropped: what is known of them can be forgotten.
pub(crate) type Released = Arc<Mutex<Vec<(SessionId, u64)>>>;

/// What the writer thread owns.
pub(crate) struct Core {
    pub(crate) connection: Connection,
    pub(crate) place: Place,
    /// Sessions that are attached, as far as this thread knows.
    pub(crate) sessions: HashMap<SessionId, OpenSession>,
    /// Why nothing may be written, if so.
    newer: Option<(u32, u32)>,
    checkpoints: Option<Checkpoints>,
    released: Released,
}

impl Core {
    pub(crate) fn new(
        connection: Connection,
        place: Place,
        newer: Option<u32>,
        checkpoints: Checkpoints,
        released: Released,
    ) -> Self {
        let newer = newer.map(|found| (found, crate::schema::FORMAT));
        // A database that cannot be written needs none.
        let checkpoints = newer.is_none().then_some(checkpoints);
        Self {
            connection,
            place,
            sessions: HashMap::new(),
            newer,
            checkpoints,
            released,
        }
    }

    /// Runs `change` in a transaction: all of it or nothing.
    pub(crate) fn transaction<T>(
        &mut self,
        change: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.check_writable()?;
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let answer = change(&transaction)?;
        transaction.commit()?;
        Ok(answer)
    }

    fn check_writable(&self) -> Result<(), LogError> {
        match self.newer {
            Some((found, known)) => Err(LogError::Newer {
                path: self.place.path(),
                found,
                known,
            }),
            None => Ok(()),
        }
    }

    fn run(mut self, mut jobs: mpsc::Receiver<Job>, group_limit: usize) {
        if let Some(checkpoints) = &self.checkpoints
            && let Err(fault) = checkpoints.watch(&mut self.connection)
        {
            // The first change meets the same and tells whoever asked for it.
            tracing::warn!(?fault, "the write-ahead log cannot be begun");
        }
        let mut next = None;
        while let Some(job) = next.take().or_else(|| jobs.blocking_recv()) {
            self.forget_released();
            match job {
                Job::Task(task) => task(&mut self),
                Job::Append(first) => {
                    let (group, other) = gather(first, &mut jobs, group_limit);
                    next = other;
                    self.commit_group(group);
                }
            }
            if let Some(checkpoints) = &mut self.checkpoints {
                checkpoints.after_commit(&self.connection);
            }
        }
        self.index_waiting();
        if let Some(checkpoints) = self.checkpoints.take() {
            checkpoints.close(&self.connection);
        }
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, path = self.place.path(), "the session log was not closed cleanly");
        }
    }

    /// Brings the word index up to date with the messages of all sessions that are attached. Where that fails, the words
    /// wait on: the next writer finds their messages.
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

    fn commit_group(&mut self, group: Vec<Append>) {
        match self.commit(&group) {
            Ok(answers) => answer_all(group, answers),
            Err(fault) if group.len() > 1 => {
                tracing::warn!(
                    ?fault,
                    appends = group.len(),
                    "a group was rolled back; each is tried alone"
                );
                group
                    .into_iter()
                    .for_each(|append| self.commit_group(vec![append]));
            }
            Err(fault) => answer_all(group, vec![Err(self.place.error(fault))]),
        }
    }

    /// Commits a group. An error means that nothing of it was kept.
    fn commit(&mut self, group: &[Append]) -> Result<Vec<Result<(), LogError>>, Fault> {
        self.check_writable()?;
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let answers = group
            .iter()
            .map(|append| self.append(append))
            .collect::<Result<Vec<_>, _>>();
        let committed = answers.and_then(|answers| {
            self.connection.execute_batch("COMMIT")?;
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
fn gather(first: Append, jobs: &mut mpsc::Receiver<Job>, limit: usize) -> (Vec<Append>, Option<Job>) {
    let mut group = vec![first];
    while group.len() < limit {
        match jobs.try_recv() {
            Ok(Job::Append(append)) => group.push(append),
            Ok(task) => return (group, Some(task)),
            Err(_) => break,
        }
    }
    (group, None)
}

fn answer_all(group: Vec<Append>, answers: Vec<Result<(), LogError>>) {
    for (append, answer) in group.into_iter().zip(answers) {
        // Whoever asked may have gone away; what was committed stays.
        let _ = append.reply.send(answer);
    }
}

/// The writer thread as the rest of the process sees it; started when it is first needed.
pub(crate) struct WriterThread {
    state: Mutex<State>,
    queue: usize,
}

enum State {
    Waiting(Box<Core>),
    Running(mpsc::Sender<Job>, JoinHandle<()>),
    Closed,
}

impl WriterThread {
    pub(crate) fn new(core: Core, queue: usize) -> Self {
        Self {
            state: Mutex::new(State::Waiting(Box::new(core))),
            queue: queue.max(1),
        }
    }

    /// Queues a job; waits where the queue is full.
    pub(crate) async fn send(&self, job: Job) -> Result<(), Fault> {
        let sender = self.sender()?;
        sender.send(job).await.map_err(|_| stopped())
    }

    fn sender(&self) -> Result<mpsc::Sender<Job>, Fault> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Running(sender, _) = &*state {
            return Ok(sender.clone());
        }
        let State::Waiting(core) = std::mem::replace(&mut *state, State::Closed) else {
            return Err(stopped());
        };
        let (sender, jobs) = mpsc::channel(self.queue);
        let queue = self.queue;
        let thread = std::thread::Builder::new()
            .name("agentx-log-writer".to_owned())
            .spawn(move || core.run(jobs, queue))
            .map_err(|e| Fault::Other(format!("the writer thread cannot be started: {e}")))?;
        *state = State::Running(sender.clone(), thread);
        Ok(sender)
    }

    /// Whether it has been asked to write anything.
    pub(crate) fn is_running(&self) -> bool {
        matches!(
            &*self.state.lock().unwrap_or_else(PoisonError::into_inner),
            State::Running(..)
        )
    }

    /// Waits until all that was queued is written and the database is closed.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *state, State::Closed);
        drop(state);
        if let State::Running(sender, thread) = last {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!("the writer thread of the session log panicked");
            }
        }
    }
}

fn stopped() -> Fault {
    Fault::Other("the session log is closed".to_owned())
}
