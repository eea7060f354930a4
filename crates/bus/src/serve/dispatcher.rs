//! The interface to attach responders and to send requests.

use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::claim::Claim;
use super::dispatcher_state::{ClaimDelivery, DispatcherShared, PendingRequest, ResponderChannel};
use super::end::RequestError;
use super::key_pattern::Addressed;
use super::requests::Requests;
use super::responder::{Grace, ResponderInfo, Serve};
use super::scheduler::{Address, ResponderId};
use super::ticket::Ticket;

/// Hands each request to the one responder that serves it. Clones refer to the same dispatcher.
///
/// ```
/// use agentx_bus::{Addressed, Dispatcher, RequestEnd, KeyPattern, Serve};
///
/// struct Call(&'static str);
///
/// impl Addressed for Call {
///     fn topic(&self) -> &str { "tools.requests" }
///     fn key(&self) -> &str { self.0 }
///     fn session(&self) -> &str { "ses_1" }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let dispatcher = Dispatcher::new();
/// let mut calls = dispatcher.serve(Serve::new("weather").on("tools.requests", KeyPattern::new("weather")));
///
/// let ticket = dispatcher.request(Call("weather")).expect("the weather is served");
/// let claim = calls.next().await.expect("it is there");
/// assert_eq!(claim.key(), "weather");
/// claim.settle();
/// assert_eq!(ticket.ended().await, RequestEnd::Settled);
///
/// let nobody = dispatcher.request(Call("tides")).expect_err("the tides are not");
/// assert_eq!(nobody.to_string(), "nobody serves tools.requests `tides`");
/// # }
/// ```
pub struct Dispatcher<Q: Addressed> {
    shared: Arc<DispatcherShared<Q>>,
}

impl<Q: Addressed> Dispatcher<Q> {
    /// A dispatcher without responders. It needs a tokio runtime only if responders leave while requests
    /// wait.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(DispatcherShared::new()),
        }
    }

    /// Attaches a responder that takes its requests one by one. When this returns, it gets the requests that
    /// it serves most specifically.
    pub fn serve(&self, serve: Serve) -> Requests<Q> {
        let (sender, claims) = mpsc::channel(serve.capacity);
        let responder = self.attach(serve, ClaimDelivery::Channel(sender));
        Requests {
            shared: Arc::clone(&self.shared),
            responder,
            claims,
        }
    }

    /// Attaches a responder that is called with each request, on the thread that makes the request or frees a
    /// place: it has to be quick, for example by starting a task. It is dropped when it is detached, or with
    /// the dispatcher.
    pub fn serve_with(
        &self,
        serve: Serve,
        handler: impl Fn(Claim<Q>) + Send + Sync + 'static,
    ) -> ResponderId {
        self.attach(serve, ClaimDelivery::Handler(Arc::new(handler)))
    }

    fn attach(&self, serve: Serve, way: ClaimDelivery<Q>) -> ResponderId {
        self.shared.change(|state| {
            let (id, effects) = state
                .scheduler
                .attach(serve.served.clone(), serve.capacity, serve.waiting);
            state.responders.insert(id, ResponderChannel { serve, way });
            (id, effects)
        })
    }

    /// Detaches a responder: it gets no new requests, and those that wait for it go to others. Requests that
    /// no other responder serves wait ten seconds for one.
    pub fn detach(&self, responder: ResponderId, grace: Grace) {
        match grace {
            Grace::Finish => self.shared.leave(responder),
            Grace::Now => self.shared.detach(responder),
        }
    }

    /// Hands in a request. If the responder has a free place, it has the request when this returns.
    ///
    /// # Errors
    ///
    /// Returns [`RequestError`] if nobody serves the request or too many requests wait. Then nothing was
    /// done.
    pub fn request(&self, request: impl Into<Arc<Q>>) -> Result<Ticket<Q>, RequestError> {
        let request = request.into();
        let address = Address {
            topic: request.topic().into(),
            key: request.key().into(),
            session: request.session().into(),
        };
        let (ended, end) = oneshot::channel();
        let taken = self.shared.change(|state| {
            let (id, effect) = match state.scheduler.request(address) {
                Ok(taken) => taken,
                Err(refusal) => return (Err(state.error(refusal, &request)), Vec::new()),
            };
            let cancel = CancellationToken::new();
            state.requests.insert(
                id,
                PendingRequest {
                    request,
                    cancel,
                    abandoned: CancellationToken::new(),
                    end: Some(ended),
                },
            );
            (Ok(id), effect.into_iter().collect())
        });
        Ok(Ticket {
            shared: Arc::clone(&self.shared),
            id: taken?,
            end,
        })
    }

    /// All responders, in the order in which they were attached.
    pub fn responders(&self) -> Vec<ResponderInfo> {
        let state = self.shared.lock();
        let info = |(id, door): (&ResponderId, &ResponderChannel<Q>)| {
            let load = state.scheduler.load(*id);
            let served = door.serve.served.iter();
            ResponderInfo {
                id: *id,
                name: door.serve.name.clone(),
                serves: served
                    .map(|(topic, key)| (topic.to_string(), key.to_string()))
                    .collect(),
                capacity: door.serve.capacity,
                claimed: load.claimed,
                waiting: load.waiting,
                settled: load.settled,
                lost: load.lost,
            }
        };
        state.responders.iter().map(info).collect()
    }
}

impl<Q: Addressed> Clone for Dispatcher<Q> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<Q: Addressed> Default for Dispatcher<Q> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Q: Addressed> fmt::Debug for Dispatcher<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Dispatcher({} responders)",
            self.shared.lock().responders.len()
        )
    }
}
