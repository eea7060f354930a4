//! The server itself: it listens, accepts connections, and shuts down.

use std::sync::{Arc, Weak};
use std::time::Duration;

use agentx_bus::Restart;
use agentx_config::Settings;
use agentx_identity::Keyring;
use agentx_node_runtime::NodeRuntime;
use agentx_runtime::run_counter;
use axum::Router;
use axum::middleware;
use tokio::net::{TcpListener, TcpStream};

use crate::auth::Authenticator;
use crate::connections::channel::TlsAcceptors;
use crate::connections::connection_limits::ConnectionLimiter;
use crate::connections::forwarded::Proxies;
use crate::connections::hosts::HostNames;
use crate::connections::rejections::Rejector;
use crate::connections::tls;
use crate::data_dir_lock::DataDirLock;
use crate::entrance::{self, Entrance};
use crate::members::waiting_calls;
use crate::server_error::ServerError;
use crate::settings::options::{ServerOptions, check};
use crate::settings::reload::Reload;
use crate::state::ServerState;
use crate::{http, maintenance, push_notices, ws};

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
        let connections = ConnectionLimiter::new(&state.options().limits);
        let router = api.merge(ws::router(state.clone()));
        let router = router.merge(own_routes);
        let router = router.layer(middleware::from_fn_with_state(state.clone(), entrance::enter));
        let entrance = Entrance::new(state.clone(), router, doors);
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
            () = accept(&listener, &entrance, &connections) => {}
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
async fn accept(listener: &TcpListener, entrance: &Entrance, connections: &ConnectionLimiter) {
    let turned_away = Rejector::new();
    let state = entrance.state();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        let is_proxy = state.proxies().trusts(peer.ip());
        let permit = match connections.take(state.shared_counts(), peer.ip(), is_proxy) {
            Ok(permit) => permit,
            Err(why) => {
                let counts = state.shared_counts().clone();
                let (known, connections) = (entrance.clone(), connections.clone());
                turned_away.tell(stream, entrance.doors(), why, counts, move || {
                    let permit = connections.on_trial(known.state().shared_counts(), peer.ip())?;
                    Some(move |stream: TcpStream| known.admit_on_trial(stream, peer, permit))
                });
                continue;
            }
        };
        // Frames are small and urgent.
        let _ = stream.set_nodelay(true);
        let entrance = entrance.clone();
        tokio::spawn(async move { entrance.admit(stream, peer, permit).await });
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
