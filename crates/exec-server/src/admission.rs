//! Decides whether a request is let in: its host, its key, and whether the server works.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::exec_state::ExecState;
use crate::options::ExecServerOptions;
use crate::refusal::ExecRefusal;

/// The header with the key, as OpenHands' clients send it.
pub(crate) const KEY_HEADER: &str = "X-Session-API-Key";

/// Requests that need no key: they only say that a server is there.
const OPEN: &[&str] = &["/alive", "/server_info"];
/// Requests that are answered by a server that does not work.
const ALWAYS: &[&str] = &["/alive", "/server_info", "/v1/phase"];

/// Lets a request in, or answers it.
pub(crate) async fn admit(State(state): State<Arc<ExecState>>, request: Request, next: Next) -> Response {
    match check(&state, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check(state: &ExecState, request: &Request) -> Result<(), ExecRefusal> {
    check_host(&state.options, request.headers())?;
    let path = request.uri().path();
    if !OPEN.contains(&path) {
        let mut keys = request.headers().get_all(KEY_HEADER).iter();
        let key = keys.next().filter(|_| keys.next().is_none());
        if !key.is_some_and(|key| state.options.key.matches(key.as_bytes())) {
            let words = "Invalid API Key";
            return Err(ExecRefusal::new(StatusCode::FORBIDDEN, "wrong_key", words));
        }
    }
    if ALWAYS.contains(&path) {
        return Ok(());
    }
    state.check_works()
}

/// Checks that the request names this server, and not a page whose name was led here (DNS rebinding).
fn check_host(options: &ExecServerOptions, headers: &HeaderMap) -> Result<(), ExecRefusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().filter(|_| hosts.next().is_none());
    let authority = host.and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    match authority {
        Some(authority) if !authority.as_str().contains('@') && knows(options, authority.host()) => Ok(()),
        Some(authority) => {
            let host: String = authority.host().chars().take(100).collect();
            let words = format!("this server does not answer to the name {host:?}; --host-name adds one");
            Err(ExecRefusal::new(
                StatusCode::MISDIRECTED_REQUEST,
                "wrong_host",
                words,
            ))
        }
        None => Err(ExecRefusal::bad_request(
            "a request has exactly one `Host` header, with a host and optionally a port",
        )),
    }
}

fn knows(options: &ExecServerOptions, host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let listen = options.listen.ip().to_canonical();
    let is_here = listen.is_loopback() || listen.is_unspecified();
    if options
        .host_names
        .iter()
        .any(|name| name.eq_ignore_ascii_case(&host))
    {
        return true;
    }
    match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
        // Unlike a name, an address cannot be pointed at another machine.
        Ok(address) => address == listen || listen.is_unspecified() || (is_here && address.is_loopback()),
        Err(_) => is_here && host == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;
    use crate::options::ExecKey;

    fn answers(listen: &str, names: &[&str], hosts: &[&'static str]) -> bool {
        let key = ExecKey::new("made-up-key-of-a-test").unwrap();
        let options = ExecServerOptions {
            listen: listen.parse().unwrap(),
            host_names: names.iter().map(|name| (*name).to_owned()).collect(),
            ..ExecServerOptions::new("/", key)
        };
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        check_host(&options, &headers).is_ok()
    }

    #[test]
    fn a_server_answers_to_its_own_names_alone() {
        for (listen, names, hosts, expected) in [
            ("127.0.0.1:9", &[][..], &["127.0.0.1:9"][..], true),
            ("127.0.0.1:9", &[], &["localhost"], true),
            ("127.0.0.1:9", &[], &["[::1]:9"], true),
            ("127.0.0.1:9", &[], &["evil.example"], false),
            ("127.0.0.1:9", &[], &["10.0.0.1"], false),
            ("127.0.0.1:9", &["box.example"], &["BOX.example:80"], true),
            ("10.0.0.1:9", &[], &["localhost"], false),
            ("0.0.0.0:9", &[], &["10.0.0.1"], true),
            ("127.0.0.1:9", &[], &["user@localhost"], false),
            ("127.0.0.1:9", &[], &[], false),
            ("127.0.0.1:9", &[], &["localhost", "localhost"], false),
        ] {
            assert_eq!(
                answers(listen, names, hosts),
                expected,
                "{listen} {names:?} {hosts:?}"
            );
        }
    }
}
