//! The shell around the [`Scheduler`]: one lock, the channels to responders, and the timer for what nobody serves any more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::claim::{Claim, Keeper};
use super::end::{End, RequestError};
use super::key::Addressed;
use super::responder::Serve;
use super::scheduler::{Cancelled, Effect, Refusal, RequestId, ResponderId, Scheduler};
use crate::sync::lock;

/// How long a request that had waited for a responder waits for another one when that is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// A dispatcher; whoever has a claim or a ticket has it too.
pub(super) struct Shared<Q: Addressed> {
    state: Mutex<State<Q>>,
    began: Instant,
}

pub(super) struct State<Q: Addressed> {
    pub(super) scheduler: Scheduler,
    pub(super) responders: BTreeMap<ResponderId, Door<Q>>,
    pub(super) requests: BTreeMap<RequestId, Pending<Q>>,
    /// Requests that have ended. They are dropped when the state is free again: what is inside them is the code of others.
    ended: Vec<Pending<Q>>,
}

/// The way to a responder.
pub(super) struct Door<Q: Addressed> {
    pub(super) serve: Serve,
    /// Has room for as many as the responder may have: what is on its way counts as given. `None` when it takes nothing new.
    pub(super) way: Way<Q>,
}

/// How a claim reaches a responder.
pub(super) enum Way<Q: Addressed> {
    /// It takes them one by one. The channel has room for as many as it may have: what is on its way counts as given.
    Channel(mpsc::Sender<Claim<Q>>),
    /// It is called with each.
    Handler(Handler<Q>),
}

/// See [`Dispatcher::serve_with`](super::Dispatcher::serve_with).
pub(super) type Handler<Q> = Arc<dyn Fn(Claim<Q>) + Send + Sync>;

/// What is carried out when the state is free again, because it runs the code of others.
enum Later<Q: Addressed> {
    Call(Handler<Q>, Claim<Q>),
    /// A claim that nobody takes reports back when it is dropped.
    Drop(Claim<Q>),
}

pub(super) struct Pending<Q> {
    pub(super) request: Arc<Q>,
    pub(super) cancel: CancellationToken,
    pub(super) abandoned: CancellationToken,
    pub(super) end: Option<oneshot::Sender<End>>,
}

impl<Q: Addressed> State<Q> {
    pub(super) fn error(&self, refusal: Refusal, request: &Arc<Q>) -> RequestError {
        match refusal {
            Refusal::Nobody => RequestError::Nobody {
                topic: request.topic().to_owned(),
                key: request.key().to_owned(),
            },
            Refusal::Full { responder, waiting } => RequestError::Busy {
                responder: self
                    .responders
                    .get(&responder)
                    .map(|door| door.serve.name.clone())
                    .unwrap_or_default(),
                waiting,
            },
        }
    }

    fn end(&mut self, id: RequestId, end: End) {
        let Some(mut pending) = self.requests.remove(&id) else {
            return;
        };
        if end == End::Lost {
            // Nothing that is said of it counts any more. This comes before the cancellation, or a responder that hears that one first
            // would say that the request was interrupted, where nobody knows how it ended.
            pending.abandoned.cancel();
        }
        pending.cancel.cancel();
        if let Some(told) = pending.end.take() {
            // Whoever does not wait for the end any more misses nothing.
            let _ = told.send(end);
        }
        self.ended.push(pending);
    }

    /// Carries out one effect, but for what has to wait until the state is free.
    fn carry_out(&mut self, effect: Effect, shared: &Arc<Shared<Q>>) -> Option<Later<Q>> {
        match effect {
            Effect::Lost(id) => self.end(id, End::Lost),
            Effect::Unserved(id) => self.end(id, End::Unserved),
            Effect::Give(responder, id) => {
                let pending = self.requests.get(&id)?;
                let claim = Claim {
                    keeper: Arc::clone(shared) as Arc<dyn Keeper>,
                    id,
                    request: Arc::clone(&pending.request),
                    cancel: pending.cancel.clone(),
                    abandoned: pending.abandoned.clone(),
                    settled: false,
                };
                let Some(door) = self.responders.get(&responder) else {
                    return Some(Later::Drop(claim));
                };
                return match &door.way {
                    Way::Handler(handler) => Some(Later::Call(Arc::clone(handler), claim)),
                    Way::Channel(claims) => claims
                        .try_send(claim)
                        .err()
                        .map(|full| Later::Drop(full.into_inner())),
                };
            }
        }
        None
    }
}

