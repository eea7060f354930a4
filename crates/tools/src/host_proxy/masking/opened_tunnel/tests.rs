//! Commands that speak to servers with certificates of their own through the proxy, with credentials that
//! they do not know.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex as StdMutex;

use agentx_sandbox::HostPattern;
use agentx_types::SessionId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::*;
use crate::host_proxy::HostAnswers;
use crate::host_proxy::connection::{ProxyShared, serve_connection};
use crate::host_proxy::masked_credentials::MaskedCredentials;
use crate::host_proxy::masking::MaskedCredential;
use crate::host_proxy::masking::tls_masker::TlsMasker;

const HOST: &str = "127.0.0.1";
const VALUE: &str = "made-up-value-0123456789";
const VARIABLE: &str = "MADE_UP_TOKEN";

/// A server that repeats the authorization of each request in a header of its answer.
struct TestServer {
    port: u16,
    /// The requests, with their bodies.
    seen: Arc<StdMutex<Vec<String>>>,
}

impl TestServer {
    /// Starts a server that ends each connection after `requests` requests.
    async fn start(authority: &CertificateAuthority, requests: usize) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(authority.in_place_of(HOST, true).unwrap());
        let seen = Arc::new(StdMutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(client).await else {
                    continue;
                };
                for number in 1..=requests {
                    let Some(request) = read_message(&mut stream).await else {
                        break;
                    };
                    let echo = line_of(&request, "authorization").unwrap_or_default();
                    let end = if number == requests {
                        "Connection: close\r\n"
                    } else {
                        ""
                    };
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\nX-Echo: {echo}\r\n{end}Transfer-Encoding: chunked\r\n\r\n5\r\nHELLO\r\n0\r\n\r\n"
                    );
                    all.lock().unwrap().push(request);
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
                let _ = stream.shutdown().await;
            }
        });
        Self { port, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// The value of a header, whose name is given in lower case.
fn line_of(message: &str, name: &str) -> Option<String> {
    let mut lines = message.lines().take_while(|line| !line.is_empty());
    lines.find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then(|| value.to_owned())
    })
}

/// Reads a head and the body that it announces; `None` at the end of the connection.
async fn read_message<R: AsyncRead + Unpin>(stream: &mut R) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = format!("{head}\r\n\r\n");
            let length = line_of(&head, "content-length").and_then(|length| length.parse().ok());
            let is_whole = match (length, line_of(&head, "transfer-encoding")) {
                (Some(length), _) => body.len() >= length,
                (None, Some(_)) => body.ends_with("0\r\n\r\n"),
                (None, None) => true,
            };
            if is_whole {
                return Some(text);
            }
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

/// A command's proxy. `credential` is a host that may have the value.
struct Desk {
    proxy: SocketAddr,
    contacts: Arc<HostContacts>,
    credentials: MaskedCredentials,
    authority: Arc<CertificateAuthority>,
    /// The name of the value for commands.
    placeholder: String,
}

impl Desk {
    async fn new(hosts: &[u16], credential: u16, roots: &[&CertificateAuthority]) -> Self {
        let pattern = |port: &u16| HostPattern::parse(&format!("{HOST}:{port}")).unwrap();
        let masked = MaskedCredential::new(VARIABLE, VALUE, vec![pattern(&credential)]).unwrap();
        let roots = roots.iter().map(|root| root.certificate().clone()).collect();
        let masker = TlsMasker::new(vec![masked], roots);
        let authority = masker.authority().unwrap();
        let credentials = MaskedCredentials {
            masker: Some(Arc::new(masker)),
        };
        let place = tempfile::tempdir().unwrap();
        let variables = credentials.variables(place.path()).unwrap();
        let placeholder = variables[0].1.to_str().unwrap().to_owned();
        let patterns = hosts.iter().map(pattern).collect();
        let session = SessionId::new("ses_1");
        let contacts = Arc::new(HostContacts::default());
        let shared = Arc::new(ProxyShared {
            gate: HostGate::new(patterns, None, session, HostAnswers::default()),
            contacts: Arc::clone(&contacts),
            credentials: credentials.clone(),
            login: None,
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let proxy = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve_connection(client, Arc::clone(&shared)));
            }
        });
        Self {
            proxy,
            contacts,
            credentials,
            authority,
            placeholder,
        }
    }

    async fn tunnel(&self, port: u16) -> TcpStream {
        let mut stream = TcpStream::connect(self.proxy).await.unwrap();
        let request = format!("CONNECT {HOST}:{port} HTTP/1.1\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = read_message(&mut stream).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        stream
    }

    /// Opens TLS through the proxy, for a client that trusts the authority of the proxy alone.
    async fn connect(&self, port: u16, protocols: &[&str]) -> TlsStream<TcpStream> {
        let connected = self.connect_trusting(port, protocols, &self.authority).await;
        connected.unwrap()
    }

    async fn connect_trusting(
        &self,
        port: u16,
        protocols: &[&str],
        authority: &CertificateAuthority,
    ) -> io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.certificate().clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = ServerName::try_from(HOST).unwrap();
        let stream = self.tunnel(port).await;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    fn credentials_of(&self, port: u16) -> serde_json::Value {
        let details = self.contacts.details();
        let hosts = details.as_array().unwrap().iter();
        let mut of_port = hosts.filter(|host| host["host"] == format!("{HOST}:{port}"));
        of_port.next().unwrap()["credentials"].clone()
    }
}

