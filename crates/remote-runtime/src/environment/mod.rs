//! A WebSocket as the environment of a runtime: it brings the facts of sessions that another runtime writes.
//! It runs on a bus like every environment, reconnects automatically, and delivers each fact in order.
//!
//! ```text
//!  Connection (many clones) ── requests, 256 wait ──► ConnectionDriver ── frames ──► Socket
//!         ▲                                            │  ReconnectMachine
//!         └── answers, ConnectionState ────────────────┤
//!  SessionFeed (one for each session) ◄──── facts ─────┘──► the bus, if anybody subscribes
//! ```
//!
//! One task drives everything and is the only one that touches the socket, so there is one state of a
//! connection. Readers share feeds: many readers of a session cost the server one subscription.

mod calls;
mod driver;
mod feed;
mod link_reports;
mod recent_facts;
mod socket;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentx_bus::{Bus, Reactor, ReactorFailure, ReactorTask};
use agentx_runtime::{RuntimeError, SystemEvent, TransportReports};
use agentx_types::SessionId;
use agentx_types::wire::{Accepted, ClientRequest};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::peer::Peer;
use crate::reconnect::{MachineSettings, RequestFailure, SubscriptionStart};
use crate::{ConnectOptions, ConnectionState, ServerEndpoint};
pub use calls::CallsWaiting;
use calls::ReportedCalls;
use driver::{ConnectionDriver, Parts, RequestReply};
pub use feed::People;
pub(crate) use feed::{Facts, FeedSubscription, SessionFeed};
use link_reports::LinkReports;
use socket::Dialler;

/// The number of requests that may wait for the driver.
const QUEUED_REQUESTS: usize = 256;

/// A request to the driver of a connection.
enum ConnectionRequest {
    /// Follow the events of a session, from after this one or earlier.
    Follow {
        feed: Arc<SessionFeed>,
        after_seq: u64,
        reply: oneshot::Sender<Result<SubscriptionStart, RequestFailure>>,
    },
    /// Send a request to the server.
    Request {
        token: u64,
        request: Box<ClientRequest>,
        reply: oneshot::Sender<RequestReply>,
    },
    /// Drop a request whose caller has given up. The server may still execute it.
    Cancel(u64),
    /// Connect now.
    Dial,
}

/// The state that all handles of a connection share.
struct ConnectionShared {
    /// The feeds of the held sessions.
    feeds: Mutex<HashMap<SessionId, Arc<SessionFeed>>>,
    state: watch::Sender<ConnectionState>,
    /// Calls that wait for a decision.
    calls: ReportedCalls,
    /// A feed lost its last holder.
    released: Notify,
}

impl ConnectionShared {
    fn feeds(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<SessionFeed>>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the feeds without holders. A reader that comes now gets a new one.
    fn take_unheld(&self) -> Vec<Arc<SessionFeed>> {
        let mut feeds = self.feeds();
        feeds
            .extract_if(|_, feed| !feed.is_held())
            .map(|(_, feed)| feed)
            .collect()
    }

    /// Removes a feed that has ended, unless another one has replaced it.
    fn remove(&self, feed: &Arc<SessionFeed>) {
        let mut feeds = self.feeds();
        if feeds
            .get(&feed.session)
            .is_some_and(|known| Arc::ptr_eq(known, feed))
        {
            feeds.remove(&feed.session);
        }
    }
}

/// The environment of a server. Started on a bus, it publishes the facts of the sessions that its
/// [`Connection`] requests, and reports each change of its connection
/// ([`SystemEvent::Transport`]).
///
/// It suits a program that reads sessions of a server on a bus, together with other events, such as a logger
/// or a monitor. For a session with its meaning, its history and its people, use a
/// [`RemoteRuntime`](crate::RemoteRuntime), which contains an environment.
///
/// ```no_run
/// use agentx_bus::{Bus, BusDelivery, Filter, Queue, Reactors, Restart};
/// use agentx_remote_runtime::{ConnectOptions, WebSocketEnvironment, Credentials};
/// use agentx_runtime::SystemEvent;
///
/// # async fn hear() -> Result<(), Box<dyn std::error::Error>> {
/// let bus = Bus::<SystemEvent>::new();
/// let mut heard = bus.subscribe("monitor", Filter::all(), Queue::lag(1024))?;
/// let options = ConnectOptions::new("https://agents.example.com", Credentials::Visitor, "monitor");
/// let (environment, connection) = WebSocketEnvironment::new(options)?;
/// let mut reactors = Reactors::new(bus, |report| eprintln!("{report}"));
/// reactors.start(environment, Restart::Never).await?;
/// let _published = connection.publish(&"ses_1".into(), 0).await?;
/// while let Ok(BusDelivery::Event(event)) = heard.recv().await {
///     if let SystemEvent::Environment(fact) = &*event {
///         println!("{} {:?}", fact.seq, fact.event);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct WebSocketEnvironment {
    options: ConnectOptions,
    endpoint: ServerEndpoint,
    dialler: Dialler,
    shared: Arc<ConnectionShared>,
    inbox: Arc<AsyncMutex<mpsc::Receiver<ConnectionRequest>>>,
    stop: CancellationToken,
}

