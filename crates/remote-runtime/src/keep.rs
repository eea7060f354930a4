//! A mirror that keeps what it sees: the facts of a server's session in a log of one's own, with all that is derived from
//! them, so that it can be read, checked, searched and replayed where the server cannot be reached.

use std::sync::Arc;

use agentx_runtime::{
    Batch, Delivery, Derived, DerivedDigest, Fact, LogError, NewLog, RuntimeError, SessionFold, SessionInfo,
    SessionLog, Subscription, View, Writer, blobs_of,
};
use agentx_types::{BlobId, Envelope, EnvironmentEvent, SessionId};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::RemoteRuntime;
use crate::core::Core;
use crate::follow::{self, Wanted};
use crate::http::{Ask, Page};

/// Facts are read, and committed, in batches of at most so many.
const BATCH: usize = 1024;

/// How far a mirror has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The last event that is in the log here.
    pub seq: u64,
    /// Whether all is here that was there when it began.
    pub caught_up: bool,
    /// Blobs that facts name and that the server no longer has.
    pub missing_blobs: u64,
}

/// A mirror at work. It ends when this is dropped.
pub struct Keeping {
    kept: watch::Receiver<Kept>,
    task: tokio::task::JoinHandle<Result<(), RuntimeError>>,
    stop: CancellationToken,
    _guard: DropGuard,
}

impl Keeping {
    /// How far it has come, now and from now on.
    pub fn kept(&self) -> watch::Receiver<Kept> {
        self.kept.clone()
    }

    /// Waits until it ends: at the last event where it does not follow, else when it cannot go on.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub async fn ended(&mut self) -> Result<Kept, RuntimeError> {
        let ended = (&mut self.task).await;
        ended.unwrap_or_else(|error| Err(RuntimeError::Refused(format!("the mirror broke: {error}"))))?;
        Ok(self.kept.borrow().clone())
    }

    /// Ends it: what has come is committed first.
    ///
    /// # Errors
    /// Why it could not go on before.
    pub async fn stop(mut self) -> Result<Kept, RuntimeError> {
        self.stop.cancel();
        self.ended().await
    }
}

/// Keeps a session of a server in `log`, from what is there on; where `follow` is set, it goes on with what is added. What is
/// kept are the same facts, under the same id and owner.
///
/// # Errors
/// Where there is no such session, another process keeps it, or the log has a session of this id with other facts.
pub async fn keep(
    remote: &RemoteRuntime,
    session: &SessionId,
    log: Arc<dyn SessionLog>,
    follow: bool,
) -> Result<Keeping, RuntimeError> {
    let core = remote.core().clone();
    let info = remote.info(session).await?;
    let writer = attach(log.as_ref(), &info).await?;
    let mut keeper = Keeper {
        core,
        writer,
        fold: SessionFold::new(session.clone()),
        digest: DerivedDigest::default(),
        log,
        kept: Kept::default(),
        progress: watch::Sender::default(),
    };
    let last = keeper.load().await?;
    keeper.compare(last.as_ref(), info.last_seq).await?;
    let stop = CancellationToken::new();
    let wanted = Wanted {
        session: session.clone(),
        after_seq: keeper.fold.last_seq(),
        view: View::Environment,
        on: follow,
        end: stop.clone(),
    };
    let subscription = follow::follow(&keeper.core, wanted).await?;
    Ok(Keeping {
        kept: keeper.progress.subscribe(),
        task: tokio::spawn(keeper.run(subscription)),
        _guard: stop.clone().drop_guard(),
        stop,
    })
}

