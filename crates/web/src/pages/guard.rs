//! The guard of addresses from which a page may be fetched: those of the public internet, and local hosts
//! that the person's own settings name.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use agentx_http::BoxedError;
use agentx_types::{host_name, is_public_address};

/// The hosts in local networks that pages may be fetched from.
#[derive(Clone, Debug, Default)]
pub(super) struct LocalHosts(Arc<BTreeSet<String>>);

impl LocalHosts {
    /// The hosts of these names. An invalid name permits nothing.
    pub(super) fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        let known = names.into_iter().filter_map(|name| host_name(name.as_ref()));
        Self(Arc::new(known.filter(|name| !name.contains('*')).collect()))
    }

    /// Checks an address to which `host` leads, at the moment of the connection.
    pub(super) fn check(&self, host: &str, address: IpAddr) -> Result<(), BoxedError> {
        let is_named = || host_name(host).is_some_and(|host| self.0.contains(&host));
        if is_public_address(address) || is_named() {
            return Ok(());
        }
        Err(format!(
            "{host} leads to {address}, which is not on the public internet; only the person can permit it, by \
             `web_extract.local_hosts` in their settings"
        )
        .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_refused_unless_the_person_names_the_host() {
        let check = |names: &[&str], host: &str, address: &str| {
            LocalHosts::new(names)
                .check(host, address.parse().unwrap())
                .is_ok()
        };
        assert!(check(&[], "example.org", "1.1.1.1"));
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "169.254.169.254",
            "::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
        ] {
            assert!(!check(&[], "example.org", address), "{address}");
            assert!(!check(&["localhost"], "example.org", address), "{address}");
            assert!(!check(&["*"], "example.org", address), "{address}");
        }
        assert!(check(&["LOCALHOST."], "localhost", "127.0.0.1"));
        assert!(check(&["127.0.0.1"], "127.0.0.1", "127.0.0.1"));
        assert!(!check(&["127.0.0.1"], "rebound.example", "127.0.0.1"));
    }
}
