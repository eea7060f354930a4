//! The host names that a server answers to. A web page may resolve its own name to the address of this
//! machine (DNS rebinding), so that its requests look like requests of the server's own pages. They still
//! carry that name in `Host`, so other names are refused.

use std::net::{IpAddr, SocketAddr};

use agentx_types::wire::Problem;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, Version};

use crate::problems::problem;

/// The names that a server answers to. Ports do not matter: a tunnel may lead from another one.
#[derive(Clone, Debug)]
pub(crate) struct HostNames {
    listen: IpAddr,
    origin: Option<String>,
}

impl HostNames {
    /// Returns the names of a server that listens at this address with the origin `origin`.
    pub(crate) fn new(listen: SocketAddr, origin: &str) -> Self {
        let origin = origin.parse::<Uri>().ok();
        Self {
            listen: listen.ip().to_canonical(),
            origin: origin.and_then(|origin| origin.host().map(plain)),
        }
    }

    /// Checks that a request is for this server.
    ///
    /// # Errors
    /// Returns `wrong_host` if the host is not this server; `bad_request` if there is not exactly one valid
    /// host, as HTTP/1.1 requires.
    pub(crate) fn check(&self, version: Version, uri: &Uri, headers: &HeaderMap) -> Result<(), Box<Problem>> {
        let mut hosts = headers.get_all(HOST).iter();
        let (first, second) = (hosts.next(), hosts.next());
        let unclear = || {
            problem(
                "bad_request",
                "a request must have exactly one `Host` header, with a host and optionally a port",
            )
        };
        let named = match (first, second) {
            (Some(host), None) => {
                let text = host.to_str().map_err(|_| unclear())?;
                Some(text.parse::<Authority>().map_err(|_| unclear())?)
            }
            // HTTP/1.0 clients need not send it; browsers always do.
            (None, None) if version < Version::HTTP_11 => None,
            _ => return Err(unclear()),
        };
        for authority in named.iter().chain(uri.authority()) {
            // `Host` has no user name (RFC 9110, 7.2); a proxy might read another host there.
            if authority.as_str().contains('@') || !has_valid_port(authority) {
                return Err(unclear());
            }
            if !self.knows(authority.host()) {
                let host = authority.host().chars().take(100).collect::<String>();
                let what = format!(
                    "this server does not answer to the name {host:?}; if that is its name, start it with --origin"
                );
                return Err(problem("wrong_host", &what));
            }
        }
        Ok(())
    }

    fn knows(&self, host: &str) -> bool {
        let host = plain(host);
        if self.origin.as_ref() == Some(&host) {
            return true;
        }
        let is_here = self.listen.is_loopback() || self.listen.is_unspecified();
        match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
            // An address is not a name that anybody could give to another machine.
            Ok(address) if self.listen.is_unspecified() => !address.is_multicast(),
            Ok(address) => address == self.listen || (is_here && address.is_loopback()),
            Err(_) => is_here && (host == "localhost" || host.ends_with(".localhost")),
        }
    }
}

/// Returns whether nothing but a port follows the host: the parser of `http` takes any text there.
fn has_valid_port(authority: &Authority) -> bool {
    match authority.as_str().strip_prefix(authority.host()) {
        Some("" | ":") => true,
        Some(rest) => rest.strip_prefix(':').is_some_and(|port| {
            port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
        }),
        None => false,
    }
}

/// Returns a host in a normalized form.
fn plain(host: &str) -> String {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn code(hosts: &HostNames, version: Version, uri: &str, named: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for name in named {
            headers.append(HOST, name.parse().unwrap());
        }
        let checked = hosts.check(version, &uri.parse().unwrap(), &headers);
        checked.err().map(|problem| problem.code)
    }

    #[test]
    fn a_server_answers_to_its_own_names_alone() {
        let here = HostNames::new(([127, 0, 0, 1], 5200).into(), "http://127.0.0.1:5200");
        let named = HostNames::new(([127, 0, 0, 1], 5200).into(), "https://Agents.example");
        let inside = HostNames::new(([10, 0, 0, 5], 5200).into(), "https://agents.example:8443");
        let everywhere = HostNames::new(([0, 0, 0, 0], 5200).into(), "https://agents.example");
        let local = [
            "127.0.0.1:5200",
            "localhost",
            "LOCALHOST:9",
            "[::1]:5200",
            "127.0.0.2",
            "a.localhost",
            "localhost.",
        ];
        for host in local {
            for hosts in [&here, &named, &everywhere] {
                assert!(code(hosts, Version::HTTP_11, "/", &[host]).is_none(), "{host}");
            }
            assert!(code(&inside, Version::HTTP_11, "/", &[host]).is_some(), "{host}");
        }
        for hosts in [&named, &inside, &everywhere] {
            assert!(code(hosts, Version::HTTP_11, "/", &["agents.EXAMPLE:443"]).is_none());
        }
        assert!(code(&inside, Version::HTTP_11, "/", &["10.0.0.5:5200"]).is_none());
        assert!(code(&everywhere, Version::HTTP_11, "/", &["192.0.2.7"]).is_none());
        let foreign = [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "agents.example.evil",
            "notlocalhost",
            "10.0.0.6",
            "0.0.0.0",
        ];
        for host in foreign {
            for hosts in [&here, &named, &inside] {
                let wrong = code(hosts, Version::HTTP_11, "/", &[host]);
                assert_eq!(wrong.as_deref(), Some("wrong_host"), "{host}");
            }
        }
    }

    #[test]
    fn whom_a_request_is_for_is_said_once_and_clearly() {
        let here = HostNames::new(([127, 0, 0, 1], 5200).into(), "http://127.0.0.1:5200");
        let code = |version, uri, named: &[&str]| code(&here, version, uri, named);
        let unclear = Some("bad_request".to_owned());
        assert_eq!(code(Version::HTTP_11, "/", &[]), unclear);
        assert_eq!(code(Version::HTTP_10, "/", &[]), None);
        assert_eq!(
            code(Version::HTTP_10, "/", &["evil.example"]),
            Some("wrong_host".into())
        );
        assert_eq!(code(Version::HTTP_11, "/", &["localhost", "localhost"]), unclear);
        assert_eq!(code(Version::HTTP_11, "/", &["localhost/evil"]), unclear);
        assert_eq!(code(Version::HTTP_11, "/", &[""]), unclear);
        assert_eq!(code(Version::HTTP_11, "/", &["evil.example@localhost"]), unclear);
        for port in [":5301,evil", ":x", ":65536", ":+80", ":80:80"] {
            let named = format!("localhost{port}");
            let refused = code(Version::HTTP_11, "/", &[named.as_str()]);
            assert!(refused.is_some(), "{named}");
        }
        for port in [":", ":80", ":65535"] {
            let named = format!("localhost{port}");
            assert_eq!(code(Version::HTTP_11, "/", &[named.as_str()]), None, "{named}");
        }
        let userinfo = "http://evil.example@localhost/v1/health";
        assert_eq!(code(Version::HTTP_11, userinfo, &["localhost"]), unclear);
        let absolute = "http://evil.example/v1/health";
        assert_eq!(
            code(Version::HTTP_11, absolute, &["localhost"]),
            Some("wrong_host".into())
        );
    }
}