/// Becomes the writer of the log here, which is made where there is none.
async fn attach(log: &dyn SessionLog, info: &SessionInfo) -> Result<Writer, RuntimeError> {
    match log.info(&info.session_id).await {
        Ok(_) => {}
        Err(LogError::NotFound(_)) => {
            let new = NewLog {
                session_id: info.session_id.clone(),
                owner: info.owner.clone(),
                at: info.created_at,
                workspace: info.workspace.clone(),
                // A fork is kept whole: what it was forked from need not be here.
                parent: None,
            };
            log.create(new).await?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(log.attach(&info.session_id).await?)
}

struct Keeper {
    core: Arc<Core>,
    log: Arc<dyn SessionLog>,
    writer: Writer,
    fold: SessionFold,
    digest: DerivedDigest,
    kept: Kept,
    progress: watch::Sender<Kept>,
}

impl Keeper {
    fn session(&self) -> &SessionId {
        &self.writer.session_id
    }

    /// Folds what is in the log here. Returns its last fact.
    async fn load(&mut self) -> Result<Option<Fact>, RuntimeError> {
        let mut last = None;
        let mut derived = Derived::default();
        loop {
            let facts = self.log.read(self.session(), self.fold.last_seq(), BATCH).await?;
            let Some(end) = facts.last() else { break };
            last = Some(end.clone());
            for fact in &facts {
                derived.clear();
                self.fold.apply(fact, &mut derived);
                self.digest.add(fact, &derived);
            }
        }
        self.kept.seq = self.fold.last_seq();
        self.say();
        Ok(last)
    }

    /// Makes sure that what is here is what the server has, as far as it goes. Each fact has its time, to the microsecond:
    /// logs whose first and last facts are the same did not part in between.
    async fn compare(&self, last: Option<&Fact>, head: u64) -> Result<(), RuntimeError> {
        let Some(last) = last else { return Ok(()) };
        let other = |what: String| {
            RuntimeError::Refused(format!(
                "the log here has another session {}: {what}. It is left as it is; keep the server's in another place",
                self.session()
            ))
        };
        if head < last.seq {
            return Err(other(format!(
                "it has {} events, the server's has {head}",
                last.seq
            )));
        }
        let mut here = self.log.read(self.session(), 0, 1).await?;
        here.push(last.clone());
        for fact in here {
            let there = self.fact_at(fact.seq).await?;
            if there.as_ref() != Some(&*fact) {
                return Err(other(format!("its event {} is not the server's", fact.seq)));
            }
        }
        Ok(())
    }

    async fn fact_at(&self, seq: u64) -> Result<Option<Envelope<EnvironmentEvent>>, RuntimeError> {
        let path = ["sessions", self.session().as_str(), "events"];
        let ask = Ask::get(&path)
            .with("after_seq", Some((seq - 1).to_string()))
            .with("view", Some("environment".into()))
            .with("limit", Some("1".into()));
        let page: Page<Envelope<EnvironmentEvent>> = self.core.http.json(ask).await?;
        Ok(page.items.into_iter().find(|fact| fact.seq == seq))
    }

    async fn run(mut self, mut events: Subscription) -> Result<(), RuntimeError> {
        let mut waiting = Vec::new();
        while events.deliveries.recv_many(&mut waiting, BATCH).await > 0 {
            let mut facts = Vec::with_capacity(waiting.len());
            let mut cut_off = None;
            for delivery in waiting.drain(..) {
                match delivery {
                    Delivery::Environment(fact) => facts.push(fact),
                    Delivery::CaughtUp(_) => self.kept.caught_up = true,
                    Delivery::CutOff(why) => cut_off = Some(why),
                    Delivery::Runtime(_) => {}
                }
            }
            self.commit(facts).await?;
            if let Some(why) = cut_off {
                return Err(RuntimeError::Refused(why));
            }
        }
        Ok(())
    }

    async fn commit(&mut self, facts: Vec<Fact>) -> Result<(), RuntimeError> {
        if facts.is_empty() {
            self.say();
            return Ok(());
        }
        let mut derived = Derived::default();
        let mut projections = Vec::new();
        for fact in &facts {
            for blob in blobs_of(&fact.event) {
                self.keep_blob(&blob).await?;
            }
            derived.clear();
            self.fold.apply(fact, &mut derived);
            self.digest.add(fact, &derived);
            projections.append(&mut derived.projections);
        }
        let batch = Batch {
            facts,
            derived: self.digest.value(),
            projections,
        };
        self.log.append(&self.writer, batch).await?;
        self.kept.seq = self.fold.last_seq();
        self.say();
        Ok(())
    }

    /// Has a blob here before a fact that names it.
    async fn keep_blob(&mut self, blob: &BlobId) -> Result<(), RuntimeError> {
        match self.log.blob_size(blob).await {
            Ok(_) => return Ok(()),
            Err(LogError::NoBlob(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let path = ["blobs", blob.as_str()];
        let ask = Ask::get(&path).with("session", Some(self.session().to_string()));
        let bytes = match self.core.http.bytes(ask).await {
            Ok(bytes) => bytes,
            // What the server lost, or never had, the mirror cannot have.
            Err(RuntimeError::Log(LogError::NoBlob(_))) => {
                self.kept.missing_blobs += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let id = self.log.put_blob(bytes).await?;
        if id != *blob {
            return Err(RuntimeError::Refused(format!(
                "the server gave other bytes than those of the blob {blob}"
            )));
        }
        Ok(())
    }

    fn say(&self) {
        self.progress.send_if_modified(|kept| {
            let is_news = *kept != self.kept;
            kept.clone_from(&self.kept);
            is_news
        });
    }
}
