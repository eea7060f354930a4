//! The server itself: it listens, accepts connections, and shuts down.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use agentx_bus::Restart;
use agentx_config::Settings;
use agentx_identity::Keyring;
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::run_counter;
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout_at};

use crate::auth::Authenticator;
use crate::connections::channel::{ConnectionChannel, OpenedConnection, TlsAcceptors};
use crate::connections::connection_limits::{ConnectionLimiter, ConnectionRefused, Permit};
use crate::connections::forwarded::Proxies;
use crate::connections::hosts::HostNames;
use crate::connections::lingering_close::Lingering;
use crate::connections::rejections::Rejector;
use crate::connections::stalled_connections::StallTimeout;
use crate::connections::{tls, unread_body};
use crate::data_dir_lock::DataDirLock;
use crate::limits::size_limits::HEAD_BYTES;
use crate::members::waiting_calls;
use crate::server_error::ServerError;
use crate::settings::options::{ServerOptions, check};
use crate::settings::reload::Reload;
use crate::state::ServerState;
use crate::{http, maintenance, push_notices, ws};

/// The time in which incoming bytes are discarded after the last answer.
const LINGER: Duration = Duration::from_secs(2);
/// The pause after a connection cannot be accepted, such as when too many files are open.
const BREATH: Duration = Duration::from_millis(50);

/// A server that listens on its address.
pub struct Server {
    state: Arc<ServerState>,
    listener: TcpListener,
    doors: TlsAcceptors,
    url: String,
    api: Router,
    own_routes: Router,
    /// Held until the server has ended.
    _lock: Option<DataDirLock>,
}

/// Listens on the address in `options`; connections are accepted when the server runs.
///
/// # Errors
/// Returns an error if the options would expose more than intended, or the address or the certificate cannot
/// be used.
pub async fn bind(
    runtime: Arc<NodeRuntime>,
    settings: &Settings,
    keyring: Keyring,
    mut options: ServerOptions,
) -> Result<Server, ServerError> {
    check(&options)?;
    let key = Arc::new(keyring.server_key_or_new()?);
    let doors = match &options.tls {
        Some((certificate, key)) => {
            TlsAcceptors::Certificate(tls::acceptor(certificate, key, settings.data_owner)?)
        }
        None => TlsAcceptors::keyed(key.clone())?,
    };
    let cannot = |error: std::io::Error| ServerError::Listen {
        listen: options.listen,
        what: error.to_string(),
    };
    let listener = TcpListener::bind(options.listen).await.map_err(cannot)?;
    options.listen = listener.local_addr().map_err(cannot)?;
    let scheme = if doors.has_certificate() { "https" } else { "http" };
    let url = format!("{scheme}://{}", options.listen);
    let origin = match &options.origin {
        Some(origin) => origin.trim_end_matches('/').to_owned(),
        None => url.clone(),
    };
    let hosts = HostNames::new(options.listen, &origin);
    let each = |quota: u64| usize::try_from(quota).unwrap_or(usize::MAX);
    let nonces = (options.limits.nonces, each(settings.quotas.challenges));
    let tokens = (options.limits.tokens, each(settings.quotas.tokens));
    let auth = Authenticator::new(
        keyring,
        (key, origin),
        options.allow_origins.clone(),
        options.allow_visitors,
        (nonces, tokens),
    );
    let proxies = Proxies::parse(
        options
            .trusted_proxies
            .iter()
            .chain(&settings.trusted_proxies)
            .map(String::as_str),
    )
    .map_err(ServerError::Options)?;
    let state = ServerState::new(
        runtime,
        Arc::new(settings.clone()),
        (auth, hosts, proxies),
        options,
    );
    Ok(Server {
        api: http::router(state.clone()),
        state,
        listener,
        doors,
        url,
        own_routes: Router::new(),
        _lock: None,
    })
}

impl Server {
    /// Returns the URL of the server on this machine.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Keeps other servers from the data directory while this one is there.
    pub(crate) fn holding(self, lock: DataDirLock) -> Self {
        Self {
            _lock: Some(lock),
            ..self
        }
    }

    /// Adds settings that are read again when their files have changed: before each batch of facts of a
    /// session, and once a second if no session does anything. Only the first call counts.
    #[must_use]
    pub fn reloading(self, reload: Reload) -> Self {
        let taker: Weak<ServerState> = Arc::downgrade(&self.state);
        self.state.live().source().read_from(taker, reload);
        self
    }

    /// Adds routes of the embedding program at the same address. Their callers are not authenticated, but the
    /// limits on connections and times apply to them too.
    ///
    /// # Panics
    /// Panics in [`Server::run`], before a connection is accepted, if a route is one of the server's own:
    /// below `/v1`, `/metrics` and `/mcp`.
    #[must_use]
    pub fn with_routes(mut self, routes: Router) -> Self {
        self.own_routes = self.own_routes.merge(routes);
        self
    }

    /// Returns the routes of the HTTP API, for routes of another protocol that send them requests in the name
    /// of their own callers. Such a request has the headers of the caller, and the extensions of their
    /// [`ApiConnection`](crate::ApiConnection).
    pub fn api(&self) -> Router {
        self.api.clone()
    }

