//! A session that people share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{BoxFuture, Fact, LogError, Runtime as _, RuntimeError, Session, Subscription, View};
use agentx_types::wire::{ServerNotice, Wheel as WheelNotice, WireView};
use agentx_types::{AgentKind, Condensing, ConfigChange, OwnerId, SessionId, WheelChanged, WheelReason};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::RoomPresence;
use super::auto_approval::TemporaryApproval;
use crate::counts::ServerCounters;
use crate::feed::{FactSource, Feed, FeedBounds, FeedPump, ViewFold};
use crate::wheel::{Wheel, WheelTimeouts};

/// The number of folds that are kept for those who come back.
const LENSES: usize = 4;

/// A session that people share. It stays open while it is used, and for a while after.
pub struct Room {
    id: SessionId,
    owner: OwnerId,
    runtime: Arc<NodeRuntime>,
    /// The session; empty while the room is read-only, because no person who may act in it is present, or
    /// another process writes it.
    session: OnceLock<Arc<dyn Session>>,
    /// Held while a change of the driver is decided and recorded, and while the driver acts.
    pub(crate) gate: tokio::sync::Mutex<()>,
    wheel: Mutex<Wheel>,
    last_reason: Mutex<Option<WheelReason>>,
    pub(crate) people: RoomPresence,
    pub(super) auto_approval: Mutex<Option<TemporaryApproval>>,
    pub(super) patience: WheelTimeouts,
    feeds: tokio::sync::Mutex<[Option<RunningSession>; 3]>,
    folds: Arc<RoomFolds>,
    bounds: FeedBounds,
    counts: Arc<ServerCounters>,
    is_dead: Arc<AtomicBool>,
    /// Whether the session's agent is older than condensing.
    predates_condensing: AtomicBool,
    idle_since: Mutex<Option<Instant>>,
    began: Instant,
}

struct RunningSession {
    feed: Arc<Feed>,
    task: AbortHandle,
    /// The sender with which the feed of a read-only session gets live facts once the session is open.
    opened: mpsc::Sender<Subscription>,
}

pub(crate) struct RoomParts {
    pub(crate) id: SessionId,
    pub(crate) owner: OwnerId,
    pub(crate) runtime: Arc<NodeRuntime>,
    pub(crate) bounds: FeedBounds,
    pub(crate) patience: WheelTimeouts,
    pub(crate) counts: Arc<ServerCounters>,
}

impl Room {
    pub(crate) fn new(parts: RoomParts) -> Self {
        let folds = RoomFolds {
            id: parts.id.clone(),
            owner: parts.owner.clone(),
            runtime: parts.runtime.clone(),
            kept: Mutex::new(Vec::new()),
        };
        Self {
            id: parts.id,
            owner: parts.owner,
            runtime: parts.runtime,
            session: OnceLock::new(),
            gate: tokio::sync::Mutex::new(()),
            wheel: Mutex::new(Wheel::new(parts.patience)),
            last_reason: Mutex::new(None),
            people: RoomPresence::default(),
            auto_approval: Mutex::new(None),
            patience: parts.patience,
            feeds: tokio::sync::Mutex::default(),
            folds: Arc::new(folds),
            bounds: parts.bounds,
            counts: parts.counts,
            is_dead: Arc::default(),
            predates_condensing: AtomicBool::new(false),
            idle_since: Mutex::new(None),
            began: Instant::now(),
        }
    }

    /// Returns the id of the session.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the owner of the session.
    pub fn owner(&self) -> &OwnerId {
        &self.owner
    }

    /// Returns the session, if this process writes it.
    pub fn session(&self) -> Option<&Arc<dyn Session>> {
        self.session.get()
    }

    /// Adds the session, which this process writes from now on.
    pub(crate) async fn take(&self, session: Arc<dyn Session>) -> Result<(), RuntimeError> {
        let state = session.state().await?;
        self.wheel().learn(&state.sharing, self.now_ms());
        let predates = state.config.kind == AgentKind::React && state.config.condensing.is_none();
        self.predates_condensing.store(predates, Ordering::Relaxed);
        if self.session.set(session.clone()).is_ok() {
            self.hear(session.as_ref()).await;
        }
        Ok(())
    }

