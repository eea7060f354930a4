//! The task of a proxy: accepts the connections of one command until no process of it is left.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use agentx_sandbox::{ProxyListener, receive_listener, send_input};
use base64::Engine as _;
use tokio::io::Interest;
use tokio::net::{TcpListener, UnixStream};
use tokio::task::{AbortHandle, JoinSet};

use super::connection::{ProxyShared, serve_connection};
use super::contacts::HostContacts;
use super::gate::HostGate;
use super::masked_credentials::MaskedCredentials;

/// The most connections of a command at once; further ones wait.
const MOST_CONNECTIONS: usize = 256;

/// The pause after a connection that could not be accepted, as when there are too many files.
const PAUSE: Duration = Duration::from_millis(50);

/// The name in front of the token of a proxy.
const USER: &str = "agentx";

/// The proxy of one command.
pub(crate) struct HostProxy {
    contacts: Arc<HostContacts>,
    task: AbortHandle,
}

/// A proxy's way to the helper, before the helper is started.
pub(crate) struct ProxyWay {
    ours: StdUnixStream,
    theirs: OwnedFd,
}

impl ProxyWay {
    /// Makes the way. `input` is what the command reads as its standard input.
    pub(crate) fn new(input: Option<BorrowedFd<'_>>) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        send_input(&ours, input)?;
        ours.set_nonblocking(true)?;
        Ok(Self {
            ours,
            theirs: theirs.into(),
        })
    }

    /// Splits it into the standard input of the helper, and what the proxy keeps.
    pub(crate) fn split(self) -> (OwnedFd, StdUnixStream) {
        (self.theirs, self.ours)
    }
}

impl HostProxy {
    /// Serves the command behind `control`. Has to be called in a runtime.
    pub(crate) fn start(
        control: StdUnixStream,
        gate: HostGate,
        credentials: MaskedCredentials,
    ) -> io::Result<Self> {
        let control = UnixStream::from_std(control)?;
        let contacts = Arc::new(HostContacts::default());
        let shared = ProxyShared {
            gate,
            contacts: Arc::clone(&contacts),
            credentials,
            login: None,
        };
        let serving = serve(control, shared);
        let task = tokio::spawn(serving).abort_handle();
        Ok(Self { contacts, task })
    }

    /// The hosts that the command asked for until now.
    pub(crate) fn contacts(&self) -> &HostContacts {
        &self.contacts
    }
}

impl Drop for HostProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl std::fmt::Debug for HostProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostProxy")
            .field("contacts", &self.contacts)
            .finish_non_exhaustive()
    }
}

