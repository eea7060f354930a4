//! One connection of a command to its proxy.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::contacts::{HostContacts, address};
use super::gate::{HostDecision, HostGate};
use super::request_head::{RequestHead, read_head};

/// The time in which a client has to send the head of its request.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// The time to look a name up.
const LOOKUP_TIME: Duration = Duration::from_secs(20);
/// The time to connect to one address.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// The most addresses of a name that are tried.
const MOST_ADDRESSES: usize = 8;

/// The parts that all connections of a command share.
pub(super) struct ProxyShared {
    pub(super) gate: HostGate,
    pub(super) contacts: Arc<HostContacts>,
    /// The value of `Proxy-Authorization` that a client has to send, if the socket is one that other programs
    /// reach.
    pub(super) login: Option<String>,
}

/// A host that is not reached.
enum Unreached {
    /// One of its addresses is not of the public internet, and no other one is left.
    Local,
    /// It does not answer.
    Failed(String),
}

/// Serves one connection to its end.
pub(super) async fn serve_connection(mut client: TcpStream, shared: Arc<ProxyShared>) {
    // A client that is gone has nobody to be told.
    let _ = serve(&mut client, &shared).await;
    let _ = client.shutdown().await;
}

async fn serve(client: &mut TcpStream, shared: &ProxyShared) -> io::Result<()> {
    let head = match timeout(HEAD_TIME, read_head(client)).await {
        Ok(Ok(head)) => head,
        Ok(Err(why)) => return say(client, "400 Bad Request", "", why).await,
        Err(_) => return Ok(()),
    };
    let login = head.header("proxy-authorization");
    if shared
        .login
        .as_deref()
        .is_some_and(|expected| login != Some(expected))
    {
        let header = "Proxy-Authenticate: Basic realm=\"agentx\"\r\n";
        let why = "the variables HTTPS_PROXY and HTTP_PROXY of the command have the password";
        return say(client, "407 Proxy Authentication Required", header, why).await;
    }
    let decision = shared.gate.decide(&head.host, head.port).await;
    if !decision.is_allowed() {
        shared.contacts.add(&head.host, head.port, decision);
        return refuse(client, &head, decision).await;
    }
    match connect(shared, &head).await {
        Ok(mut server) => {
            shared.contacts.add(&head.host, head.port, decision);
            relay(client, &mut server, &head).await
        }
        Err(Unreached::Local) => {
            shared
                .contacts
                .add(&head.host, head.port, HostDecision::LocalAddress);
            refuse(client, &head, HostDecision::LocalAddress).await
        }
        Err(Unreached::Failed(why)) => {
            shared.contacts.add(&head.host, head.port, decision);
            say(client, "502 Bad Gateway", "", &why).await
        }
    }
}

/// Connects to the host of a request, at an address that it may lead to.
async fn connect(shared: &ProxyShared, head: &RequestHead) -> Result<TcpStream, Unreached> {
    let host = head.host.as_str();
    let found = match timeout(LOOKUP_TIME, lookup_host((host, head.port))).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return Err(Unreached::Failed(format!("{host} is not found: {error}"))),
        Err(_) => return Err(Unreached::Failed(format!("{host} is not found in time"))),
    };
    let found: Vec<SocketAddr> = found.collect();
    let may_be_reached = |place: &&SocketAddr| shared.gate.allows_address(host, place.ip());
    let allowed: Vec<SocketAddr> = found.iter().filter(may_be_reached).copied().collect();
    if allowed.is_empty() && !found.is_empty() {
        return Err(Unreached::Local);
    }
    let mut why = format!("{host} has no address");
    for place in allowed.into_iter().take(MOST_ADDRESSES) {
        match timeout(CONNECT_TIME, TcpStream::connect(place)).await {
            Ok(Ok(server)) => return Ok(server),
            Ok(Err(error)) => why = format!("{host} does not answer: {error}"),
            Err(_) => why = format!("{host} does not answer in time"),
        }
    }
    Err(Unreached::Failed(why))
}

/// Lets the client and the server talk.
async fn relay(client: &mut TcpStream, server: &mut TcpStream, head: &RequestHead) -> io::Result<()> {
    if head.is_tunnel() {
        client
            .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
            .await?;
    } else {
        server.write_all(&head.for_server()).await?;
    }
    server.write_all(&head.rest).await?;
    copy_bidirectional(client, server).await.map(|_| ())
}

async fn refuse(client: &mut TcpStream, head: &RequestHead, decision: HostDecision) -> io::Result<()> {
    let host = address(&head.host, head.port);
    let why = match decision {
        HostDecision::PersonRefused => format!("a person did not let this command reach {host}"),
        HostDecision::LocalAddress => format!(
            "{host} leads to an address that is not of the public internet; `sandbox.hosts` has to name that address"
        ),
        HostDecision::Named | HostDecision::PersonAllowed | HostDecision::Refused => {
            format!("the sandbox does not let this command reach {host}; `sandbox.hosts` has to name it")
        }
    };
    say(client, "403 Forbidden", "", &why).await
}

/// Answers in the place of a server.
async fn say(client: &mut TcpStream, status: &str, header: &str, why: &str) -> io::Result<()> {
    let body = format!("agentx: {why}\n");
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\n{header}Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    client.write_all(answer.as_bytes()).await
}