    /// Reads from the log who drives a read-only session.
    pub(crate) async fn learn(&self) -> Result<(), RuntimeError> {
        let state = self.runtime.state(&self.id).await?;
        self.wheel().learn(&state.sharing, self.now_ms());
        Ok(())
    }

    /// Connects the existing readers to the session, so that they no longer poll its log.
    async fn hear(&self, session: &dyn Session) {
        for running in self.feeds.lock().await.iter().flatten() {
            match session.subscribe(running.feed.mark(), View::Environment).await {
                // A reader whose feed has ended does not need it.
                Ok(facts) => {
                    let _ = running.opened.try_send(facts);
                }
                Err(error) => self.note_failure(&error),
            }
        }
    }

    /// Turns on condensing in an older session. The caller holds the gate and is about to send a message;
    /// readers change nothing.
    pub(crate) async fn enable_condensing(&self, condensing: &Condensing) -> Result<(), RuntimeError> {
        if let Some(session) = self.session()
            && self.predates_condensing.load(Ordering::Relaxed)
        {
            let condensing = Some(Box::new(condensing.clone()));
            session.change(ConfigChange::Condensing(condensing)).await?;
            self.predates_condensing.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Milliseconds since the room was made; never backwards.
    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn wheel(&self) -> MutexGuard<'_, Wheel> {
        self.wheel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a recorded change of the wheel.
    pub(crate) fn turned(self: &Arc<Self>, changed: &WheelChanged) {
        *self.last_reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(changed.reason);
        self.wheel().apply(changed, self.now_ms());
        self.people.tell(&self.wheel_notice());
        self.announce();
    }

    /// Returns the notice about who drives, and who asks to.
    pub fn wheel_notice(&self) -> ServerNotice {
        let wheel = self.wheel();
        WheelNotice {
            session_id: self.id.clone(),
            epoch: wheel.epoch(),
            seat: wheel.seat().cloned(),
            reason: *self.last_reason.lock().unwrap_or_else(PoisonError::into_inner),
            asked_by: wheel.asked_by().cloned(),
        }
        .into()
    }

    /// Returns the `seq` of the last committed event.
    ///
    /// # Errors
    /// Returns an error if the session cannot continue.
    pub async fn head(&self) -> Result<u64, RuntimeError> {
        match self.session() {
            Some(session) => {
                let state = session.state().await;
                Ok(state.inspect_err(|error| self.note_failure(error))?.last_seq)
            }
            None => Ok(self.runtime.info(&self.id).await?.last_seq),
        }
    }

    /// Notes an error after which the session has to be opened again before it can be used.
    pub(crate) fn note_failure(&self, error: &RuntimeError) {
        let is_over = match error {
            RuntimeError::Gone { .. } => true,
            RuntimeError::Log(error) => !matches!(error, LogError::NotFound(_) | LogError::NoBlob(_)),
            _ => false,
        };
        if is_over {
            self.is_dead.store(true, Ordering::Release);
        }
    }

    /// Returns whether the session has to be opened again.
    pub(crate) fn is_dead(&self) -> bool {
        self.is_dead.load(Ordering::Acquire)
    }

    /// Returns the source of the session's facts.
    pub(crate) fn source(&self) -> Arc<dyn FactSource> {
        self.folds.clone()
    }

    /// Returns the feed of a view, and starts it if there is none.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read.
    pub async fn feed(&self, view: WireView) -> Result<Arc<Feed>, RuntimeError> {
        let mut feeds = self.feeds.lock().await;
        let place = &mut feeds[index(view)];
        if let Some(running) = place.as_ref().filter(|running| !running.feed.has_ended()) {
            return Ok(running.feed.clone());
        }
        let head = self.head().await?;
        let feed = Arc::new(Feed::new(head, self.bounds));
        let (opened, later) = mpsc::channel(1);
        let pump = FeedPump {
            feed: feed.clone(),
            source: self.folds.clone(),
            fold: self.folds.fold(view, head),
            facts: self.facts_after(head).await?,
            later,
        };
        let (counts, is_dead) = (self.counts.clone(), self.is_dead.clone());
        let task = tokio::spawn(async move {
            pump.run(|readers| counts.overrun.add(readers as u64)).await;
            // The feed has ended: the session has to be opened again to continue.
            is_dead.store(true, Ordering::Release);
        });
        *place = Some(RunningSession {
            feed: feed.clone(),
            task: task.abort_handle(),
            opened,
        });
        Ok(feed)
    }

    async fn facts_after(&self, head: u64) -> Result<Subscription, RuntimeError> {
        match self.session() {
            Some(session) => session.subscribe(head, View::Environment).await,
            None => self.runtime.watch(&self.id, head, View::Environment, true).await,
        }
    }

    /// Returns whether the room has been unused for `idle`, as far as can be seen from outside.
    pub(crate) fn has_been_idle(self: &Arc<Self>, idle: Duration) -> bool {
        let used = !self.people.is_empty() || self.is_read() || self.is_held();
        let mut since = self.idle_since.lock().unwrap_or_else(PoisonError::into_inner);
        if used {
            *since = None;
            return false;
        }
        since.get_or_insert_with(Instant::now).elapsed() >= idle
    }

    /// Returns whether anything but the map of rooms holds the room or its session.
    fn is_held(self: &Arc<Self>) -> bool {
        let session = self.session().map_or(1, Arc::strong_count);
        Arc::strong_count(self) > 1 || session > 1
    }

    /// Returns whether a feed has readers.
    fn is_read(&self) -> bool {
        let Ok(feeds) = self.feeds.try_lock() else {
            return true;
        };
        feeds.iter().flatten().any(|running| running.feed.readers() > 0)
    }

    /// Stops the tasks of the room and releases the session. Returns the error if its end could not be
    /// recorded and nothing had failed before.
    pub(crate) async fn close(&self) -> Option<LogError> {
        let mut failure = None;
        if let Some(session) = self.session() {
            let had_failed = session.failure().is_some();
            session.close().await;
            failure = session.failure().filter(|_| !had_failed);
        }
        self.is_dead.store(true, Ordering::Release);
        for running in self.feeds.lock().await.iter().flatten() {
            running.task.abort();
        }
        failure
    }

    /// Ends all readers with a problem.
    pub(crate) async fn end_readers(&self, problem: &agentx_types::wire::Problem) {
        for running in self.feeds.lock().await.iter().flatten() {
            running.feed.end(problem.clone());
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        for running in self.feeds.get_mut().iter().flatten() {
            running.task.abort();
        }
    }
}

fn index(view: WireView) -> usize {
    match view {
        WireView::Environment => 0,
        WireView::Runtime => 1,
        WireView::Ui => 2,
    }
}

/// The facts of a session, and its folds at some points.
struct RoomFolds {
    id: SessionId,
    owner: OwnerId,
    runtime: Arc<NodeRuntime>,
    kept: Mutex<Vec<ViewFold>>,
}

impl FactSource for RoomFolds {
    fn facts(&self, after_seq: u64, limit: usize) -> BoxFuture<'static, Result<Vec<Fact>, RuntimeError>> {
        let (runtime, id) = (self.runtime.clone(), self.id.clone());
        Box::pin(async move { runtime.facts(&id, after_seq, limit).await })
    }

    fn fold(&self, view: WireView, seq: u64) -> ViewFold {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let usable = kept.iter().filter(|fold| fold.view() == view && fold.at() <= seq);
        let latest = usable.max_by_key(|fold| fold.at());
        latest
            .cloned()
            .unwrap_or_else(|| ViewFold::new(&self.id, &self.owner, view))
    }

    fn keep(&self, fold: ViewFold) {
        if fold.view() == WireView::Environment {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == LENSES {
            kept.remove(0);
        }
        kept.push(fold);
    }
}