async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> Option<String> {
    stream.write_all(request.as_bytes()).await.ok()?;
    read_message(stream).await
}

fn get(port: u16, headers: &str) -> String {
    format!("GET /x HTTP/1.1\r\nHost: {HOST}:{port}\r\n{headers}\r\n")
}

#[tokio::test]
async fn only_the_named_host_gets_the_value_and_the_command_never_does() {
    let of_servers = CertificateAuthority::new(Vec::new()).unwrap();
    let named = TestServer::start(&of_servers, 9).await;
    let other = TestServer::start(&of_servers, 9).await;
    let desk = Desk::new(&[named.port, other.port], named.port, &[&of_servers]).await;
    let secret = &desk.placeholder;
    assert!(secret.starts_with("agentx-masked-") && !secret.contains(VALUE));

    let mut stream = desk.connect(named.port, &["http/1.1"]).await;
    let headers = format!("Authorization: Bearer {secret}\r\nX-Kept: yes\r\n");
    let first = ask(&mut stream, &get(named.port, &headers)).await.unwrap();
    let post = format!(
        "POST /{secret} HTTP/1.1\r\nhost: {HOST}:{}\r\nPrivate-Token: {secret}\r\nTransfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{secret}\r\n0\r\n\r\n",
        named.port,
        secret.len(),
    );
    let second = ask(&mut stream, &post).await.unwrap();
    for answer in [&first, &second] {
        assert!(
            answer.contains("5\r\nHELLO\r\n0\r\n\r\n") && !answer.contains(VALUE),
            "{answer}"
        );
    }
    assert_eq!(line_of(&first, "x-echo"), Some(format!("Bearer {secret}")));
    let seen = named.seen();
    assert!(
        seen[0].contains(&format!("Authorization: Bearer {VALUE}\r\n")),
        "{}",
        seen[0]
    );
    assert!(
        seen[0].contains("X-Kept: yes\r\n"),
        "names keep their letters: {}",
        seen[0]
    );
    assert_eq!(line_of(&seen[1], "private-token").as_deref(), Some(VALUE));
    assert_eq!(
        seen[1].matches(secret.as_str()).count(),
        2,
        "the path and the body: {}",
        seen[1]
    );

    // The TLS of another host is not read, so its own certificate is what the command sees.
    let to_other = desk
        .connect_trusting(other.port, &["http/1.1"], &of_servers)
        .await;
    ask(&mut to_other.unwrap(), &get(other.port, &headers))
        .await
        .unwrap();
    assert_eq!(
        line_of(&other.seen()[0], "authorization"),
        Some(format!("Bearer {secret}"))
    );
    assert_eq!(desk.credentials_of(named.port), serde_json::json!([VARIABLE]));
    assert_eq!(desk.credentials_of(other.port), serde_json::Value::Null);
    let facts = format!("{} {:?}", desk.contacts.details(), desk.credentials);
    assert!(!facts.contains(VALUE), "{facts}");
}

#[tokio::test]
async fn a_basic_authorization_is_put_together_anew() {
    let of_servers = CertificateAuthority::new(Vec::new()).unwrap();
    let server = TestServer::start(&of_servers, 9).await;
    let desk = Desk::new(&[server.port], server.port, &[&of_servers]).await;
    let mut stream = desk.connect(server.port, &[]).await;
    for (words, expected) in [
        (format!("me:{}", desk.placeholder), format!("me:{VALUE}")),
        (format!("{}:", desk.placeholder), format!("{VALUE}:")),
        ("me:another".to_owned(), "me:another".to_owned()),
    ] {
        let header = format!("Authorization: basic {}\r\n", STANDARD.encode(&words));
        let answer = ask(&mut stream, &get(server.port, &header)).await.unwrap();
        let seen = line_of(server.seen().last().unwrap(), "authorization");
        assert_eq!(seen, Some(format!("basic {}", STANDARD.encode(expected))));
        let echo = line_of(&answer, "x-echo");
        assert_eq!(echo, Some(format!("basic {}", STANDARD.encode(&words))));
    }
}

#[tokio::test]
async fn a_client_of_http_2_alone_is_told_no_protocol_and_may_speak_http_1() {
    let of_servers = CertificateAuthority::new(Vec::new()).unwrap();
    let server = TestServer::start(&of_servers, 9).await;
    let desk = Desk::new(&[server.port], server.port, &[&of_servers]).await;
    for (offered, chosen) in [
        (&["h2", "http/1.1"][..], Some(&b"http/1.1"[..])),
        (&["h2"][..], None),
        (&[][..], None),
    ] {
        let mut stream = desk.connect(server.port, offered).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen, "{offered:?}");
        let answer = ask(&mut stream, &get(server.port, "")).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}

