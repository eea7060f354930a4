//! The HTTP clients: one for plain addresses and one for TLS, each made when it is first needed.
//!
//! Reading the machine's root certificates takes milliseconds that a call to a local server, or `agentx
//! --version`, should not pay; so the plain client trusts no certificates, and the TLS client is created on a
//! separate thread.
//!
//! Redirects are never followed, Nagle's algorithm is off, and TCP keep-alive checks every 30 seconds whether
//! the other end is alive (with HTTP/2, pings do the same). Proxies come from the usual variables
//! (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), which are read when a client is made.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agentx_http::{Certificates, client_builder};
use reqwest::{Client, ClientBuilder, Url};
use tokio::sync::OnceCell;

use super::failure::{AttemptFailure, describe};

/// Environment variables that may name a proxy with TLS, for any address.
const PROXY_VARIABLES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// Both clients of an effector. A client that could not be made is tried again at the next call.
#[derive(Debug)]
pub(super) struct ModelClients {
    /// The connect timeout of both clients.
    connect: Duration,
    /// For `http://`: it knows no certificates, so it is made at once.
    plain: OnceLock<Client>,
    /// For `https://`, and for any address behind a proxy that is reached by TLS.
    tls: OnceCell<Client>,
}

impl ModelClients {
    pub(super) fn new(connect: Duration) -> Self {
        Self {
            connect,
            plain: OnceLock::new(),
            tls: OnceCell::new(),
        }
    }

    /// The client for `url`.
    pub(super) async fn get(&self, url: &Url) -> Result<&Client, AttemptFailure> {
        if needs_tls(url) {
            let connect = self.connect;
            let make = || async move {
                let made =
                    tokio::task::spawn_blocking(move || make(connect, Certificates::OfThisMachine)).await;
                made.map_err(|error| {
                    AttemptFailure::setup(format!("cannot create the HTTP client: {error}"))
                })?
            };
            return self.tls.get_or_try_init(make).await;
        }
        if let Some(client) = self.plain.get() {
            return Ok(client);
        }
        let client = make(self.connect, Certificates::None)?;
        Ok(self.plain.get_or_init(|| client))
    }

    /// Makes the client for `url` ready in the background. A failure shows again at the first call.
    pub(super) fn warm_up(self: &Arc<Self>, url: Option<&Url>) {
        let Some(url) = url.cloned() else { return };
        let clients = self.clone();
        tokio::spawn(async move {
            if let Err(failure) = clients.get(&url).await {
                tracing::debug!(message = failure.message, "the HTTP client is not ready");
            }
        });
    }
}

/// Returns whether a certificate may have to be checked on the way to `url`.
fn needs_tls(url: &Url) -> bool {
    url.scheme() == "https"
        || PROXY_VARIABLES
            .iter()
            .any(|name| std::env::var(name).is_ok_and(|proxy| proxy.starts_with("https:")))
}

/// Creates one client.
fn make(connect: Duration, certificates: Certificates) -> Result<Client, AttemptFailure> {
    let builder = configure(client_builder(certificates), connect);
    builder.build().map_err(|error| {
        let hint = "is the package `ca-certificates` installed, or SSL_CERT_FILE set?";
        AttemptFailure::setup(format!(
            "cannot create the HTTP client: {}; {hint}",
            describe(&error)
        ))
    })
}

/// The common options of both clients.
fn configure(builder: ClientBuilder, connect: Duration) -> ClientBuilder {
    let builder = builder
        .connect_timeout(connect)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30));
    #[cfg(feature = "http2")]
    let builder = builder
        .http2_keep_alive_interval(Duration::from_secs(30))
        .http2_keep_alive_timeout(Duration::from_secs(20))
        .http2_adaptive_window(true);
    builder
}
