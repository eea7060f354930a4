//! Requests to the servers that a login involves. Their addresses are claims of an MCP server, so a public
//! server leads to public addresses only, redirects are not followed, and answers are bounded.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agentx_http::{Certificates, GuardedResolver, client_builder, literal_address};
use agentx_types::is_public_address;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;

use crate::error_chain::chain;
use crate::limits::CONNECT;

/// The time of one request.
const REQUEST: Duration = Duration::from_secs(30);
/// The longest answer.
const ANSWER_BYTES: usize = 256 << 10;

/// Sends the requests of one login.
#[derive(Clone, Debug)]
pub(super) struct LoginRequests {
    client: Client,
    reach: AddressReach,
}

/// The addresses that a login may lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressReach {
    /// Addresses of the public internet, over TLS.
    Public,
    /// Addresses of local networks too, over TLS: the MCP server is in one.
    Private,
    /// As `Private`, and this machine without TLS: the MCP server runs on this machine.
    Loopback,
}

impl LoginRequests {
    /// The requests of a login at the MCP server `server`.
    ///
    /// # Errors
    /// Returns the reason if the server has no address, or no client can be made.
    pub(super) async fn of(server: &Url) -> Result<Self, String> {
        let reach = AddressReach::of(server).await?;
        // Reading the machine's root certificates takes milliseconds and blocks.
        let made = tokio::task::spawn_blocking(move || client(reach)).await;
        let client = made
            .map_err(|error| error.to_string())?
            .map_err(|error| chain(&error))?;
        Ok(Self { client, reach })
    }

    /// Checks that an address that a server named may be asked, or shown to a person.
    ///
    /// # Errors
    /// Returns why it may not.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        let refused = |why: &str| Err(format!("the address {url} is refused: {why}"));
        if !url.username().is_empty() || url.password().is_some() {
            return refused("it contains a user or a password");
        }
        let address = literal_address(url);
        let is_local = is_localhost(url) || address.is_some_and(|address| address.is_loopback());
        match url.scheme() {
            "https" => {}
            "http" if is_local && self.reach == AddressReach::Loopback => return Ok(()),
            _ => return refused("it is not https"),
        }
        if self.reach == AddressReach::Public && (is_local || address.is_some_and(|a| !is_public_address(a)))
        {
            return refused("a public server may not lead into a local network");
        }
        Ok(())
    }

    /// Parses an address that a server named, and checks it.
    ///
    /// # Errors
    /// Returns a description of what is wrong with it.
    pub(super) fn parse(&self, text: &str) -> Result<Url, String> {
        let url = Url::parse(text).map_err(|error| format!("{text:?} is not an address: {error}"))?;
        self.check(&url)?;
        Ok(url)
    }

    /// Reads a JSON document; `None` if there is none at this address.
    ///
    /// # Errors
    /// Returns the reason if the address cannot be asked, or answers something else.
    pub(super) async fn document<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, String> {
        self.check(url)?;
        let (status, body) = self.send(self.client.get(url.clone())).await?;
        if status.is_client_error() {
            return Ok(None);
        }
        if !status.is_success() {
            return Err(format!("{url} answered {status}"));
        }
        let document = serde_json::from_slice(&body);
        let document = document.map_err(|error| format!("the answer of {url} is not valid: {error}"))?;
        Ok(Some(document))
    }

    /// A request to the MCP server itself, to be filled and sent.
    pub(super) fn for_server(&self, server: &Url) -> RequestBuilder {
        self.client.post(server.clone())
    }

    /// A request with a body, to be filled and sent.
    ///
    /// # Errors
    /// Returns why the address may not be asked.
    pub(super) fn post(&self, url: &Url) -> Result<RequestBuilder, String> {
        self.check(url)?;
        Ok(self.client.post(url.clone()))
    }

    /// Sends a request. Returns the status and the body.
    ///
    /// # Errors
    /// Returns the reason if there is no answer in time, or it is too long.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), String> {
        let response = request.send().await.map_err(|error| chain(&error))?;
        let status = response.status();
        Ok((status, body_of(response).await?))
    }
}

/// Reads a body within bounds.
async fn body_of(mut response: Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| chain(&error))? {
        if body.len() + bytes.len() > ANSWER_BYTES {
            return Err(format!("its answer has more than {ANSWER_BYTES} bytes"));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

impl AddressReach {
    async fn of(server: &Url) -> Result<Self, String> {
        let host = server.host_str().ok_or("its address has no host")?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let found = tokio::time::timeout(CONNECT, tokio::net::lookup_host((host.clone(), 0))).await;
        let found = found.map_err(|_| format!("the name {host} was not resolved in time"))?;
        let found: Vec<IpAddr> = found
            .map_err(|error| format!("the name {host} cannot be resolved: {error}"))?
            .map(|address| address.ip())
            .collect();
        Ok(match found.as_slice() {
            all if all.iter().all(|address| address.is_loopback()) => Self::Loopback,
            all if all.iter().all(|address| is_public_address(*address)) => Self::Public,
            _ => Self::Private,
        })
    }
}

fn is_localhost(url: &Url) -> bool {
    url.host_str()
        .is_some_and(|host| host == "localhost" || host.ends_with(".localhost"))
}

/// A public server may not lead into a local network. A proxy of the environment resolves names itself; then
/// the guard holds for hosts that are written as addresses.
fn client(reach: AddressReach) -> reqwest::Result<Client> {
    let check = move |_: &str, address| match reach {
        AddressReach::Public if !is_public_address(address) => {
            let why = "a public server may not lead into a local network";
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why).into())
        }
        _ => Ok(()),
    };
    client_builder(Certificates::OfThisMachine)
        .dns_resolver(Arc::new(GuardedResolver::new(check)))
        .connect_timeout(CONNECT)
        .timeout(REQUEST)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(reach: AddressReach) -> LoginRequests {
        LoginRequests {
            client: client(reach).unwrap(),
            reach,
        }
    }

    #[test]
    fn a_public_server_leads_to_public_addresses_alone() {
        let cases = [
            ("https://login.example/token", true, true, true),
            ("http://login.example/token", false, false, false),
            ("https://10.0.0.1/token", false, true, true),
            ("https://169.254.169.254/latest", false, true, true),
            ("https://[::1]/token", false, true, true),
            ("https://[::ffff:127.0.0.1]/token", false, true, true),
            ("https://localhost/token", false, true, true),
            ("http://localhost:8080/token", false, false, true),
            ("http://127.0.0.1:8080/token", false, false, true),
            ("http://10.0.0.1/token", false, false, false),
            ("https://me:secret@login.example/", false, false, false),
            ("file:///etc/passwd", false, false, false),
            ("javascript:alert(1)", false, false, false),
        ];
        for (text, public, private, loopback) in cases {
            let allowed = [
                AddressReach::Public,
                AddressReach::Private,
                AddressReach::Loopback,
            ]
            .map(|reach| requests(reach).parse(text).is_ok());
            assert_eq!(allowed, [public, private, loopback], "{text}");
        }
    }

    #[tokio::test]
    async fn where_a_server_is_says_where_it_may_lead() {
        let reach = async |text: &str| AddressReach::of(&Url::parse(text).unwrap()).await;
        assert_eq!(reach("http://127.0.0.1:1/mcp").await, Ok(AddressReach::Loopback));
        assert_eq!(reach("https://10.1.2.3/mcp").await, Ok(AddressReach::Private));
        assert_eq!(reach("https://9.9.9.9/mcp").await, Ok(AddressReach::Public));
    }
}
