//! Programs between a client and its server, or instead of the server: a relay that passes every byte on, one
//! that ends the TLS of the client with its own key, a server without TLS, and a server that was set up
//! again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentx::config::{CommandLineSetting, ConfigPaths, LoadRequest, Settings, load};
use agentx::identity::{Keyring, PublicKey, SecretKey};
use agentx::node::NodeRuntime;
use agentx::remote::{ConnectOptions, RemoteRuntime};
use agentx::runtime::{OpenRequest, Runtime as _, RuntimeError, View};
use agentx_server::{ServerOptions, bind};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::{default_provider, sign::any_eddsa_type};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::AlwaysResolvesServerRawPublicKeys;
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::TLS13;

/// Nothing here takes longer.
const BOUND: Duration = Duration::from_secs(60);

async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, what).await.unwrap()
}

/// A server with data of its own.
struct World {
    data: Arc<tempfile::TempDir>,
    key: PublicKey,
    address: String,
    operator: Arc<SecretKey>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

fn settings(data: &Path) -> Settings {
    let place = data.to_string_lossy().into_owned();
    let lookup = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| place.clone());
    let request = LoadRequest {
        places: ConfigPaths::find(data, &lookup).unwrap(),
        lookup: &lookup,
        flags: Vec::<CommandLineSetting>::new(),
    };
    load(request).unwrap().settings
}

impl World {
    /// A server on this data that listens at `listen`, and has the origin `origin` if that is something else.
    async fn new(data: Arc<tempfile::TempDir>, listen: SocketAddr, origin: Option<String>) -> Self {
        let settings = settings(data.path());
        let keyring = Keyring::open(data.path()).unwrap();
        let operator = Arc::new(keyring.identity_or_new().unwrap());
        let runtime = Arc::new(NodeRuntime::from_settings(&settings, "relay-test").unwrap());
        let options = ServerOptions {
            listen,
            origin,
            ..ServerOptions::default()
        };
        let server = bind(runtime, &settings, keyring, options).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        Self {
            data,
            key: *server.state().auth().server_key(),
            address: server.url().trim_start_matches("http://").to_owned(),
            operator,
            stop,
            running: tokio::spawn(async move {
                server.run(async { drop(stopped.await) }).await.unwrap();
            }),
        }
    }

    /// A new server on a free port.
    async fn anywhere(origin: Option<String>) -> Self {
        Self::new(new_data(), ([127, 0, 0, 1], 0).into(), origin).await
    }

    async fn end(self) -> Arc<tempfile::TempDir> {
        drop(self.stop);
        within(self.running).await.unwrap();
        self.data
    }
}

fn new_data() -> Arc<tempfile::TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}

/// The bytes that passed through a relay, in both directions.
type Seen = Arc<Mutex<Vec<u8>>>;

/// A relay's way to handle TLS.
#[derive(Clone)]
enum Relay {
    /// It passes every byte on.
    Blind,
    /// It ends the TLS of the client with a key of its own, and speaks to the server without TLS.
    Ends(TlsAcceptor),
    /// It answers the client without TLS.
    Plain,
}

/// A port that nobody listens on.
async fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

/// Listens at `at` and passes everything on to `to`.
async fn relay(at: SocketAddr, to: String, how: Relay) -> Seen {
    let listener = TcpListener::bind(at).await.unwrap();
    let seen = Seen::default();
    let kept = seen.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass_on(client, to.clone(), how.clone(), kept.clone()));
        }
    });
    seen
}

async fn pass_on(client: TcpStream, to: String, how: Relay, seen: Seen) -> std::io::Result<()> {
    let server = TcpStream::connect(to).await?;
    match how {
        Relay::Blind | Relay::Plain => both_ways(client, server, seen).await,
        Relay::Ends(acceptor) => both_ways(acceptor.accept(client).await?, server, seen).await,
    }
}

async fn both_ways(
    client: impl AsyncRead + AsyncWrite,
    server: impl AsyncRead + AsyncWrite,
    seen: Seen,
) -> std::io::Result<()> {
    let (from_client, to_client) = tokio::io::split(client);
    let (from_server, to_server) = tokio::io::split(server);
    tokio::try_join!(
        one_way(from_client, to_server, &seen),
        one_way(from_server, to_client, &seen)
    )?;
    Ok(())
}

async fn one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    seen: &Seen,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        seen.lock().unwrap().extend_from_slice(&buffer[..read]);
        to.write_all(&buffer[..read]).await?;
    }
}

fn has(seen: &Seen, words: &str) -> bool {
    let seen = seen.lock().unwrap();
    seen.windows(words.len()).any(|window| window == words.as_bytes())
}

/// An acceptor of TLS connections with the secret of this seed and its public key.
fn acceptor(seed: u8) -> TlsAcceptor {
    let public = SecretKey::from_seed(&[seed; 32]).unwrap().public_key().to_spki();
    let mut private = vec![
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
    ];
    private.extend([seed; 32]);
    let signing = any_eddsa_type(&PrivatePkcs8KeyDer::from(private)).unwrap();
    let certified = CertifiedKey::new(vec![CertificateDer::from(public)], signing);
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(
            certified,
        ))));
    TlsAcceptor::from(Arc::new(config))
}

