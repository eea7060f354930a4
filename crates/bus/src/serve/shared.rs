//! The shell around the [`Scheduler`]: one lock, the channels to responders, and the timer for what nobody serves any more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Addressed;
use super::claim::Claim;
use super::responder::Serve;
use super::scheduler::{Cancelled, Effect, Refusal, RequestId, ResponderId, Scheduler};
use super::ticket::{End, RequestError};
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
    pub(super) claims: mpsc::Sender<Claim<Q>>,
}

pub(super) struct Pending<Q> {
    pub(super) request: Arc<Q>,
    pub(super) cancel: CancellationToken,
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
        pending.cancel.cancel();
        if let Some(told) = pending.end.take() {
            // Whoever does not wait for the end any more misses nothing.
            let _ = told.send(end);
        }
        self.ended.push(pending);
    }

    /// Carries out one effect; `Some` is a claim that its responder is not there to take.
    fn carry_out(&mut self, effect: Effect, shared: &Arc<Shared<Q>>) -> Option<Claim<Q>> {
        match effect {
            Effect::Lost(id) => self.end(id, End::Lost),
            Effect::Unserved(id) => self.end(id, End::Unserved),
            Effect::Give(responder, id) => {
                let pending = self.requests.get(&id)?;
                let claim = Claim {
                    shared: Arc::clone(shared),
                    id,
                    request: Arc::clone(&pending.request),
                    cancel: pending.cancel.clone(),
                    settled: false,
                };
                return match self.responders.get(&responder) {
                    Some(door) => door
                        .claims
                        .try_send(claim)
                        .err()
                        .map(mpsc::error::TrySendError::into_inner),
                    None => Some(claim),
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
        // A claim that nobody takes reports back, so it is dropped when the state is free again.
        let refused: Vec<Claim<Q>> = effects
            .into_iter()
            .filter_map(|effect| state.carry_out(effect, self))
            .collect();
        let ended = std::mem::take(&mut state.ended);
        drop(state);
        drop((refused, ended));
        value
    }

    /// A claim was settled or dropped.
    pub(super) fn ended(self: &Arc<Self>, id: RequestId, settled: bool) {
        self.change(|state| {
            let Some(effects) = state.scheduler.ended(id) else {
                return ((), Vec::new());
            };
            state.end(id, if settled { End::Settled } else { End::Lost });
            ((), effects)
        });
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
            // The receiver ends after what is on its way.
            let known = state.responders.remove(&responder).is_some();
            let effects = known.then(|| state.scheduler.leave(responder, now));
            ((), effects.unwrap_or_default())
        });
        self.expire_later();
    }

    pub(super) fn detach(self: &Arc<Self>, responder: ResponderId) {
        let now = self.now();
        self.change(|state| {
            state.responders.remove(&responder);
            ((), state.scheduler.detach(responder, now))
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
