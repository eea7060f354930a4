//! Checks that the model's server accepts a connection; sends nothing, so that no key leaves this machine.

use std::time::Duration;

use agentx::config::{PROXIES, ProviderSettings, check_environment};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::DoctorCheck;
use crate::configuration::lookup;
use crate::exit::Exit;

/// Maximum time to wait for an answer here.
const PATIENCE: Duration = Duration::from_secs(3);
/// Reaches for the server of a provider.
pub(super) async fn model(provider: Option<&ProviderSettings>, offline: bool) -> DoctorCheck {
    let name = "server";
    let Some(provider) = provider else {
        return DoctorCheck::ok(name, "the offline demo needs no connection");
    };
    let Some((host, port)) = host_of(&provider.base_url) else {
        let found = format!("the address of {} is invalid", provider.name);
        let advice = format!(
            "correct `providers.{}.base_url`; `agentx config show` prints it",
            provider.name
        );
        return DoctorCheck::bad(name, Exit::Config, found, advice);
    };
    let at = format!("{host}:{port}");
    if offline {
        return DoctorCheck::ok(name, format!("{at} was not contacted (--offline)"));
    }
    if let Some(proxy) = PROXIES
        .into_iter()
        .find(|name| lookup(name).is_some_and(|value| !value.is_empty()))
    {
        let value = lookup(proxy).unwrap_or_default();
        if let Some(wrong) = check_environment([(proxy, value.as_str())]).first() {
            let advice = "set it to the address of a proxy, or unset it";
            return DoctorCheck::bad(name, Exit::Config, wrong.to_string(), advice);
        }
        return DoctorCheck::ok(
            name,
            format!("{at} is reached through the proxy that {proxy} names; it was not contacted"),
        );
    }
    let advice = "check the network, and the address that `agentx config show` prints";
    match timeout(PATIENCE, TcpStream::connect((host.as_str(), port))).await {
        Ok(Ok(_)) => DoctorCheck::ok(name, format!("{at} is reachable")),
        Ok(Err(error)) => DoctorCheck::bad(
            name,
            Exit::Provider,
            format!("{at} is unreachable: {error}"),
            advice,
        ),
        Err(_) => {
            let found = format!("{at} did not answer within {} s", PATIENCE.as_secs());
            DoctorCheck::bad(name, Exit::Provider, found, advice)
        }
    }
}

/// Returns the host and port of an address.
pub(super) fn host_of(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let port = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, given) = match authority.strip_prefix('[') {
        Some(v6) => {
            let (host, rest) = v6.split_once(']')?;
            (host, rest.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = match given {
        Some(given) => given.parse().ok()?,
        None => port,
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (url, found) in [
            ("https://api.example.com/v1", Some(("api.example.com", 443))),
            ("http://localhost:11434", Some(("localhost", 11434))),
            ("http://[::1]:8080/v1?x", Some(("::1", 8080))),
            ("http://[::1]", Some(("::1", 80))),
            ("ftp://h", None),
            ("http://h:x", None),
            ("http:///v1", None),
            ("h", None),
        ] {
            let expected = found.map(|(host, port): (&str, u16)| (host.to_owned(), port));
            assert_eq!(host_of(url), expected, "{url}");
        }
    }
}