#[tokio::test]
async fn a_request_that_could_lead_elsewhere_does_not_reach_the_server() {
    let of_servers = CertificateAuthority::new(Vec::new()).unwrap();
    let server = TestServer::start(&of_servers, 9).await;
    let desk = Desk::new(&[server.port], server.port, &[&of_servers]).await;
    let (port, token) = (
        server.port,
        format!("Authorization: Bearer {}\r\n", desk.placeholder),
    );
    let long = format!("X-Long: {}\r\n", "x".repeat(100_000));
    for (request, expected) in [
        (
            format!("GET / HTTP/1.1\r\nHost: evil.example\r\n{token}\r\n"),
            "421 ",
        ),
        (format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{token}\r\n"), "421 "),
        (format!("GET / HTTP/1.1\r\n{token}\r\n"), "421 "),
        (get(port, &format!("Host: evil.example\r\n{token}")), "421 "),
        (
            format!("GET https://evil.example/ HTTP/1.1\r\nHost: {HOST}:{port}\r\n{token}\r\n"),
            "421 ",
        ),
        (
            get(port, &format!("Transfer-Encoding: gzip, chunked\r\n{token}")),
            "400 ",
        ),
        (get(port, &format!("{long}{token}")), "431 "),
        (
            format!("TRACE / HTTP/1.1\r\nHost: {HOST}:{port}\r\n{token}\r\n"),
            "405 ",
        ),
    ] {
        let mut stream = desk.connect(port, &[]).await;
        let answer = ask(&mut stream, &request).await.unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {expected}")),
            "{request}: {answer}"
        );
    }
    assert_eq!(server.seen(), [""; 0]);
    // Two lengths of a body are one for the server.
    let mut stream = desk.connect(port, &[]).await;
    let both = get(port, "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n");
    ask(&mut stream, &format!("{both}0\r\n\r\n")).await.unwrap();
    let seen = server.seen();
    assert_eq!(
        (seen.len(), line_of(&seen[0], "content-length")),
        (1, None),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_server_that_does_not_prove_its_name_gets_nothing() {
    let of_servers = CertificateAuthority::new(Vec::new()).unwrap();
    let server = TestServer::start(&of_servers, 9).await;
    let desk = Desk::new(&[server.port], server.port, &[]).await;
    let mut stream = desk.connect(server.port, &[]).await;
    let header = format!("Authorization: Bearer {}\r\n", desk.placeholder);
    let answer = ask(&mut stream, &get(server.port, &header)).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("certificate"),
        "{answer}"
    );
    assert!(!answer.contains(VALUE) && server.seen().is_empty());
    assert_eq!(desk.credentials_of(server.port), serde_json::Value::Null);
}

#[tokio::test]
async fn a_connection_that_the_server_closes_is_made_anew() {
    let of_servers = CertificateAuthority::new(Vec::new()).unwrap();
    let server = TestServer::start(&of_servers, 1).await;
    let desk = Desk::new(&[server.port], server.port, &[&of_servers]).await;
    let mut stream = desk.connect(server.port, &[]).await;
    let header = format!("Authorization: Bearer {}\r\n", desk.placeholder);
    for _ in 0..3 {
        let answer = ask(&mut stream, &get(server.port, &header)).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && !answer.contains(VALUE),
            "{answer}"
        );
    }
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_server_that_speaks_first_is_not_waited_for() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let desk = Desk::new(&[port], port, &[]).await;
    let served = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        client.write_all(b"220 hello\r\n\r\n").await.unwrap();
        let mut read = vec![0; 64];
        let count = client.read(&mut read).await.unwrap();
        String::from_utf8_lossy(&read[..count]).into_owned()
    });
    let mut stream = desk.tunnel(port).await;
    // The client says nothing before the greeting of the server.
    let greeting = timeout(HEAD_TIME / 2, read_message(&mut stream)).await.unwrap();
    assert_eq!(greeting.as_deref(), Some("220 hello\r\n\r\n"));
    stream.write_all(b"QUIT").await.unwrap();
    assert_eq!(served.await.unwrap(), "QUIT");
}

#[tokio::test]
async fn what_is_not_tls_passes_unread() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let desk = Desk::new(&[port], port, &[]).await;
    let served = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut read = vec![0; 64];
        let count = client.read(&mut read).await.unwrap();
        client.write_all(b"220 hello\r\n\r\n").await.unwrap();
        String::from_utf8_lossy(&read[..count]).into_owned()
    });
    let mut stream = desk.tunnel(port).await;
    let line = format!("TOKEN {}", &desk.placeholder);
    stream.write_all(line.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(
        (answer.as_str(), served.await.unwrap()),
        ("220 hello\r\n\r\n", line)
    );
}
