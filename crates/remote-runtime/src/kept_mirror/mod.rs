//! A mirror that keeps a copy: the session of a server in a local log, with everything that is derived from
//! it, so that it can be read, checked, searched and replayed without the server.
//!
//! Facts are committed as they arrive. The server's stored rows of them are adopted at convenient times: when
//! a run has ended, after a reconnect, from time to time while many facts arrive, and at the end. From then
//! on the copy has the server's bytes, and its hash at the end.
//!
//! # Guarantees
//!
//! - At every moment the copy is a complete session up to its last fact: it can be opened for reading,
//!   searched, replayed and exported. Only the mirror can write to it.
//! - A copy that continues first checks that the server has the same facts, by comparing the first and the
//!   last one of the copy. If not, nothing is changed, and the error names the difference.
//! - A kill loses no committed fact. The next mirror continues after the last one.
//! - A redaction on the server is followed: the copy replaces the same facts before it has the record of it.
//!   Facts that differ in more than texts that `[secret NAME]` replaces are refused, and the copy stays as it
//!   is.
//! - Blobs come before the facts that name them. A blob that the server has lost is counted
//!   ([`MirrorProgress::missing_blobs`]) and does not stop the copy.
//!
//! The progress is reported by a [`MirrorProgress`] whenever it changes. `seq` is the last committed fact;
//! `rows` follows it at a distance, and reaches it when the session is idle.

mod redactions;
mod rows;
mod start;

use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::{
    Batch, Delivery, DerivedDigest, Fact, LogError, Projection, Runtime as _, RuntimeError, SessionFold,
    SessionLog, Subscription, View, Writer, blobs_of,
};
use agentx_types::{BlobId, EnvironmentEvent, SessionId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::follow::{self, FollowRequest};
use crate::http::Query;
use crate::remote_core::RemoteCore;
use crate::{ConnectionState, RemoteRuntime};
use rows::MirrorRows;

/// Maximum number of facts to read and commit in a batch.
const BATCH: usize = 1024;
/// The maximum time for the last rows at the end.
const LAST_ROWS: Duration = Duration::from_secs(5);

/// The progress of a mirror.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorProgress {
    /// The last event that is in the log here.
    pub seq: u64,
    /// Up to this event the bytes in the log here are those of the server's log.
    pub rows: u64,
    /// Whether all is here that was there when it began.
    pub caught_up: bool,
    /// Blobs that facts name and that the server no longer has.
    pub missing_blobs: u64,
}

/// A running mirror. It ends when this is dropped: then facts since the last commit are lost and come again
/// the next time. [`MirrorTask::stop`] commits them first.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use agentx_remote_runtime::{RemoteRuntime, keep};
/// use agentx_runtime::{RuntimeError, SessionLog};
///
/// # async fn copy(server: RemoteRuntime, log: Arc<dyn SessionLog>) -> Result<(), RuntimeError> {
/// // All that is there now, once.
/// let mut mirror = keep(&server, &"ses_1".into(), log, false).await?;
/// let kept = mirror.ended().await?;
/// println!("{} events, {} blobs are missing", kept.seq, kept.missing_blobs);
/// # Ok(())
/// # }
/// ```
pub struct MirrorTask {
    kept: watch::Receiver<MirrorProgress>,
    task: tokio::task::JoinHandle<Result<(), RuntimeError>>,
    stop: CancellationToken,
    _guard: DropGuard,
}

impl MirrorTask {
    /// The progress, now and from now on.
    pub fn progress(&self) -> watch::Receiver<MirrorProgress> {
        self.kept.clone()
    }

    /// Waits until it ends: at the last event if it does not follow, otherwise when it cannot continue.
    ///
    /// # Errors
    /// Returns the reason why it cannot continue.
    pub async fn ended(&mut self) -> Result<MirrorProgress, RuntimeError> {
        let ended = (&mut self.task).await;
        ended.unwrap_or_else(|error| Err(RuntimeError::Refused(format!("the mirror broke: {error}"))))?;
        Ok(self.kept.borrow().clone())
    }

    /// Ends it: commits the facts that have come, and then requests the rows of all facts, for five seconds
    /// at most.
    ///
    /// # Errors
    /// Returns the reason why it could not continue before.
    pub async fn stop(mut self) -> Result<MirrorProgress, RuntimeError> {
        self.stop.cancel();
        self.ended().await
    }
}

