//! A proxy (SOCKS 5, RFC 1928) on this machine that connects only where the gate permits. Chromium sends
//! everything through it: pages, their parts, redirects, WebSockets and what workers load. The proxy looks
//! names up itself and connects to the address that it checked, so a name cannot lead elsewhere afterwards.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use agentx_http::NameLookup;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::host_gate::PageHostGate;

/// The maximum number of connections at once; Chromium makes 32 through one proxy.
const MOST_CONNECTIONS: usize = 256;
/// The time in which a client has to say where it wants to go.
const ASKING: Duration = Duration::from_secs(15);
/// The time for a lookup and the connection.
const CONNECTING: Duration = Duration::from_secs(15);
/// The pause after a connection that could not be accepted, as when there are too many files.
const PAUSE: Duration = Duration::from_millis(50);

/// The version of the protocol.
const VERSION: u8 = 5;
/// The reply of RFC 1928 for a connection that rules refuse.
const REFUSED: u8 = 2;
/// The reply of RFC 1928 for a host that cannot be reached.
const UNREACHABLE: u8 = 4;

/// A proxy that runs until it is dropped.
pub(crate) struct GuardedProxy {
    port: u16,
    _accepting: AbortOnDropHandle<()>,
}

impl GuardedProxy {
    /// Starts a proxy on any free port. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if no port can be opened.
    pub(crate) async fn start(gate: Arc<PageHostGate>, lookup: Arc<dyn NameLookup>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let accepting = tokio::spawn(accept_connections(listener, gate, lookup));
        Ok(Self {
            port,
            _accepting: AbortOnDropHandle::new(accepting),
        })
    }

    /// The port on this machine.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

/// Serves connections. All of them end when the future is dropped.
async fn accept_connections(listener: TcpListener, gate: Arc<PageHostGate>, lookup: Arc<dyn NameLookup>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((client, _)) if connections.len() < MOST_CONNECTIONS => {
                connections.spawn(serve(client, gate.clone(), lookup.clone()));
            }
            Ok(_) => {}
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Serves one connection until either side ends it.
async fn serve(mut client: TcpStream, gate: Arc<PageHostGate>, lookup: Arc<dyn NameLookup>) {
    let Some((host, port)) = requested_host(&mut client).await else {
        return;
    };
    let connected = timeout(CONNECTING, connect(&host, port, &gate, lookup.as_ref())).await;
    let code = match connected {
        Ok(Ok(mut server)) => {
            if client.write_all(&reply(0)).await.is_ok() {
                // Either side may end as it likes.
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
            return;
        }
        Ok(Err(ConnectFailure::Refused(why))) => {
            gate.note_refusal(&host, &why);
            REFUSED
        }
        Ok(Err(ConnectFailure::Unreachable)) | Err(_) => UNREACHABLE,
    };
    // A client that is gone needs no answer.
    let _ = client.write_all(&reply(code)).await;
}

/// Returns the host and port to which a client wants to connect; `None` if it does not say so in time.
async fn requested_host<C: AsyncRead + AsyncWrite + Unpin>(client: &mut C) -> Option<(String, u16)> {
    timeout(ASKING, read_request(client)).await.ok()?.ok()?
}

/// Reads the greeting and the request of RFC 1928: the host and port to connect to. `None` if it is another
/// protocol, or a request for anything but a connection.
async fn read_request<C: AsyncRead + AsyncWrite + Unpin>(
    client: &mut C,
) -> io::Result<Option<(String, u16)>> {
    let mut greeting = [0; 2];
    client.read_exact(&mut greeting).await?;
    let [version, methods] = greeting;
    if version != VERSION {
        return Ok(None);
    }
    let mut offered = vec![0; usize::from(methods)];
    client.read_exact(&mut offered).await?;
    // Method 0: no password.
    client.write_all(&[VERSION, 0]).await?;
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let [VERSION, 1, _, kind] = head else {
        return Ok(None);
    };
    let host = match kind {
        1 => {
            let mut bytes = [0; 4];
            client.read_exact(&mut bytes).await?;
            Ipv4Addr::from(bytes).to_string()
        }
        3 => {
            let length = client.read_u8().await?;
            let mut name = vec![0; usize::from(length)];
            client.read_exact(&mut name).await?;
            match String::from_utf8(name) {
                Ok(name) => name,
                Err(_) => return Ok(None),
            }
        }
        4 => {
            let mut bytes = [0; 16];
            client.read_exact(&mut bytes).await?;
            Ipv6Addr::from(bytes).to_string()
        }
        _ => return Ok(None),
    };
    Ok(Some((host, client.read_u16().await?)))
}

fn reply(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// The reason why there is no connection.
enum ConnectFailure {
    /// The gate refuses it.
    Refused(String),
    /// The name has no address, or nobody answers there.
    Unreachable,
}

/// Connects to a host if the gate permits it and every address to which its name leads.
async fn connect(
    host: &str,
    port: u16,
    gate: &PageHostGate,
    lookup: &dyn NameLookup,
) -> Result<TcpStream, ConnectFailure> {
    gate.check_connection(host, port)
        .map_err(ConnectFailure::Refused)?;
    let addresses: Vec<IpAddr> = match host.trim_matches(['[', ']']).parse() {
        Ok(literal) => vec![literal],
        Err(_) => {
            let found = lookup.lookup(host.to_owned()).await;
            found.map_err(|_| ConnectFailure::Unreachable)?
        }
    };
    for address in &addresses {
        gate.check_address(host, *address)
            .map_err(ConnectFailure::Refused)?;
    }
    for address in addresses {
        if let Ok(server) = TcpStream::connect(SocketAddr::new(address, port)).await {
            return Ok(server);
        }
    }
    Err(ConnectFailure::Unreachable)
}

#[cfg(test)]
mod tests {
    use agentx_http::LookupFuture;

    use super::*;

    /// Every name leads to this machine.
    struct ToThisMachine;

    impl NameLookup for ToThisMachine {
        fn lookup(&self, _host: String) -> LookupFuture {
            Box::pin(std::future::ready(Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])))
        }
    }

    /// Asks a proxy for a connection. Returns the code of its reply, and the connection.
    async fn ask(gate: &Arc<PageHostGate>, host: &str, port: u16) -> (u8, TcpStream, GuardedProxy) {
        let proxy = GuardedProxy::start(gate.clone(), Arc::new(ToThisMachine))
            .await
            .unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port()))
            .await
            .unwrap();
        stream.write_all(&[5, 1, 0]).await.unwrap();
        let mut method = [0; 2];
        stream.read_exact(&mut method).await.unwrap();
        assert_eq!(method, [5, 0]);
        let length = u8::try_from(host.len()).unwrap();
        let mut request = vec![5, 1, 0, 3, length];
        request.extend_from_slice(host.as_bytes());
        request.extend_from_slice(&port.to_be_bytes());
        stream.write_all(&request).await.unwrap();
        let mut reply = [0; 10];
        stream.read_exact(&mut reply).await.unwrap();
        (reply[1], stream, proxy)
    }

