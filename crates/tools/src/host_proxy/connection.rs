//! One connection of a command to its proxy, and the parts that all connections of a command share.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::contacts::{HostContacts, address};
use super::gate::{HostDecision, HostGate};
use super::masked_credentials::MaskedCredentials;
use super::request_head::{HEAD_TIME, RequestHead, read_head};
use super::server_connection::{Unreached, connect};

/// The first byte of TLS (<https://www.rfc-editor.org/rfc/rfc8446#section-5.1>).
const HANDSHAKE: u8 = 0x16;

/// The parts that all connections of a command share.
pub(super) struct ProxyShared {
    pub(super) gate: HostGate,
    pub(super) contacts: Arc<HostContacts>,
    pub(super) credentials: MaskedCredentials,
    /// The value of `Proxy-Authorization` that a client has to send, if the socket is one that other programs
    /// reach.
    pub(super) login: Option<String>,
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
    match connect(&shared.gate, &head).await {
        Ok(server) => {
            shared.contacts.add(&head.host, head.port, decision);
            if head.is_tunnel() {
                serve_tunnel(client, server, &head, shared).await
            } else {
                relay_request(client, server, &head).await
            }
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

/// Lets the client and the server talk. If credentials are for the server, the proxy reads the TLS of the
/// client.
async fn serve_tunnel(
    client: &mut TcpStream,
    mut server: TcpStream,
    head: &RequestHead,
    shared: &ProxyShared,
) -> io::Result<()> {
    client
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await?;
    if let Some(masker) = shared.credentials.masker_for(&head.host, head.port)
        && begins_with_handshake(client, &server, &head.rest).await?
    {
        return masker
            .serve(client, server, head, &shared.gate, &shared.contacts)
            .await;
    }
    server.write_all(&head.rest).await?;
    copy_bidirectional(client, &mut server).await.map(|_| ())
}

/// Waits for the first byte behind the head of a tunnel, and returns whether it begins TLS. It does not if
/// the server speaks first, as it does for mail.
async fn begins_with_handshake(client: &TcpStream, server: &TcpStream, rest: &[u8]) -> io::Result<bool> {
    if let Some(first) = rest.first() {
        return Ok(*first == HANDSHAKE);
    }
    let (mut first, mut of_server) = ([0], [0]);
    tokio::select! {
        biased;
        read = timeout(HEAD_TIME, client.peek(&mut first)) => Ok(read?? == 1 && first[0] == HANDSHAKE),
        _ = server.peek(&mut of_server) => Ok(false),
    }
}

/// Sends one request on, and lets the client and the server talk.
async fn relay_request(client: &mut TcpStream, mut server: TcpStream, head: &RequestHead) -> io::Result<()> {
    server.write_all(&head.for_server()).await?;
    server.write_all(&head.rest).await?;
    copy_bidirectional(client, &mut server).await.map(|_| ())
}

async fn refuse(client: &mut TcpStream, head: &RequestHead, decision: HostDecision) -> io::Result<()> {
    let host = address(&head.host, head.port);
    let why = match decision {
        HostDecision::PersonRefused => format!("a person did not let this command reach {host}"),
        HostDecision::Unanswered => format!(
            "nobody answered whether this command may reach {host}; it is refused for the rest of the command"
        ),
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