/// Keeps a session of a server in `log`: all existing facts and, if `follow` is set, also later ones. The
/// copy has the same facts, the same id, and in the end the same bytes.
///
/// # Errors
/// Returns an error if the session does not exist, another process keeps it, or the log has a session of this
/// id with other facts.
pub async fn keep(
    remote: &RemoteRuntime,
    session: &SessionId,
    log: Arc<dyn SessionLog>,
    follow: bool,
) -> Result<MirrorTask, RuntimeError> {
    let info = remote.info(session).await?;
    let writer = start::attach(log.as_ref(), &info).await?;
    let stop = CancellationToken::new();
    let mut keeper = MirrorKeeper {
        core: remote.core().clone(),
        rows: MirrorRows::new(info.parent.clone()),
        writer,
        fold: SessionFold::new(session.clone()),
        digest: DerivedDigest::default(),
        last: None,
        running: false,
        log,
        kept: MirrorProgress::default(),
        progress: watch::Sender::default(),
        stop: stop.clone(),
    };
    keeper.load().await?;
    keeper.compare(info.last_seq).await?;
    keeper.find_rows().await?;
    let end = CancellationToken::new();
    let wanted = FollowRequest {
        session: session.clone(),
        after_seq: keeper.fold.last_seq(),
        has: keeper.last.clone(),
        view: View::Environment,
        live: follow,
        end: end.clone(),
    };
    let subscription = follow::follow(&keeper.core, wanted).await?;
    let (kept, quit) = (keeper.progress.subscribe(), end.clone());
    let core = keeper.core.clone();
    let task = tokio::spawn(async move {
        let kept = tokio::select! {
            kept = keeper.run(subscription) => match kept {
                Ok(()) => Ok(()),
                Err(error) => Err(start::cause(&core, keeper.last.take(), error).await),
            },
            () = quit.cancelled() => Ok(()),
        };
        drop(keeper);
        kept
    });
    Ok(MirrorTask {
        kept,
        task,
        stop,
        _guard: end.drop_guard(),
    })
}

/// A copy in progress: the local log, its state, and the facts that are still to come.
struct MirrorKeeper {
    /// The server.
    core: Arc<RemoteCore>,
    /// The log here.
    log: Arc<dyn SessionLog>,
    /// The lease of the session here: no second mirror of it can run.
    writer: Writer,
    /// The fold of the local facts, for derived events.
    fold: SessionFold,
    /// The digest of the derived events, as a writer records it.
    digest: DerivedDigest,
    /// The last fact that is here.
    /// It is compared with the server's before the copy continues.
    last: Option<Fact>,
    /// Whether a run is in progress.
    running: bool,
    /// The known rows of the server.
    rows: MirrorRows,
    kept: MirrorProgress,
    progress: watch::Sender<MirrorProgress>,
    stop: CancellationToken,
}

impl MirrorKeeper {
    fn session(&self) -> &SessionId {
        &self.writer.session_id
    }

    /// Stores facts and rows as they come, until the session ends, the server cannot continue, or it is
    /// stopped.
    async fn run(&mut self, mut events: Subscription) -> Result<(), RuntimeError> {
        let mut waiting = Vec::new();
        let mut connection = self.core.connection.state();
        let stop = self.stop.clone();
        loop {
            self.ask_for_rows();
            tokio::select! {
                count = events.deliveries.recv_many(&mut waiting, BATCH) => match count {
                    0 => break,
                    _ => self.take(&mut waiting, u64::MAX).await?,
                },
                fetched = self.rows.fetched() => self.rows.have(fetched),
                Ok(()) = connection.changed() => {
                    let is_there = *connection.borrow_and_update() == ConnectionState::Connected;
                    self.rows.want(is_there && self.kept.rows < self.kept.seq);
                }
                () = stop.cancelled() => break,
            }
            self.store_fetched_rows().await?;
        }
        self.finish(&mut waiting, &mut events).await
    }

    /// Commits the facts that have come; then takes the server's current facts, with their rows, and no later
    /// ones.
    async fn finish(
        &mut self,
        waiting: &mut Vec<Delivery>,
        events: &mut Subscription,
    ) -> Result<(), RuntimeError> {
        self.take_ready(waiting, events).await?;
        let until = Instant::now() + LAST_ROWS;
        let Ok(Ok(rows)) = timeout_at(until, self.last_rows()).await else {
            return self.take_ready(waiting, events).await;
        };
        while self.kept.seq < rows.last_seq() {
            let more = timeout_at(until, events.deliveries.recv_many(waiting, BATCH)).await;
            if more.unwrap_or(0) == 0 {
                break;
            }
            self.take(waiting, rows.last_seq()).await?;
        }
        self.adopt(rows).await
    }

