//! The guard of addresses from which pages may come: those of the public internet, and local hosts that the
//! person's own settings name.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use agentx_types::{host_name, is_public_address, is_public_name};
use reqwest::Url;

use crate::resolver::BoxedError;

/// The hosts in local networks that pages may come from, each with its ports.
#[derive(Clone, Debug)]
pub struct LocalHosts {
    hosts: Arc<BTreeMap<String, PermittedPorts>>,
    /// The setting that names them, for refusals.
    setting: &'static str,
}

/// The ports of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PermittedPorts {
    Every,
    These(Vec<u16>),
}

impl LocalHosts {
    /// The hosts of these names, which `setting` has. A name with a port permits that port, and one without a
    /// port all of them. An invalid name permits nothing.
    pub fn new<T: AsRef<str>>(names: impl IntoIterator<Item = T>, setting: &'static str) -> Self {
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
        Self {
            hosts: Arc::new(hosts),
            setting,
        }
    }

    /// Returns whether the person named this host, at whatever port.
    pub fn names(&self, host: &str) -> bool {
        host_name(host).is_some_and(|host| self.hosts.contains_key(&host))
    }

    /// Checks the port of an address: a host that the person named with a port is asked at no other one, also
    /// behind a redirect.
    ///
    /// # Errors
    /// Returns why the port is refused.
    pub fn check_port(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().unwrap_or_default();
        url.port_or_known_default()
            .map_or(Ok(()), |port| self.check_port_of(host, port))
    }

    /// Checks a port of a host, as [`LocalHosts::check_port`] does.
    ///
    /// # Errors
    /// Returns why the port is refused.
    pub fn check_port_of(&self, host: &str, port: u16) -> Result<(), String> {
        let host = host_name(host).unwrap_or_default();
        match self.hosts.get(&host) {
            Some(PermittedPorts::These(ports)) if !ports.contains(&port) => Err(format!(
                "{host} is permitted at other ports than {port}; only the person can permit this one, by `{}` in \
                 their settings",
                self.setting
            )),
            _ => Ok(()),
        }
    }

    /// Checks the name of a host before it is looked up: names of local networks are refused, also if they
    /// lead nowhere at the moment. [`LocalHosts::check`] checks where another name leads.
    ///
    /// # Errors
    /// Returns why the name is refused.
    pub fn check_name(&self, host: &str) -> Result<(), String> {
        if is_public_name(host) || self.names(host) {
            return Ok(());
        }
        Err(format!(
            "{host} is not a name of the public internet; only the person can permit it, by `{}` in their settings",
            self.setting
        ))
    }

    /// Checks an address to which `host` leads, at the moment of the connection.
    ///
    /// # Errors
    /// Returns why the address is refused.
    pub fn check(&self, host: &str, address: IpAddr) -> Result<(), BoxedError> {
        if is_public_address(address) || self.names(host) {
            return Ok(());
        }
        Err(format!(
            "{host} leads to {address}, which is not on the public internet; only the person can permit it, by `{}` in \
             their settings",
            self.setting
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
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn local_addresses_are_refused_unless_the_person_names_the_host() {
        let check = |names: &[&str], host: &str, address: &str| {
            LocalHosts::new(names, "made.up")
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
    fn names_of_local_networks_are_refused_unless_the_person_names_them() {
        let hosts = LocalHosts::new(["localhost", "push.intra:8443"], "made.up");
        for permitted in ["localhost", "push.intra", "push.example.org"] {
            assert_eq!(hosts.check_name(permitted), Ok(()));
        }
        for refused in ["metadata.google.internal", "other.intra", "printer.local", "nas"] {
            let why = hosts.check_name(refused).unwrap_err();
            assert!(why.starts_with(refused) && why.contains("`made.up`"), "{why}");
        }
    }

    #[test]
    fn a_name_with_a_port_permits_that_port() {
        let check = |names: &[&str], url: &str| {
            let hosts = LocalHosts::new(names, "made.up");
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
