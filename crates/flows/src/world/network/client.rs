//! The HTTP clients of one tool: they look names up through the guard, follow no redirect and know no proxy.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agentx_luau_tools::{BoxFuture, EffectError};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url, redirect};

use super::guard::AllowedHosts;

const CONNECT: Duration = Duration::from_secs(10);
/// Time for which unused connections are kept.
const IDLE: Duration = Duration::from_secs(30);
const IDLE_PER_HOST: usize = 8;

/// Finds the addresses of a name.
pub trait NameLookup: Send + Sync + 'static {
    /// Returns the addresses of `host`.
    ///
    /// # Errors
    /// Returns an error if it has none.
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Asks the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl NameLookup for SystemLookup {
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Resolves names, and returns only permitted addresses.
struct GuardedResolver {
    hosts: Arc<AllowedHosts>,
    lookup: Arc<dyn NameLookup>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (hosts, host) = (self.hosts.clone(), name.as_str().to_owned());
        let found = self.lookup.lookup(host.clone());
        Box::pin(async move {
            let found = found.await?;
            for address in &found {
                // One refused address refuses the name: an honest name does not mix them.
                hosts.check_address(&host, *address)?;
            }
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// The HTTP clients: one for plain connections, and one for TLS, which loads certificates.
pub(super) struct HttpClients {
    hosts: Arc<AllowedHosts>,
    guarded: Arc<GuardedResolver>,
    plain: OnceLock<Client>,
    tls: OnceLock<Client>,
}

impl HttpClients {
    pub(super) fn new(hosts: Arc<AllowedHosts>, lookup: Arc<dyn NameLookup>) -> Self {
        let guarded = GuardedResolver {
            hosts: hosts.clone(),
            lookup,
        };
        Self {
            hosts,
            guarded: Arc::new(guarded),
            plain: OnceLock::new(),
            tls: OnceLock::new(),
        }
    }

    /// Returns the client for `url`. A host that is an address is not resolved, so it is checked here.
    pub(super) fn get(&self, url: &Url) -> Result<&Client, EffectError> {
        let host = url.host_str().unwrap_or_default();
        if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
            self.hosts
                .check_address(host, address)
                .map_err(|denied| denied.to_error())?;
        }
        let tls = url.scheme() == "https";
        let place = if tls { &self.tls } else { &self.plain };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let made = make(self.guarded.clone(), tls).map_err(|error| {
            EffectError::new(
                "unavailable",
                format!("http: the client could not be made: {error}"),
            )
        })?;
        Ok(place.get_or_init(|| made))
    }
}

fn make(guarded: Arc<GuardedResolver>, tls: bool) -> reqwest::Result<Client> {
    // Another part of the process may already have installed the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("agentx/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .dns_resolver(guarded)
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_PER_HOST);
    let builder = if tls { builder } else { builder.tls_certs_only([]) };
    builder.build()
}