/// The operator at another machine, which remembers servers in `known`.
async fn connect(
    world: &World,
    at: impl std::fmt::Display,
    known: &Keyring,
) -> Result<RemoteRuntime, RuntimeError> {
    let mut options = ConnectOptions::new(format!("http://{at}"), world.operator.clone(), "laptop");
    options.known_servers = Some(known.clone());
    within(RemoteRuntime::connect(options)).await
}

fn memory() -> (tempfile::TempDir, Keyring) {
    let directory = tempfile::tempdir().unwrap();
    let keyring = Keyring::open(directory.path()).unwrap();
    (directory, keyring)
}

#[tokio::test]
async fn a_relay_that_passes_everything_on_reads_nothing() {
    let (_directory, known) = memory();
    let at = free_port().await;
    let world = World::anywhere(Some(format!("http://{at}"))).await;
    let seen = relay(at, world.address.clone(), Relay::Blind).await;
    let remote = connect(&world, at, &known).await.unwrap();
    let request = OpenRequest::New(Box::new(remote.default_agent().await.unwrap()));
    let session = within(remote.open(request)).await.unwrap().id().clone();
    let mut events = within(remote.watch(&session, 0, View::Environment, true))
        .await
        .unwrap();
    within(events.next()).await.unwrap();
    assert!(!seen.lock().unwrap().is_empty());
    for words in ["HTTP/1.1", "agentx", "signature", "Bearer", session.as_str()] {
        assert!(!has(&seen, words), "{words} can be read on the way");
    }
    let key = known.server_at(&format!("localhost:{}", at.port())).unwrap();
    assert_eq!(key, Some(world.key));
    remote.close().await;
    world.end().await;
}

#[tokio::test]
async fn a_relay_with_a_key_of_its_own_gets_no_signature_and_no_session() {
    for how in [Relay::Ends(acceptor(9)), Relay::Plain] {
        let at = free_port().await;
        let world = World::anywhere(Some(format!("http://{at}"))).await;
        let (_directory, known) = memory();
        let stranger = matches!(&how, Relay::Plain);
        let to = if stranger {
            // A server that knows nothing of TLS.
            plain_server().await
        } else {
            world.address.clone()
        };
        let seen = relay(at, to, how).await;
        let place = format!("localhost:{}", at.port());
        // Nothing is known of the server yet, nor where it is.
        for pinned in [false, true] {
            if pinned {
                std::fs::write(known.servers_file(), format!("{place} {}\n", world.key)).unwrap();
            }
            let error = connect(&world, at, &known).await.err().unwrap();
            let why = error.to_string();
            assert!(matches!(error, RuntimeError::Denied(_)), "{why}");
            let expected = match (stranger, pinned) {
                (true, _) => "uses plain HTTP and does not prove that",
                (false, false) => "forwards the challenge of another server",
                (false, true) => "HAS CHANGED",
            };
            assert!(why.contains(expected), "{why}");
            if !pinned {
                assert_eq!(
                    known.server_at(&place).unwrap(),
                    None,
                    "nobody is remembered for that"
                );
            }
            if pinned && !stranger {
                let own = SecretKey::from_seed(&[9; 32]).unwrap();
                for said in [
                    own.public_key().to_string(),
                    world.key.to_string(),
                    format!("agentx identity forget {place}"),
                ] {
                    assert!(why.contains(&said), "{said} is not in: {why}");
                }
            }
        }
        assert!(!has(&seen, "signature"));
        assert!(!has(&seen, "Bearer"));
        world.end().await;
    }
}

/// A server that answers everything in plain HTTP.
async fn plain_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                .await;
        }
    });
    address
}

#[tokio::test]
async fn the_first_key_is_remembered_and_another_one_refused() {
    let (_directory, known) = memory();
    let first = World::anywhere(None).await;
    let (listen, key) = (first.address.clone(), first.key);
    connect(&first, &listen, &known).await.unwrap().close().await;
    let place = listen.replace("127.0.0.1", "localhost");
    assert_eq!(known.server_at(&place).unwrap(), Some(key));
    // The same server again, and one that was set up anew at the same address.
    let data = first.end().await;
    let at: SocketAddr = listen.parse().unwrap();
    let again = World::new(data, at, None).await;
    connect(&again, &listen, &known).await.unwrap().close().await;
    again.end().await;
    let other = World::new(new_data(), at, None).await;
    let why = connect(&other, &listen, &known).await.err().unwrap().to_string();
    assert!(
        why.contains("THE KEY OF THE SERVER AT") && why.contains("HAS CHANGED"),
        "{why}"
    );
    assert_eq!(known.forget_server(&place).unwrap(), Some(key));
    connect(&other, &listen, &known).await.unwrap().close().await;
    other.end().await;
}
