//! All rooms of a server: each session is opened once for all callers, and closed when idle.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{LogError, OpenRequest, Runtime as _, RuntimeError, Session, SharingFact};
use agentx_types::wire::Problem;
use agentx_types::{AgentConfig, OwnerId, SessionId};

use super::Room;
use super::room::RoomParts;
use crate::counts::ServerCounters;
use crate::feed::FeedBounds;
use crate::wheel::WheelTimeouts;

/// The time limit of the question whether a session has a run.
const LOOK: Duration = Duration::from_secs(1);

/// All rooms of a server.
pub struct Rooms {
    places: Mutex<HashMap<SessionId, Arc<RoomEntry>>>,
    is_over: AtomicBool,
    bounds: FeedBounds,
    patience: WheelTimeouts,
    counts: Arc<ServerCounters>,
}

/// The entry of a room. The lock serialises opening and closing the room.
#[derive(Default)]
struct RoomEntry {
    room: tokio::sync::Mutex<Option<Arc<Room>>>,
}

impl Rooms {
    /// Creates an empty registry.
    pub fn new(bounds: FeedBounds, patience: WheelTimeouts, counts: Arc<ServerCounters>) -> Self {
        Self {
            places: Mutex::default(),
            is_over: AtomicBool::new(false),
            bounds,
            patience,
            counts,
        }
    }

    /// Returns the room of a session for a caller who may act in it. This opens the session, which continues
    /// a run that was cut off. If another process writes the session, or only a newer version may, the room
    /// is read-only.
    ///
    /// # Errors
    /// Returns an error if the session cannot be opened.
    pub async fn enter(
        &self,
        id: &SessionId,
        owner: &OwnerId,
        runtime: &Arc<NodeRuntime>,
    ) -> Result<Arc<Room>, RuntimeError> {
        let place = self.place(id);
        let here = place.room.lock().await;
        let there = alive(&here);
        if let Some(room) = there.as_ref().filter(|room| room.session().is_some()) {
            return Ok(room.clone());
        }
        let room = there.unwrap_or_else(|| self.build(id, owner, runtime));
        let request = OpenRequest::Resume(id.clone(), Vec::new());
        let made = match self.begin(&room, request, runtime).await {
            Ok(()) | Err(RuntimeError::Log(LogError::Busy { .. })) => Ok(room),
            Err(RuntimeError::Refused(_)) if runtime.needs_newer(id).await.unwrap_or(false) => Ok(room),
            Err(error) => Err(error),
        };
        self.settle(id, &place, here, made)
    }

    /// Returns the room of a session for a reader. This does not open the session, so nothing runs because of
    /// a reader. If it is already open, the reader gets its live events.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read.
    pub async fn look(
        &self,
        id: &SessionId,
        owner: &OwnerId,
        runtime: &Arc<NodeRuntime>,
    ) -> Result<Arc<Room>, RuntimeError> {
        let place = self.place(id);
        let here = place.room.lock().await;
        if let Some(room) = alive(&here) {
            return Ok(room);
        }
        let made = match self.check_open() {
            Ok(()) => {
                let room = self.build(id, owner, runtime);
                room.learn().await.map(|()| room)
            }
            Err(error) => Err(error),
        };
        self.settle(id, &place, here, made)
    }

    /// Returns the room of a session, if there is one.
    pub async fn find(&self, id: &SessionId) -> Option<Arc<Room>> {
        let place = self.lock().get(id).cloned()?;
        let here = place.room.lock().await;
        alive(&here)
    }

    /// Returns the session of a room, to be written.
    ///
    /// # Errors
    /// Returns [`LogError::Busy`] if another process writes it.
    pub async fn write(
        &self,
        room: &Arc<Room>,
        runtime: &Arc<NodeRuntime>,
    ) -> Result<Arc<dyn Session>, RuntimeError> {
        if let Some(session) = room.session() {
            return Ok(session.clone());
        }
        let place = self.place(room.id());
        // An earlier caller has already opened it.
        let _here = place.room.lock().await;
        if room.session().is_none() {
            let request = OpenRequest::Resume(room.id().clone(), Vec::new());
            self.begin(room, request, runtime).await?;
        }
        let gone = || RuntimeError::Gone {
            session: room.id().clone(),
            why: "it was closed".into(),
        };
        room.session().cloned().ok_or_else(gone)
    }

    /// Returns a new session, with its room.
    ///
    /// # Errors
    /// Returns an error if the runtime cannot create it; see [`RuntimeError`].
    pub async fn create(
        &self,
        config: AgentConfig,
        runtime: &Arc<NodeRuntime>,
    ) -> Result<Arc<Room>, RuntimeError> {
        self.check_open()?;
        let session = runtime.open(OpenRequest::New(Box::new(config))).await?;
        let id = session.id().clone();
        let room = self.build(&id, runtime.owner(), runtime);
        room.take(session).await?;
        self.counts.opened.add(1);
        let place = self.place(&id);
        *place.room.lock().await = Some(room.clone());
        Ok(room)
    }

    /// Closes a session if this process writes it, and runs `then` before it can be opened again; its readers
    /// get `problem`.
    pub async fn close_then<T>(&self, id: &SessionId, problem: &Problem, then: impl Future<Output = T>) -> T {
        let place = self.place(id);
        let mut here = place.room.lock().await;
        if let Some(room) = here.take() {
            room.end_readers(problem).await;
            room.close().await;
        }
        let done = then.await;
        drop(here);
        self.forget(id, &place);
        done
    }

    /// Returns all rooms that are open now.
    pub(crate) async fn open(&self) -> Vec<Arc<Room>> {
        let places: Vec<Arc<RoomEntry>> = self.lock().values().cloned().collect();
        let mut rooms = Vec::new();
        for place in places {
            let here = place.room.lock().await;
            rooms.extend(alive(&here));
        }
        rooms
    }