impl WebSocketEnvironment {
    /// Creates an environment for the server at the address of `options`, and its handle. It connects on
    /// first use.
    ///
    /// # Errors
    /// Returns an error if the address is invalid, or TLS cannot be set up.
    pub fn new(options: ConnectOptions) -> Result<(Self, Connection), RuntimeError> {
        let endpoint = ServerEndpoint::parse(&options.url)?;
        let dialler = Dialler::new(Peer::new(endpoint.clone(), &options)?);
        let (requests, inbox) = mpsc::channel(QUEUED_REQUESTS);
        let shared = Arc::new(ConnectionShared {
            feeds: Mutex::default(),
            state: watch::Sender::default(),
            calls: ReportedCalls::default(),
            released: Notify::new(),
        });
        let connection = Connection {
            endpoint: endpoint.clone(),
            within: options.answer_within,
            requests,
            shared: shared.clone(),
            tokens: Arc::default(),
        };
        let environment = Self {
            options,
            endpoint,
            dialler,
            shared,
            inbox: Arc::new(AsyncMutex::new(inbox)),
            stop: CancellationToken::new(),
        };
        Ok((environment, connection))
    }
}

impl Reactor<Bus<SystemEvent>> for WebSocketEnvironment {
    fn name(&self) -> &str {
        "websocket"
    }

    async fn start(&mut self, bus: Bus<SystemEvent>) -> Result<ReactorTask, ReactorFailure> {
        let parts = Parts {
            who: self.options.who.clone(),
            client: self.options.client.clone(),
            dialler: self.dialler.clone(),
            settings: MachineSettings {
                attempts: self.options.attempts,
                wait_ms: u64::try_from(self.options.retry_after.as_millis()).unwrap_or(u64::MAX),
                ..MachineSettings::default()
            },
            shared: self.shared.clone(),
            reports: LinkReports::new(&self.endpoint, TransportReports::on(&bus)),
            stop: self.stop.clone(),
        };
        let inbox = self.inbox.clone();
        Ok(ReactorTask::new(async move {
            let mut inbox = inbox.lock_owned().await;
            ConnectionDriver::new(parts, bus).run(&mut inbox).await
        }))
    }

    async fn stop(&mut self) {
        self.stop.cancel();
    }
}

/// The handle of a [`WebSocketEnvironment`]. Clones refer to the same connection.
#[derive(Clone)]
pub struct Connection {
    /// The server, for messages.
    endpoint: ServerEndpoint,
    /// The maximum time for a request, reconnects included.
    within: Duration,
    /// The queue of the driver; a sender waits while 256 requests are queued.
    requests: mpsc::Sender<ConnectionRequest>,
    shared: Arc<ConnectionShared>,
    /// The next token for a request; no two requests of a connection have the same.
    tokens: Arc<AtomicU64>,
}

impl Connection {
    /// The state of the connection, now and from now on.
    pub fn state(&self) -> watch::Receiver<ConnectionState> {
        self.shared.state.subscribe()
    }

    /// The calls that wait for a decision that this person may make: recent ones, and those from now on.
    pub fn calls_waiting(&self) -> CallsWaiting {
        self.shared.calls.reader()
    }

