//! The address of a server: as given, as URLs for requests, and as text without secrets.
//!
//! An address may have a path, as behind a proxy with several services: `https://example.com/agents`. It
//! contains no secret, because addresses are in the history of a shell and in logs.

use std::fmt;
use std::net::IpAddr;

use agentx_runtime::RuntimeError;
use reqwest::Url;

/// The address of a server. Shown, it is only scheme, host, port and path.
///
/// ```
/// use agentx_remote_runtime::ServerEndpoint;
///
/// let server = ServerEndpoint::parse("127.0.0.1:5200")?;
/// assert_eq!(server.to_string(), "http://127.0.0.1:5200");
/// assert_eq!(server.host_and_port(), "localhost:5200", "all names of this machine are one");
/// assert!(server.is_origin("http://localhost:5200"));
/// assert!(ServerEndpoint::parse("http://me:secret@127.0.0.1:5200").is_err());
/// # Ok::<(), agentx_runtime::RuntimeError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServerEndpoint {
    base: Url,
}

impl ServerEndpoint {
    /// Reads an address: `http`, `https`, `ws` or `wss`, or only host and port.
    ///
    /// # Errors
    /// Returns an error if it is not a URL, or contains a user, a password, a query or a fragment: a secret
    /// has no place in an address.
    pub fn parse(address: &str) -> Result<Self, RuntimeError> {
        let no_address = |why: &str| {
            RuntimeError::Refused(format!(
                "not a server address: {why}; expected an address such as http://127.0.0.1:5200"
            ))
        };
        let address = address.trim();
        let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" | "ws" => "http",
            "https" | "wss" => "https",
            _ => return Err(no_address("it does not begin with http, https, ws or wss")),
        };
        let mut base =
            Url::parse(&format!("{scheme}://{rest}")).map_err(|error| no_address(&error.to_string()))?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err(no_address("it contains a user or a password"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(no_address("it has a query or a fragment"));
        }
        if base.host_str().is_none_or(str::is_empty) {
            return Err(no_address("it has no host"));
        }
        let path = base.path().trim_end_matches('/').to_owned();
        base.set_path(&path);
        Ok(Self { base })
    }

    /// The address of the resource with these path segments under `/v1`.
    pub(crate) fn http(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(segments);
        }
        url
    }

    /// The address of the WebSocket.
    pub(crate) fn socket(&self) -> String {
        // `http` becomes `ws`, `https` becomes `wss`.
        self.http(&["socket"]).as_str().replacen("http", "ws", 1)
    }

    /// This host and port, dialled with TLS. Must not be called on an `https` address.
    pub(crate) fn over_tls(&self) -> Self {
        let mut base = self.base.clone();
        let port = base.port_or_known_default();
        // Neither fails for an address with a host and a scheme of the web.
        let _ = base.set_scheme("https");
        let _ = base.set_port(port);
        Self { base }
    }

    /// Returns whether the connection is encrypted with a certificate.
    pub(crate) fn is_tls(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Returns whether a server that calls itself `origin` is the one at this address: the same host and
    /// port. All names of this machine are equal.
    pub fn is_origin(&self, origin: &str) -> bool {
        Self::parse(origin).is_ok_and(|origin| origin.place() == self.place())
    }

    /// Host and port as one text, equal for all names of this machine.
    pub fn host_and_port(&self) -> String {
        let (host, port) = self.place();
        format!("{host}:{}", port.unwrap_or_default())
    }

    /// Host and port in a normalized form.
    fn place(&self) -> (String, Option<u16>) {
        let host = self.base.host_str().unwrap_or_default().to_ascii_lowercase();
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .trim_end_matches('.');
        let is_loopback = host == "localhost"
            || host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.to_canonical().is_loopback());
        let host = if is_loopback { "localhost" } else { host };
        (host.to_owned(), self.base.port_or_known_default())
    }
}

impl fmt::Display for ServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for ServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(address: &str) -> ServerEndpoint {
        ServerEndpoint::parse(address).unwrap()
    }

    #[test]
    fn an_address_is_read_in_every_form() {
        for (address, shown, socket) in [
            (
                "127.0.0.1:5200",
                "http://127.0.0.1:5200",
                "ws://127.0.0.1:5200/v1/socket",
            ),
            ("ws://h:1/", "http://h:1", "ws://h:1/v1/socket"),
            ("https://h", "https://h", "wss://h/v1/socket"),
            ("WSS://h/agents/", "https://h/agents", "wss://h/agents/v1/socket"),
            (
                "http://[::1]:5200",
                "http://[::1]:5200",
                "ws://[::1]:5200/v1/socket",
            ),
        ] {
            let endpoint = endpoint(address);
            assert_eq!(
                (endpoint.to_string().as_str(), endpoint.socket().as_str()),
                (shown, socket)
            );
        }
    }

    #[test]
    fn an_address_keeps_its_port_where_it_is_dialled_with_tls() {
        for (address, dialled, socket) in [
            ("h:5200", "https://h:5200", "wss://h:5200/v1/socket"),
            ("http://h", "https://h:80", "wss://h:80/v1/socket"),
            ("ws://[::1]:443/x", "https://[::1]/x", "wss://[::1]/x/v1/socket"),
        ] {
            let over_tls = endpoint(address).over_tls();
            assert_eq!(
                (over_tls.to_string().as_str(), over_tls.socket().as_str()),
                (dialled, socket)
            );
        }
    }

    #[test]
    fn an_address_holds_no_secret() {
        for address in [
            "http://me:hunter2@h",
            "http://h?token=1",
            "http://h#t",
            "ftp://h",
            "http://",
            "",
        ] {
            let error = ServerEndpoint::parse(address).unwrap_err().to_string();
            assert!(
                !error.contains("hunter2") && !error.contains("token=1"),
                "{error}"
            );
        }
    }

    #[test]
    fn ids_in_paths_are_written_safely() {
        let url = endpoint("http://h/x").http(&["sessions", "a/../b?c", "state"]);
        assert_eq!(url.as_str(), "http://h/x/v1/sessions/a%2F..%2Fb%3Fc/state");
    }

    #[test]
    fn a_signature_is_given_to_the_dialled_server_alone() {
        let at = endpoint("http://localhost:5200");
        for origin in [
            "http://127.0.0.1:5200",
            "ws://[::1]:5200",
            "http://LOCALHOST:5200",
            "http://127.8.0.1:5200/",
        ] {
            assert!(at.is_origin(origin), "{origin}");
        }
        for origin in [
            "http://localhost:5201",
            "http://evil:5200",
            "http://localhost",
            "",
            "null",
            "http://1.2.3.4:5200",
        ] {
            assert!(!at.is_origin(origin), "{origin}");
        }
        assert!(endpoint("https://h").is_origin("https://H:443"));
        assert!(!endpoint("https://h").is_origin("https://h.evil"));
    }
}