    /// Closes idle rooms, and lets time pass in the others.
    pub async fn sweep(&self, idle: Duration) {
        let places: Vec<(SessionId, Arc<RoomEntry>)> = {
            let places = self.lock();
            places
                .iter()
                .map(|(id, place)| (id.clone(), place.clone()))
                .collect()
        };
        for (id, place) in places {
            // The holder still works there.
            let Ok(mut here) = place.room.try_lock() else {
                continue;
            };
            if let Some(room) = here.as_ref() {
                restore_mode_if_needed(room).await;
                if !room.has_been_idle(idle) {
                    let room = room.clone();
                    drop(here);
                    tick(&room).await;
                    continue;
                }
                let is_busy = tokio::time::timeout(LOOK, is_busy(room)).await;
                if is_busy.unwrap_or(true) {
                    continue;
                }
            }
            if let Some(room) = here.take() {
                tracing::debug!(session = %id, "session closed");
                room.close().await;
            }
            drop(here);
            self.forget(&id, &place);
        }
    }

    fn check_open(&self) -> Result<(), RuntimeError> {
        if !self.is_over.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(RuntimeError::Remote {
            code: "closing".into(),
            detail: "the server is shutting down; try again in a moment".into(),
        })
    }

    /// Closes all rooms at once; none is opened after that. Returns how many sessions could not record their
    /// end, and the error.
    pub async fn close_all(&self) -> Option<(usize, LogError)> {
        self.is_over.store(true, Ordering::Release);
        let places: Vec<Arc<RoomEntry>> = self.lock().drain().map(|(_, place)| place).collect();
        let mut closing = tokio::task::JoinSet::new();
        for place in places {
            closing.spawn(async move {
                match place.room.lock().await.take() {
                    Some(room) => room.close().await,
                    None => None,
                }
            });
        }
        let mut failed = None;
        while let Some(closed) = closing.join_next().await {
            if let Ok(Some(error)) = closed {
                let (count, _) = failed.get_or_insert((0, error));
                *count += 1;
            }
        }
        failed
    }

    /// Returns the number of sessions that are open.
    pub fn open_rooms(&self) -> usize {
        self.lock().len()
    }

    async fn begin(
        &self,
        room: &Arc<Room>,
        request: OpenRequest,
        runtime: &Arc<NodeRuntime>,
    ) -> Result<(), RuntimeError> {
        self.check_open()?;
        let session = runtime.open(request).await?;
        self.counts.opened.add(1);
        room.take(session).await
    }

    fn build(&self, id: &SessionId, owner: &OwnerId, runtime: &Arc<NodeRuntime>) -> Arc<Room> {
        Arc::new(Room::new(RoomParts {
            id: id.clone(),
            owner: owner.clone(),
            runtime: runtime.clone(),
            bounds: self.bounds,
            patience: self.patience,
            counts: self.counts.clone(),
        }))
    }

    fn place(&self, id: &SessionId) -> Arc<RoomEntry> {
        self.lock().entry(id.clone()).or_default().clone()
    }

    /// Puts the opened room into its entry, or removes the entry if that failed.
    fn settle(
        &self,
        id: &SessionId,
        place: &Arc<RoomEntry>,
        mut here: tokio::sync::MutexGuard<'_, Option<Arc<Room>>>,
        made: Result<Arc<Room>, RuntimeError>,
    ) -> Result<Arc<Room>, RuntimeError> {
        if let Ok(room) = &made {
            *here = Some(room.clone());
        } else {
            drop(here);
            self.forget(id, place);
        }
        made
    }

    /// Removes an empty entry from the map, unless a caller is about to use it.
    fn forget(&self, id: &SessionId, place: &Arc<RoomEntry>) {
        let mut places = self.lock();
        let is_empty = place.room.try_lock().is_ok_and(|room| room.is_none());
        // One reference is the map's, one the caller's.
        if is_empty
            && Arc::strong_count(place) <= 2
            && places.get(id).is_some_and(|known| Arc::ptr_eq(known, place))
        {
            places.remove(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<RoomEntry>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the room of an entry, if it can be used.
fn alive(here: &Option<Arc<Room>>) -> Option<Arc<Room>> {
    here.as_ref().filter(|room| !room.is_dead()).cloned()
}

/// Returns whether a session has a run or a waiting question. A session that does not answer counts as idle.
async fn is_busy(room: &Arc<Room>) -> bool {
    let Some(session) = room.session() else {
        return false;
    };
    let state = session.state().await;
    state.is_ok_and(|state| state.run.is_some_and(|run| !run.status.is_final()))
}

/// Restores the approval mode if the program that changed it has gone.
async fn restore_mode_if_needed(room: &Room) {
    if room.needs_restore()
        && let Ok(_gate) = room.gate.try_lock()
    {
        room.restore_mode().await;
    }
}

/// Lets the time pass for the wheel: a driver may have been gone for too long.
async fn tick(room: &Arc<Room>) {
    let now = room.now_ms();
    if room.wheel().tick(now).is_none() {
        return;
    }
    let Some(session) = room.session() else { return };
    // The holder of the gate does something that needs the wheel, or is about to.
    let Ok(_gate) = room.gate.try_lock() else { return };
    let changed = room.wheel().tick(room.now_ms());
    let Some(changed) = changed else { return };
    match session.record_sharing(SharingFact::Wheel(changed.clone())).await {
        Ok(_) => {
            room.turned(&changed);
            room.restore_mode_after(&changed).await;
        }
        Err(error) => room.note_failure(&error),
    }
}