    /// Returns an address that signs the page of one browser in as the operator, once and within an hour.
    /// The page itself has to be among the routes; see [`page::routes`](crate::page::routes). Returns `None`
    /// if a code cannot be created; the reason is logged.
    pub fn page_address(&self) -> Option<String> {
        let auth = self.state.auth();
        match auth.page_code_of_operator(self.state.now_ms()) {
            Ok((code, _)) => Some(format!("{}/#code={code}", auth.origin())),
            Err(problem) => {
                tracing::warn!(problem = %problem.detail, "cannot make an address that signs a page in");
                None
            }
        }
    }

    /// Returns the state that the connections share.
    pub fn state(&self) -> &Arc<ServerState> {
        &self.state
    }

    /// Serves until `shutdown` resolves. Then everybody is notified, and runs are stopped and committed,
    /// within [`ServerLimits::shutdown`](crate::ServerLimits::shutdown).
    ///
    /// # Errors
    /// Returns [`ServerError::NotSaved`] if the log could not record that runs were stopped.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), ServerError> {
        let Self {
            state,
            listener,
            doors,
            api,
            own_routes,
            ..
        } = self;
        let limits = &state.options().limits;
        let connections = ConnectionLimiter::new(limits);
        let router = api.merge(ws::router(state.clone()));
        let router = router.merge(own_routes);
        let router = router.layer(middleware::from_fn_with_state(state.clone(), enter));
        let counter = run_counter(state.counts().runs.clone());
        let counter = state.runtime().attach(counter, Restart::Never).await;
        if let Err(error) = &counter {
            tracing::warn!(%error, "cannot count runs");
        }
        let reopening = tokio::spawn(maintenance::reopen(state.clone()));
        let sweeping = tokio::spawn(maintenance::sweep(state.clone()));
        let announcing = tokio::spawn(waiting_calls::announce(state.clone()));
        let pushing = tokio::spawn(push_notices::push_waiting_calls(state.clone()));
        tokio::select! {
            () = accept(&listener, doors, &state, &connections, &router) => {}
            () = shutdown => {}
        }
        drop(listener);
        reopening.abort();
        sweeping.abort();
        announcing.abort();
        pushing.abort();
        let ended = end(&state, &connections).await;
        // The runtime may continue without the server.
        if let Ok(counter) = counter {
            state.runtime().detach(counter, BREATH).await;
        }
        ended
    }
}

/// Accepts connections forever.
async fn accept(
    listener: &TcpListener,
    doors: TlsAcceptors,
    state: &Arc<ServerState>,
    connections: &ConnectionLimiter,
    router: &Router,
) {
    let turned_away = Rejector::new();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        let permit = match connections.take(
            state.shared_counts(),
            peer.ip(),
            state.proxies().trusts(peer.ip()),
        ) {
            Ok(permit) => permit,
            Err(why) => {
                state.counts().turned_away.add(1);
                turned_away.tell(stream, &doors, why);
                continue;
            }
        };
        // Frames are small and urgent.
        let _ = stream.set_nodelay(true);
        let (state, router, doors) = (state.clone(), router.clone(), doors.clone());
        tokio::spawn(async move {
            let until = Instant::now() + state.options().limits.head;
            let opened = tokio::select! {
                opened = timeout_at(until, doors.open(stream)) => opened,
                () = state.shutdown().cancelled() => return,
            };
            match opened {
                Ok(Ok(OpenedConnection::Plain(stream))) => {
                    serve(
                        stream,
                        (peer, ConnectionChannel::Plain),
                        state,
                        router,
                        (permit, until),
                    )
                    .await;
                }
                Ok(Ok(OpenedConnection::Tls(stream, channel))) => {
                    serve(stream, (peer, channel), state, router, (permit, until)).await;
                }
                Ok(Err(error)) => tracing::debug!(%peer, %error, "no HTTP request or TLS handshake"),
                Err(_) => tracing::debug!(%peer, "no HTTP request or TLS handshake in time"),
            }
        });
    }
}

/// Lets a request in that is for this server, and ensures that its body does not disturb the next request.
async fn enter(State(state): State<Arc<ServerState>>, request: Request, next: Next) -> Response {
    let answer = |request: Request| async {
        let host = state
            .hosts()
            .check(request.version(), request.uri(), request.headers());
        if let Err(problem) = host {
            return http::problem_response(*problem);
        }
        let Some(permit) = request
            .extensions()
            .get::<Permit>()
            .filter(|permit| permit.is_shared())
            .cloned()
        else {
            return next.run(request).await;
        };
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

/// Notifies everybody, and stops and commits runs.
async fn end(state: &ServerState, connections: &ConnectionLimiter) -> Result<(), ServerError> {
    state.shutdown().cancel();
    let everything = async {
        let (failed, ()) = tokio::join!(
            state.rooms().close_all(),
            connections.empty(state.options().limits.connections)
        );
        failed
    };
    match tokio::time::timeout(state.options().limits.shutdown, everything).await {
        Ok(None) => Ok(()),
        Ok(Some((sessions, error))) => Err(ServerError::NotSaved { sessions, error }),
        Err(_) => {
            tracing::warn!("shutdown timed out");
            Ok(())
        }
    }
}