    #[tokio::test]
    async fn bytes_go_both_ways_to_a_host_that_is_named() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = server.local_addr().unwrap().port();
        let gate = Arc::new(PageHostGate::new(&["wiki.intra".to_owned()]));
        let (code, mut stream, _proxy) = ask(&gate, "wiki.intra", port).await;
        assert_eq!(code, 0);
        let (mut accepted, _) = server.accept().await.unwrap();
        stream.write_all(b"ping").await.unwrap();
        let mut ping = [0; 4];
        accepted.read_exact(&mut ping).await.unwrap();
        accepted.write_all(b"pong").await.unwrap();
        let mut pong = [0; 4];
        stream.read_exact(&mut pong).await.unwrap();
        assert_eq!((&ping, &pong), (b"ping", b"pong"));
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_and_noted() {
        let gate = Arc::new(PageHostGate::new(&[]));
        for host in ["rebound.example", "127.0.0.1", "localhost", "[::1]"] {
            let (code, ..) = ask(&gate, host, 80).await;
            assert_eq!(code, REFUSED, "{host}");
            let refusals = gate.take_refusals();
            assert!(
                refusals.len() == 1 && refusals[0].contains("not on the public internet"),
                "{refusals:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_nothing_is_not_waited_for_without_end() {
        let (mut client, mut server) = tokio::io::duplex(64);
        // The greeting alone; the request never comes.
        client.write_all(&[5, 1, 0]).await.unwrap();
        let asked = timeout(10 * ASKING, requested_host(&mut server)).await;
        assert_eq!(asked, Ok(None));
    }

    #[tokio::test]
    async fn another_protocol_is_hung_up_on() {
        let gate = Arc::new(PageHostGate::new(&[]));
        let proxy = GuardedProxy::start(gate, Arc::new(ToThisMachine)).await.unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port()))
            .await
            .unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut rest = Vec::new();
        // The connection may be reset, because nobody read what was sent.
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
    }
}