    /// Reconnects now, if the connection waits or has given up.
    pub async fn dial_now(&self) {
        let _ = self.requests.send(ConnectionRequest::Dial).await;
    }

    /// Publishes the facts of a session on the environment's bus, from after `after_seq`, as long as the
    /// returned value lives. After a lost connection they continue after the last one. If the session is
    /// published already, its facts come again from `after_seq` on: ignore each whose `seq` came before.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or this person may not see it, or if the server cannot
    /// be reached.
    pub async fn publish(&self, session: &SessionId, after_seq: u64) -> Result<PublishGuard, RuntimeError> {
        let held = self.hold(session);
        self.follow(&held, after_seq).await?;
        Ok(PublishGuard { _held: held })
    }

    /// Holds the feed of a session, so that its events keep coming.
    pub(crate) fn hold(&self, session: &SessionId) -> FeedSubscription {
        let mut feeds = self.shared.feeds();
        let feed = feeds
            .entry(session.clone())
            .or_insert_with(|| Arc::new(SessionFeed::new(session.clone())));
        FeedSubscription::new(feed.clone(), self.shared.clone())
    }

    /// Requests the events of a session, from after `after_seq` or earlier. They come on the bus.
    pub(crate) async fn follow(
        &self,
        held: &FeedSubscription,
        after_seq: u64,
    ) -> Result<SubscriptionStart, RuntimeError> {
        let (reply, began) = oneshot::channel();
        let feed = held.feed.clone();
        let sent = self
            .requests
            .send(ConnectionRequest::Follow {
                feed,
                after_seq,
                reply,
            })
            .await;
        if sent.is_err() {
            return Err(self.stopped());
        }
        match timeout(self.within, began).await {
            Ok(Ok(Ok(began))) => Ok(began),
            Ok(Ok(Err(failure))) => Err(self.error(failure)),
            Ok(Err(_)) => Err(self.stopped()),
            Err(_) => Err(self.late()),
        }
    }

    /// Sends a request to the server, and sends it again after a lost connection. Also returns the number of
    /// times it was sent.
    pub(crate) async fn request(&self, request: ClientRequest) -> (Result<Accepted, RuntimeError>, u32) {
        let token = self.tokens.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let message = ConnectionRequest::Request {
            token,
            request: Box::new(request),
            reply,
        };
        if self.requests.send(message).await.is_err() {
            return (Err(self.stopped()), 0);
        }
        let unanswered = RequestGuard {
            token,
            requests: &self.requests,
        };
        match timeout(self.within, answer).await {
            Ok(Ok(RequestReply { answer, sends })) => {
                std::mem::forget(unanswered);
                (answer.map_err(|failure| self.error(failure)), sends)
            }
            Ok(Err(_)) => (Err(self.stopped()), 0),
            Err(_) => (Err(self.late()), 0),
        }
    }

    /// Converts a failure into the error of a runtime.
    pub(crate) fn error(&self, failure: RequestFailure) -> RuntimeError {
        match failure {
            RequestFailure::Refused(problem) => problem.into(),
            RequestFailure::Connection(what) => RuntimeError::Unreachable {
                endpoint: self.endpoint.to_string(),
                what,
            },
        }
    }

    /// The error for a late answer, with the problem of the connection.
    fn late(&self) -> RuntimeError {
        let seconds = self.within.as_secs();
        let why = match &*self.shared.state.borrow() {
            ConnectionState::Waiting { why, .. } | ConnectionState::GaveUp { why } => format!(" ({why})"),
            _ => String::new(),
        };
        self.error(RequestFailure::Connection(format!(
            "no answer within {seconds} seconds{why}"
        )))
    }

    /// The error for a request that comes after the end.
    fn stopped(&self) -> RuntimeError {
        self.error(RequestFailure::Connection(
            "the connection was closed here".into(),
        ))
    }
}

/// Publishes the facts of a session until it is dropped; from [`Connection::publish`].
#[must_use = "nothing is published any more when this is dropped"]
pub struct PublishGuard {
    _held: FeedSubscription,
}

/// Cancels a request when its caller gives up.
struct RequestGuard<'a> {
    token: u64,
    requests: &'a mpsc::Sender<ConnectionRequest>,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        let _ = self.requests.try_send(ConnectionRequest::Cancel(self.token));
    }
}
