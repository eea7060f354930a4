//! The way of a connection from its first byte to the router: TLS, requests, and the end.
//!
//! A client whose address has no more room comes in *on trial* for a moment: its first request has to name a
//! person by a token. So whoever fills the room of an address without saying who they are locks out nobody
//! who is known, also if they share the address: everybody behind `ssh -L` or on one machine does.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentx_types::OwnerId;
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{CONNECTION, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::auth::{bearer, bearer_subprotocol};
use crate::connections::channel::{ConnectionChannel, OpenedConnection, TlsAcceptors};
use crate::connections::connection_limits::{ConnectionRefused, Permit};
use crate::connections::lingering_close::Lingering;
use crate::connections::stalled_connections::StallTimeout;
use crate::connections::unread_body;
use crate::http;
use crate::limits::size_limits::HEAD_BYTES;
use crate::state::ServerState;

/// The time in which incoming bytes are discarded after the last answer.
const LINGER: Duration = Duration::from_secs(2);
/// The time in which the first request of a connection on trial has to be there.
const TRIAL: Duration = Duration::from_secs(2);

/// Everything that a connection needs to be served.
#[derive(Clone)]
pub(crate) struct Entrance {
    state: Arc<ServerState>,
    router: Router,
    doors: TlsAcceptors,
}

impl Entrance {
    pub(crate) fn new(state: Arc<ServerState>, router: Router, doors: TlsAcceptors) -> Self {
        Self { state, router, doors }
    }

    pub(crate) fn state(&self) -> &Arc<ServerState> {
        &self.state
    }

    pub(crate) fn doors(&self) -> &TlsAcceptors {
        &self.doors
    }

    /// Serves a connection until it ends.
    pub(crate) async fn admit(self, stream: TcpStream, peer: SocketAddr, permit: Permit) {
        let until = Instant::now() + self.state.options().limits.head;
        self.open(stream, peer, permit, until).await;
    }

    /// Serves a connection whose first request has to name a person, within a shorter time.
    pub(crate) async fn admit_on_trial(self, stream: TcpStream, peer: SocketAddr, permit: Permit) {
        let until = Instant::now() + TRIAL.min(self.state.options().limits.head);
        let _ = stream.set_nodelay(true);
        self.open(stream, peer, permit, until).await;
    }

    async fn open(self, stream: TcpStream, peer: SocketAddr, permit: Permit, until: Instant) {
        let Self { state, router, doors } = self;
        let opened = tokio::select! {
            opened = timeout_at(until, doors.open(stream)) => opened,
            () = state.shutdown().cancelled() => return,
        };
        match opened {
            Ok(Ok(OpenedConnection::Plain(stream))) => {
                let from = (peer, ConnectionChannel::Plain);
                serve(stream, from, state, router, (permit, until)).await;
            }
            Ok(Ok(OpenedConnection::Tls(stream, channel))) => {
                serve(stream, (peer, channel), state, router, (permit, until)).await;
            }
            Ok(Err(error)) => tracing::debug!(%peer, %error, "no HTTP request or TLS handshake"),
            Err(_) => tracing::debug!(%peer, "no HTTP request or TLS handshake in time"),
        }
    }
}

/// Lets a request in that is for this server, and ensures that its body does not disturb the next request.
pub(crate) async fn enter(State(state): State<Arc<ServerState>>, request: Request, next: Next) -> Response {
    let answer = |request: Request| async {
        let host = state
            .hosts()
            .check(request.version(), request.uri(), request.headers());
        if let Err(problem) = host {
            return http::problem_response(*problem);
        }
        let Some(permit) = request.extensions().get::<Permit>().cloned() else {
            return next.run(request).await;
        };
        if permit.is_on_trial() {
            let channel = request.extensions().get::<ConnectionChannel>();
            let channel = channel.copied().unwrap_or_default();
            let Some(person) = known(&state, request.headers(), &channel) else {
                return no_room(&state);
            };
            permit.belongs_to(&person);
        }
        if !permit.is_shared() {
            return next.run(request).await;
        }
        // A proxy's connection counts for its current client.
        let client = request.extensions().get::<ConnectInfo<SocketAddr>>();
        if client.is_some_and(|client| !permit.used_by(client.0.ip())) {
            return http::problem_response(*ConnectionRefused::address());
        }
        let response = next.run(request).await;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            permit.identified();
        }
        response
    };
    unread_body::answered(request, answer).await
}

/// Returns who sends a request, by the token in its headers. `None` for a visitor.
fn known(state: &ServerState, headers: &HeaderMap, channel: &ConnectionChannel) -> Option<OwnerId> {
    let token = bearer(headers).ok()?.or_else(|| bearer_subprotocol(headers))?;
    let holder = state.auth().holder(token, (channel, state.now_ms())).ok()?;
    (!holder.visitor).then_some(holder.person)
}

/// Returns the answer to a request on trial without a person, after which the connection ends.
fn no_room(state: &ServerState) -> Response {
    state.counts().turned_away.add(1);
    let mut response = http::problem_response(*ConnectionRefused::address());
    response
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Serves one connection until it ends or becomes a WebSocket.
async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    (peer, channel): (SocketAddr, ConnectionChannel),
    state: Arc<ServerState>,
    router: Router,
    (permit, until): (Permit, Instant),
) {
    let began = Arc::new(AtomicBool::new(false));
    let has_begun = began.clone();
    let (unread, held) = (permit.clone(), permit.held().clone());
    let proxies = state.proxies().clone();
    let service = tower::ServiceBuilder::new()
        .map_request(move |mut request: hyper::Request<hyper::body::Incoming>| {
            has_begun.store(true, Ordering::Relaxed);
            request.extensions_mut().insert(permit.clone());
            let client = proxies.client(peer, request.headers());
            request.extensions_mut().insert(ConnectInfo(client));
            request.extensions_mut().insert(channel);
            request.map(axum::body::Body::new)
        })
        .service(router);
    // Twice: a WebSocket notices a stuck reader itself, and reports it at the end.
    let limits = &state.options().limits;
    let patience = limits.stalled.saturating_mul(2);
    let lingers = move || unread.lingers();
    let stream = StallTimeout::new(Lingering::new(stream, LINGER, lingers), patience).counted(held);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.keep)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = silence(&began, until) => return tracing::debug!(%peer, "idle connection closed"),
        () = state.shutdown().cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%peer, %error, "connection failed");
    }
}

/// Resolves when no request has come in time.
async fn silence(began: &AtomicBool, until: Instant) {
    tokio::time::sleep_until(until).await;
    if began.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}