    /// Commits the facts that have already come, without waiting for more.
    async fn take_ready(
        &mut self,
        waiting: &mut Vec<Delivery>,
        events: &mut Subscription,
    ) -> Result<(), RuntimeError> {
        while let Ok(delivery) = events.deliveries.try_recv() {
            waiting.push(delivery);
            if waiting.len() == BATCH {
                self.take(waiting, u64::MAX).await?;
            }
        }
        self.take(waiting, u64::MAX).await
    }

    /// Commits the facts that have come, up to an event.
    async fn take(&mut self, waiting: &mut Vec<Delivery>, upto: u64) -> Result<(), RuntimeError> {
        let mut facts = Vec::with_capacity(waiting.len());
        let mut cut_off = None;
        for delivery in waiting.drain(..) {
            match delivery {
                Delivery::Environment(fact) if fact.seq <= upto => facts.push(fact),
                Delivery::CaughtUp(_) => {
                    self.kept.caught_up = true;
                    // The server may have packed the rows of these facts by now.
                    self.rows.want(true);
                }
                Delivery::CutOff(why) => cut_off = Some(why),
                Delivery::Environment(_) | Delivery::Runtime(_) => {}
            }
        }
        // Facts before the record of a redaction are here when it replaces them.
        let is_record = |fact: &Fact| matches!(fact.event, EnvironmentEvent::SessionRedacted(_));
        while let Some(at) = facts.iter().skip(1).position(is_record) {
            let rest = facts.split_off(at + 1);
            self.commit(facts).await?;
            facts = rest;
        }
        self.commit(facts).await?;
        match cut_off {
            Some(why) => Err(RuntimeError::Refused(why)),
            None => Ok(()),
        }
    }

    /// Commits facts with everything that is derived from them, blobs first.
    async fn commit(&mut self, facts: Vec<Fact>) -> Result<(), RuntimeError> {
        if facts.is_empty() {
            self.say();
            return Ok(());
        }
        self.follow_redactions(&facts).await?;
        let mut projections = Vec::new();
        for fact in &facts {
            for blob in blobs_of(&fact.event) {
                self.keep_blob(&blob).await?;
            }
            let mut derived = self.fold.apply(fact);
            self.digest.add(fact, &derived);
            projections.append(&mut derived.projections);
        }
        projections.retain(Projection::holds_in_a_copy);
        self.note(&projections);
        let last = facts.last().cloned();
        let batch = Batch::new(facts, self.digest.value()).with_projections(projections);
        self.log.append(&self.writer, batch).await?;
        self.last = last;
        self.kept.seq = self.fold.last_seq();
        self.want_rows();
        self.say();
        Ok(())
    }

    /// Records whether a run is in progress now.
    fn note(&mut self, projections: &[Projection]) {
        let last = projections.iter().rev().find_map(|projection| match projection {
            Projection::Status(status) => Some(!status.is_final()),
            _ => None,
        });
        self.running = last.unwrap_or(self.running);
    }

    /// Has a blob here before a fact that names it.
    async fn keep_blob(&mut self, blob: &BlobId) -> Result<(), RuntimeError> {
        match self.log.blob_size(blob).await {
            Ok(_) => return Ok(()),
            Err(LogError::NoBlob(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let path = ["blobs", blob.as_str()];
        let ask = Query::get(&path).with("session", Some(self.session().to_string()));
        let stop = self.stop.clone();
        let bytes = tokio::select! {
            bytes = self.core.http.bytes(ask) => bytes,
            // A mirror that is stopped waits no longer for a server that is away.
            () = async { stop.cancelled().await; sleep(LAST_ROWS).await } => return Err(self.away_error()),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            // The mirror cannot have a blob that the server lost or never had.
            Err(RuntimeError::Log(LogError::NoBlob(_))) => {
                self.kept.missing_blobs += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let id = self.log.put_blob(bytes).await?;
        if id != *blob {
            return Err(RuntimeError::Refused(format!(
                "the server sent the wrong bytes for blob {blob}"
            )));
        }
        Ok(())
    }

    /// The error of a server that did not answer before the mirror ended.
    fn away_error(&self) -> RuntimeError {
        RuntimeError::Unreachable {
            endpoint: self.core.endpoint().to_string(),
            what: "it did not send a part of the session before the mirror ended".into(),
        }
    }

    /// Reports its progress, if that has changed.
    fn say(&self) {
        self.progress.send_if_modified(|kept| {
            let is_news = *kept != self.kept;
            kept.clone_from(&self.kept);
            is_news
        });
    }
}