impl<Q: Addressed> Shared<Q> {
    pub(super) fn new() -> Self {
        let state = State {
            scheduler: Scheduler::default(),
            responders: BTreeMap::new(),
            requests: BTreeMap::new(),
            ended: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            began: Instant::now(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<Q>> {
        lock(&self.state)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Changes the state and carries out what follows.
    pub(super) fn change<T>(self: &Arc<Self>, change: impl FnOnce(&mut State<Q>) -> (T, Vec<Effect>)) -> T {
        let mut state = self.lock();
        let (value, effects) = change(&mut state);
        let later: Vec<Later<Q>> = effects
            .into_iter()
            .filter_map(|effect| state.carry_out(effect, self))
            .collect();
        let ended = std::mem::take(&mut state.ended);
        drop(state);
        drop(ended);
        for later in later {
            match later {
                Later::Call(handler, claim) => handler(claim),
                Later::Drop(claim) => drop(claim),
            }
        }
        value
    }

    /// Whoever asked is gone: what waits is taken out, and whoever has the request is told to drop it.
    pub(super) fn abandon(self: &Arc<Self>, id: RequestId) {
        self.cancel(id);
        let abandoned = self
            .lock()
            .requests
            .get(&id)
            .map(|pending| pending.abandoned.clone());
        if let Some(abandoned) = abandoned {
            abandoned.cancel();
        }
    }

    pub(super) fn cancel(self: &Arc<Self>, id: RequestId) {
        self.change(|state| {
            match state.scheduler.cancel(id) {
                Cancelled::Removed => state.end(id, End::Cancelled),
                Cancelled::Claimed => {
                    if let Some(pending) = state.requests.get(&id) {
                        pending.cancel.cancel();
                    }
                }
                Cancelled::Settled => {}
            }
            ((), Vec::new())
        });
    }

    pub(super) fn leave(self: &Arc<Self>, responder: ResponderId) {
        let now = self.now();
        self.change(|state| {
            // A receiver ends after what is on its way.
            let door = state.responders.remove(&responder);
            let effects = door.is_some().then(|| state.scheduler.leave(responder, now));
            (door, effects.unwrap_or_default())
        });
        self.expire_later();
    }

    pub(super) fn detach(self: &Arc<Self>, responder: ResponderId) {
        let now = self.now();
        self.change(|state| {
            let door = state.responders.remove(&responder);
            (door, state.scheduler.detach(responder, now))
        });
        self.expire_later();
    }

    /// Ends what finds no other responder in time. Outside of a tokio runtime nobody waits: it ends at once.
    fn expire_later(self: &Arc<Self>) {
        let now = self.now();
        let expire = move |shared: &Arc<Self>| shared.change(|state| ((), state.scheduler.expire(now)));
        match tokio::runtime::Handle::try_current() {
            Ok(handle) => {
                let shared = Arc::downgrade(self);
                handle.spawn(async move {
                    tokio::time::sleep(PATIENCE).await;
                    if let Some(shared) = shared.upgrade() {
                        expire(&shared);
                    }
                });
            }
            Err(_) => expire(self),
        }
    }
}

impl<Q: Addressed> Keeper for Shared<Q> {
    fn ended(self: Arc<Self>, id: RequestId, settled: bool) {
        self.change(|state| {
            let Some(effects) = state.scheduler.ended(id, settled) else {
                return ((), Vec::new());
            };
            state.end(id, if settled { End::Settled } else { End::Lost });
            ((), effects)
        });
    }
}
