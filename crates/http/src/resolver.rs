//! Name lookups that refuse addresses.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use agentx_types::is_public_address;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The error of a check.
pub type BoxedError = Box<dyn Error + Send + Sync>;
/// The addresses of a name, when they are known.
pub type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks up the addresses of a name.
pub trait NameLookup: Send + Sync + 'static {
    /// Returns the addresses of `host`.
    ///
    /// # Errors
    /// Returns an error if the name has no addresses, or the lookup fails.
    fn lookup(&self, host: String) -> LookupFuture;
}

/// Asks the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl NameLookup for SystemLookup {
    fn lookup(&self, host: String) -> LookupFuture {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Resolves names, and fails if the check refuses one of the addresses: an honest name does not mix permitted
/// and forbidden ones.
pub struct GuardedResolver<C> {
    check: Arc<C>,
    lookup: Arc<dyn NameLookup>,
}

impl<C> GuardedResolver<C>
where
    C: Fn(&str, IpAddr) -> Result<(), BoxedError>,
{
    /// Creates a resolver that asks the system. `check` gets the host and each of its addresses.
    pub fn new(check: C) -> Self {
        Self::with_lookup(check, Arc::new(SystemLookup))
    }

    /// Creates a resolver that looks names up in this way.
    pub fn with_lookup(check: C, lookup: Arc<dyn NameLookup>) -> Self {
        Self {
            check: Arc::new(check),
            lookup,
        }
    }
}

impl<C> fmt::Debug for GuardedResolver<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedResolver").finish_non_exhaustive()
    }
}

impl<C> Resolve for GuardedResolver<C>
where
    C: Fn(&str, IpAddr) -> Result<(), BoxedError> + Send + Sync + 'static,
{
    fn resolve(&self, name: Name) -> Resolving {
        let (check, host) = (self.check.clone(), name.as_str().to_owned());
        let found = self.lookup.lookup(host.clone());
        Box::pin(async move {
            let found = found.await?;
            for address in &found {
                check(&host, *address)?;
            }
            if found.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address").into());
            }
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// Permits addresses of the public internet, and for `localhost` those of this machine.
///
/// # Errors
/// Returns an error that names the host if the address is in a local or reserved network.
pub fn only_public(host: &str, address: IpAddr) -> Result<(), BoxedError> {
    let is_permitted = match host {
        "localhost" => address.is_loopback(),
        _ => is_public_address(address),
    };
    if is_permitted {
        Ok(())
    } else {
        Err(format!("{host} is in a local network").into())
    }
}

/// Returns the address in a URL whose host is an address and not a name.
pub fn literal_address(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    /// Gives every name the same addresses.
    struct Fixed(Vec<&'static str>);

    impl NameLookup for Fixed {
        fn lookup(&self, _host: String) -> LookupFuture {
            let addresses = self.0.iter().map(|address| address.parse().unwrap()).collect();
            Box::pin(std::future::ready(Ok(addresses)))
        }
    }

    async fn resolve(host: &str, addresses: &[&'static str]) -> Result<usize, String> {
        let lookup = Arc::new(Fixed(addresses.to_vec()));
        let resolver = GuardedResolver::with_lookup(only_public, lookup);
        let found = resolver.resolve(host.parse().unwrap()).await;
        found.map(Iterator::count).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn one_private_address_refuses_the_name() {
        assert_eq!(resolve("a.example", &["1.1.1.1", "2606:4700::1111"]).await, Ok(2));
        let mixed = resolve("a.example", &["1.1.1.1", "10.0.0.1"]).await;
        assert_eq!(mixed, Err("a.example is in a local network".to_owned()));
        for private in [
            "127.0.0.1",
            "::1",
            "169.254.169.254",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
        ] {
            assert!(resolve("a.example", &[private]).await.is_err(), "{private}");
        }
        assert_eq!(
            resolve("a.example", &[]).await,
            Err("the name has no address".to_owned())
        );
    }

    #[tokio::test]
    async fn localhost_is_this_machine_alone() {
        assert_eq!(resolve("localhost", &["127.0.0.1", "::1"]).await, Ok(2));
        assert!(resolve("localhost", &["1.1.1.1"]).await.is_err());
    }

    #[test]
    fn a_literal_address_is_found_in_both_forms() {
        let address = |url: &str| literal_address(&url.parse().unwrap());
        assert_eq!(address("http://127.1/"), Some("127.0.0.1".parse().unwrap()));
        assert_eq!(address("http://[::1]:8/"), Some("::1".parse().unwrap()));
        assert_eq!(address("http://a.example/"), None);
    }
}
