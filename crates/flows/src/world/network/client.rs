//! The HTTP clients of one tool: they look names up through the guard, follow no redirect and know no proxy.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agentx_http::{Certificates, GuardedResolver, NameLookup, client_builder, literal_address};
use agentx_luau_tools::EffectError;
use reqwest::{Client, Url};

use super::guard::AllowedHosts;

const CONNECT: Duration = Duration::from_secs(10);
/// Time for which unused connections are kept.
const IDLE: Duration = Duration::from_secs(30);
const IDLE_PER_HOST: usize = 8;

/// The HTTP clients: one for plain connections, and one for TLS, which loads certificates.
pub(super) struct HttpClients {
    hosts: Arc<AllowedHosts>,
    lookup: Arc<dyn NameLookup>,
    plain: OnceLock<Client>,
    tls: OnceLock<Client>,
}

impl HttpClients {
    pub(super) fn new(hosts: Arc<AllowedHosts>, lookup: Arc<dyn NameLookup>) -> Self {
        Self {
            hosts,
            lookup,
            plain: OnceLock::new(),
            tls: OnceLock::new(),
        }
    }

    /// Returns the client for `url`. A host that is an address is not resolved, so it is checked here.
    pub(super) fn get(&self, url: &Url) -> Result<&Client, EffectError> {
        if let Some(address) = literal_address(url) {
            self.hosts
                .check_address(url.host_str().unwrap_or_default(), address)
                .map_err(|denied| denied.to_error())?;
        }
        let certificates = Certificates::for_scheme(url.scheme());
        let place = match certificates {
            Certificates::OfThisMachine => &self.tls,
            Certificates::None => &self.plain,
        };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let made = self.make(certificates).map_err(|error| {
            EffectError::new(
                "unavailable",
                format!("http: the client could not be made: {error}"),
            )
        })?;
        Ok(place.get_or_init(|| made))
    }

    fn make(&self, certificates: Certificates) -> reqwest::Result<Client> {
        let hosts = self.hosts.clone();
        let check = move |host: &str, address| hosts.check_address(host, address).map_err(Into::into);
        client_builder(certificates)
            .no_proxy()
            .dns_resolver(Arc::new(GuardedResolver::with_lookup(check, self.lookup.clone())))
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_PER_HOST)
            .build()
    }
}
