//! The shell around the [`Scheduler`]: one lock, the channels to responders, and the timer for requests that
//! no longer have a responder.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::claim::{Claim, ClaimKeeper};
use super::end::{RequestEnd, RequestError};
use super::key_pattern::Addressed;
use super::responder::Serve;
use super::scheduler::{Cancelled, RequestId, RequestRefusal, ResponderId, Scheduler, SchedulerOutput};
use crate::sync::lock;

/// Time for which a request that had waited for a responder waits for another one when that is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state of a dispatcher, which claims and tickets share.
pub(super) struct DispatcherShared<Q: Addressed> {
    state: Mutex<DispatcherState<Q>>,
    began: Instant,
}

pub(super) struct DispatcherState<Q: Addressed> {
    pub(super) scheduler: Scheduler,
    pub(super) responders: BTreeMap<ResponderId, ResponderChannel<Q>>,
    pub(super) requests: BTreeMap<RequestId, PendingRequest<Q>>,
    /// Requests that have ended. They are dropped after the lock is released, because dropping them may run
    /// foreign code.
    ended: Vec<PendingRequest<Q>>,
}

/// The way to a responder.
pub(super) struct ResponderChannel<Q: Addressed> {
    pub(super) serve: Serve,
    /// The channel to the responder, with the responder's limit as its capacity: a request on its way counts
    /// as delivered. `None` if it accepts nothing new.
    pub(super) way: ClaimDelivery<Q>,
}

/// The delivery of a claim to a responder.
pub(super) enum ClaimDelivery<Q: Addressed> {
    /// The responder takes requests one by one. The channel's capacity is the responder's limit: a request in
    /// the channel counts as delivered.
    Channel(mpsc::Sender<Claim<Q>>),
    /// A function that gets each request.
    Handler(Handler<Q>),
}

/// See [`Dispatcher::serve_with`](super::Dispatcher::serve_with).
pub(super) type Handler<Q> = Arc<dyn Fn(Claim<Q>) + Send + Sync>;

/// A call that runs when the state is free again, because it runs the code of others.
enum DeferredCall<Q: Addressed> {
    Call(Handler<Q>, Claim<Q>),
    /// A claim that nobody takes, which reports back when it is dropped.
    Drop(Claim<Q>),
}

pub(super) struct PendingRequest<Q> {
    pub(super) request: Arc<Q>,
    pub(super) cancel: CancellationToken,
    pub(super) abandoned: CancellationToken,
    pub(super) end: Option<oneshot::Sender<RequestEnd>>,
}

impl<Q: Addressed> DispatcherState<Q> {
    pub(super) fn error(&self, refusal: RequestRefusal, request: &Arc<Q>) -> RequestError {
        match refusal {
            RequestRefusal::Nobody => RequestError::Nobody {
                topic: request.topic().to_owned(),
                key: request.key().to_owned(),
            },
            RequestRefusal::Full { responder, waiting } => RequestError::Busy {
                responder: self
                    .responders
                    .get(&responder)
                    .map(|door| door.serve.name.clone())
                    .unwrap_or_default(),
                waiting,
            },
        }
    }

    fn end(&mut self, id: RequestId, end: RequestEnd) {
        let Some(mut pending) = self.requests.remove(&id) else {
            return;
        };
        if end == RequestEnd::Lost {
            // Cancelled first, so that a responder that reacts to `cancel` cannot report `interrupted` for a
            // request whose outcome is unknown.
            pending.abandoned.cancel();
        }
        pending.cancel.cancel();
        if let Some(told) = pending.end.take() {
            // Ignore the error: the receiver is gone.
            let _ = told.send(end);
        }
        self.ended.push(pending);
    }

    /// Carries out one effect, except the part that has to wait until the lock is released.
    fn carry_out(
        &mut self,
        effect: SchedulerOutput,
        shared: &Arc<DispatcherShared<Q>>,
    ) -> Option<DeferredCall<Q>> {
        match effect {
            SchedulerOutput::Lost(id) => self.end(id, RequestEnd::Lost),
            SchedulerOutput::Unserved(id) => self.end(id, RequestEnd::Unserved),
            SchedulerOutput::Give(responder, id) => {
                let pending = self.requests.get(&id)?;
                let claim = Claim {
                    keeper: Arc::clone(shared) as Arc<dyn ClaimKeeper>,
                    id,
                    request: Arc::clone(&pending.request),
                    cancel: pending.cancel.clone(),
                    abandoned: pending.abandoned.clone(),
                    settled: false,
                };
                let Some(door) = self.responders.get(&responder) else {
                    return Some(DeferredCall::Drop(claim));
                };
                return match &door.way {
                    ClaimDelivery::Handler(handler) => Some(DeferredCall::Call(Arc::clone(handler), claim)),
                    ClaimDelivery::Channel(claims) => claims
                        .try_send(claim)
                        .err()
                        .map(|full| DeferredCall::Drop(full.into_inner())),
                };
            }
        }
        None
    }
}

impl<Q: Addressed> DispatcherShared<Q> {
    pub(super) fn new() -> Self {
        let state = DispatcherState {
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

    pub(super) fn lock(&self) -> MutexGuard<'_, DispatcherState<Q>> {
        lock(&self.state)
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Changes the state and carries out the consequences.
    pub(super) fn change<T>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut DispatcherState<Q>) -> (T, Vec<SchedulerOutput>),
    ) -> T {
        let mut state = self.lock();
        let (value, effects) = change(&mut state);
        let later: Vec<DeferredCall<Q>> = effects
            .into_iter()
            .filter_map(|effect| state.carry_out(effect, self))
            .collect();
        let ended = std::mem::take(&mut state.ended);
        drop(state);
        drop(ended);
        for later in later {
            match later {
                DeferredCall::Call(handler, claim) => handler(claim),
                DeferredCall::Drop(claim) => drop(claim),
            }
        }
        value
    }

    /// Abandons a request whose caller is gone: a waiting request is removed, and the responder that has it
    /// is asked to drop it.
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
                Cancelled::Removed => state.end(id, RequestEnd::Cancelled),
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
            // The receiver ends after the requests in its channel.
            let door = state.responders.remove(&responder);
            let effects = door.is_some().then(|| state.scheduler.drain(responder, now));
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

    /// Ends requests that find no other responder in time. Outside of a tokio runtime they end at once.
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

impl<Q: Addressed> ClaimKeeper for DispatcherShared<Q> {
    fn ended(self: Arc<Self>, id: RequestId, settled: bool) {
        self.change(|state| {
            let Some(effects) = state.scheduler.ended(id, settled) else {
                return ((), Vec::new());
            };
            state.end(
                id,
                if settled {
                    RequestEnd::Settled
                } else {
                    RequestEnd::Lost
                },
            );
            ((), effects)
        });
    }
}
