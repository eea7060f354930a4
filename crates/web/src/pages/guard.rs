//! The guard of addresses from which a page may be fetched: those of the public internet, and local hosts
//! that the person's own settings name.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use agentx_http::BoxedError;
use agentx_types::{host_name, is_public_address};
use reqwest::Url;

/// The hosts in local networks that pages may be fetched from, each with its ports.
#[derive(Clone, Debug, Default)]
pub(super) struct LocalHosts(Arc<BTreeMap<String, PermittedPorts>>);

/// The ports of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PermittedPorts {
    Every,
    These(Vec<u16>),
}

impl LocalHosts {
    /// The hosts of these names. A name with a port permits that port, and one without a port all of them. An
    /// invalid name permits nothing.
    pub(super) fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        let mut hosts = BTreeMap::new();
        for name in names {
            let name = name.as_ref();
            let Some(host) = host_name(name).filter(|host| !host.contains('*')) else {
                continue;
            };
            match (hosts.get_mut(&host), port(name)) {
                (Some(PermittedPorts::Every), _) => {}
                (Some(PermittedPorts::These(ports)), Some(port)) => ports.push(port),
                (None, Some(port)) => {
                    hosts.insert(host, PermittedPorts::These(vec![port]));
                }
                (_, None) => {
                    hosts.insert(host, PermittedPorts::Every);
                }
            }
        }
        Self(Arc::new(hosts))
    }

    /// Checks the port of an address: a host that the person named with a port is asked at no other one, also
    /// behind a redirect.
    pub(super) fn check_port(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().and_then(host_name).unwrap_or_default();
        match (self.0.get(&host), url.port_or_known_default()) {
            (Some(PermittedPorts::These(ports)), Some(port)) if !ports.contains(&port) => Err(format!(
                "{host} is permitted at other ports than {port}; only the person can permit this one, by \
                 `web_extract.local_hosts` in their settings"
            )),
            _ => Ok(()),
        }
    }

    /// Checks an address to which `host` leads, at the moment of the connection.
    pub(super) fn check(&self, host: &str, address: IpAddr) -> Result<(), BoxedError> {
        let is_named = || host_name(host).is_some_and(|host| self.0.contains_key(&host));
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

/// The port behind a host, if it has one.
fn port(name: &str) -> Option<u16> {
    if name.parse::<Ipv6Addr>().is_ok() {
        return None;
    }
    let authority = name.split_once("://").map_or(name, |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or_default();
    authority.rsplit_once(':')?.1.parse().ok()
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

    #[test]
    fn a_name_with_a_port_permits_that_port() {
        let check = |names: &[&str], url: &str| {
            let hosts = LocalHosts::new(names);
            let url: Url = url.parse().unwrap();
            let host = url.host_str().unwrap().trim_matches(['[', ']']);
            hosts.check_port(&url).is_ok() && hosts.check(host, "127.0.0.1".parse().unwrap()).is_ok()
        };
        let one = ["localhost:8080"];
        assert!(check(&one, "http://localhost:8080/") && !check(&one, "http://localhost:8081/"));
        assert!(!check(&one, "http://localhost/") && check(&["localhost:80"], "http://localhost/"));
        assert!(check(&["localhost:1", "localhost:2"], "http://localhost:2/"));
        for all in [["localhost", "localhost:1"], ["localhost:1", "localhost"]] {
            assert!(check(&all, "http://localhost:2/"), "{all:?}");
        }
        assert!(check(&["::1"], "http://[::1]:7/") && check(&["[::1]:7"], "http://[::1]:7/"));
        assert!(!check(&["[::1]:7"], "http://[::1]:8/"));
    }
}