/// Accepts connections until no process of the command is left.
async fn serve(control: UnixStream, shared: ProxyShared) {
    let Some((listener, token)) = listening(&control).await else {
        return;
    };
    let login = token.map(|token| {
        let words = format!("{USER}:{token}");
        format!(
            "Basic {}",
            base64::engine::general_purpose::STANDARD.encode(words)
        )
    });
    let shared = Arc::new(ProxyShared { login, ..shared });
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            (client, _) = next_client(|| listener.accept()), if connections.len() < MOST_CONNECTIONS => {
                connections.spawn(serve_connection(client, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
            () = closed(&control) => return,
        }
    }
}

/// Returns the next connection that can be accepted: one that cannot, because its client is gone or too many
/// files are open, does not take the proxy away from the command.
async fn next_client<T, F: Future<Output = io::Result<T>>>(mut accept: impl FnMut() -> F) -> T {
    loop {
        match accept().await {
            Ok(client) => return client,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Waits for the listening socket of the command; `None` if the helper failed before it had one.
async fn listening(control: &UnixStream) -> Option<(TcpListener, Option<String>)> {
    loop {
        control.readable().await.ok()?;
        match control.try_io(Interest::READABLE, || receive_listener(control)) {
            Ok(ProxyListener { listener, token }) => {
                listener.set_nonblocking(true).ok()?;
                return Some((TcpListener::from_std(listener).ok()?, token));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}

/// Waits until the other end is closed everywhere.
async fn closed(control: &UnixStream) {
    let mut ignored = [0; 64];
    while control.readable().await.is_ok() {
        match control.try_read(&mut ignored) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use agentx_sandbox::HostPattern;
    use agentx_types::SessionId;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::host_proxy::HostAnswers;

    fn gate(hosts: &[String]) -> HostGate {
        let patterns = hosts.iter().filter_map(|text| HostPattern::parse(text)).collect();
        HostGate::new(patterns, None, SessionId::new("ses_1"), HostAnswers::default())
    }

    /// Serves one connection at a time with `HELLO`, after it has read `bytes` bytes.
    async fn server(bytes: usize) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut read = vec![0; bytes];
                if client.read_exact(&mut read).await.is_ok() {
                    let _ = client.write_all(b"HELLO").await;
                }
            }
        });
        port
    }

    /// Sends a request to a connection of the proxy. Returns all of the answer.
    async fn answer(gate: HostGate, login: Option<&str>, request: &str) -> (String, Arc<HostContacts>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let contacts = Arc::new(HostContacts::default());
        let shared = Arc::new(ProxyShared {
            gate,
            contacts: Arc::clone(&contacts),
            credentials: MaskedCredentials::default(),
            login: login.map(str::to_owned),
        });
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        let served = tokio::spawn(serve_connection(accepted, shared));
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        drop(client);
        served.await.unwrap();
        (answer, contacts)
    }

    #[tokio::test]
    async fn a_named_host_is_reached_by_a_tunnel_and_by_a_request() {
        let port = server(4).await;
        let hosts = [format!("127.0.0.1:{port}")];
        let tunnel = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nabcd");
        let (said, contacts) = answer(gate(&hosts), None, &tunnel).await;
        assert_eq!(said, "HTTP/1.1 200 Connection established\r\n\r\nHELLO");
        assert_eq!(contacts.take_refused(), None);
        assert_eq!(contacts.details()[0]["decision"], "named");
        let request = format!("GET http://127.0.0.1:{port}/x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        let (said, _) = answer(gate(&hosts), None, &request).await;
        assert_eq!(said, "HELLO");
    }

    #[tokio::test]
    async fn every_other_host_is_refused_and_said_so() {
        let port = server(0).await;
        for (hosts, request, expected) in [
            (
                vec![],
                format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"),
                "sandbox.hosts",
            ),
            (
                vec!["127.0.0.1:1".to_owned()],
                format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"),
                "sandbox.hosts",
            ),
            // The name is allowed, and the address to which it leads is not.
            (
                vec!["127.1".to_owned()],
                format!("CONNECT 127.1:{port} HTTP/1.1\r\n\r\n"),
                "not of the public internet",
            ),
            (vec![], "GET / HTTP/1.1\r\n\r\n".to_owned(), "400 Bad Request"),
        ] {
            let (said, _) = answer(gate(&hosts), None, &request).await;
            assert!(
                said.contains(expected) && !said.contains("HELLO"),
                "{request}: {said}"
            );
        }
    }

    #[tokio::test]
    async fn a_connection_that_cannot_be_accepted_leaves_the_next_one() {
        let mut results = vec![
            Ok("served"),
            Err(io::ErrorKind::ConnectionAborted.into()),
            Err(io::Error::other("too many open files")),
        ];
        let client = next_client(|| std::future::ready(results.pop().unwrap())).await;
        assert_eq!(client, "served");
    }

    #[tokio::test]
    async fn a_socket_that_others_reach_needs_the_login() {
        let port = server(0).await;
        let hosts = [format!("127.0.0.1:{port}")];
        for (header, expected) in [
            ("", "407 "),
            ("Proxy-Authorization: Basic eA==\r\n", "407 "),
            ("Proxy-Authorization: Basic eHg=\r\n", "200 "),
        ] {
            let request = format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n{header}\r\n");
            let (said, _) = answer(gate(&hosts), Some("Basic eHg="), &request).await;
            assert!(said.contains(expected), "{header}: {said}");
        }
    }
}
