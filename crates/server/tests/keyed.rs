//! TLS with the server's own key: clients see that the server has it, and what it signs and gives out counts
//! nowhere else.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use std::sync::Arc;
use std::time::Duration;

use agentx_identity::{Binding, sign_bound_challenge, sign_challenge};
use agentx_server::channel::ConnectionChannel;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, SignatureScheme, version::TLS13};

use crate::support::*;

fn localhost() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

/// A client that takes any key for the right one.
fn connector() -> TlsConnector {
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody))
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

fn address(world: &World) -> String {
    world.url.trim_start_matches("http://").to_owned()
}

#[tokio::test]
async fn a_signature_for_one_connection_counts_on_no_other() {
    let world = World::new().await;
    let key = *world.state.auth().server_key();
    for binding in [Binding::Exporter([7; 32]), Binding::ServerKey(key)] {
        let mut client = Client::connect(&world.url).await;
        let hello = client.notice("hello").await;
        let challenge = serde_json::from_value(hello["payload"].clone()).unwrap();
        let signature = sign_bound_challenge(&world.operator, &challenge, &binding);
        let who = json!({
            "public_key": world.operator.public_key().to_string(),
            "signature": signature.to_string(),
            "client": "relay",
        });
        assert_eq!(client.refused("authenticate", who).await, "bad_signature");
    }
    world.end().await;
}

#[tokio::test]
async fn a_token_counts_at_its_server_and_on_its_kind_of_connection_alone() {
    let (world, other) = (World::new().await, World::new().await);
    let auth = world.state.auth();
    let now = world.state.now_ms();
    let channels = [ConnectionChannel::Plain, ConnectionChannel::Keyed([1; 32])];
    for given in channels {
        let challenge = auth.open_challenge("127.0.0.1", now).unwrap();
        let signature = match given {
            ConnectionChannel::Keyed(_) => {
                let binding = Binding::ServerKey(*auth.server_key());
                sign_bound_challenge(&world.operator, &challenge, &binding)
            }
            _ => sign_challenge(&world.operator, &challenge),
        };
        let public_key = world.operator.public_key().to_string();
        let asked = (challenge.nonce, challenge.expires_at_ms);
        let token = auth.token(
            &public_key,
            asked,
            &signature.to_string(),
            (&given, "127.0.0.1", now),
        );
        let token = token.unwrap_or_else(|problem| panic!("{problem:?}")).token;
        for used in channels {
            assert_eq!(auth.holder(&token, (&used, now)).is_ok(), used == given);
            assert!(other.state.auth().holder(&token, (&used, now)).is_err());
        }
        // The same over the wire, sent by a script without TLS.
        let request =
            format!("GET /v1/me HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n");
        let plain = TcpStream::connect(address(&world)).await.unwrap();
        let expected = if given == ConnectionChannel::Plain {
            "200"
        } else {
            "401"
        };
        assert_eq!(status(plain, &request).await, expected);
    }
    world.end().await;
    other.end().await;
}

/// The status of the answer to one request.
async fn status(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    within(stream.write_all(request.as_bytes())).await.unwrap();
    let mut answer = [0; 12];
    within(stream.read_exact(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer[9..]).into_owned()
}

#[tokio::test]
async fn the_port_speaks_tls_and_plain_http_and_checks_the_name_in_both() {
    let world = World::new().await;
    for (host, expected) in [("localhost", "200"), ("evil.example", "421")] {
        let request = format!("GET /v1/health HTTP/1.1\r\nhost: {host}\r\n\r\n");
        let plain = TcpStream::connect(address(&world)).await.unwrap();
        assert_eq!(status(plain, &request).await, expected, "{host}");
        let stream = TcpStream::connect(address(&world)).await.unwrap();
        let keyed = within(connector().connect(localhost(), stream)).await.unwrap();
        let shown = keyed.get_ref().1.peer_certificates().unwrap();
        assert_eq!(shown[0].as_ref(), world.state.auth().server_key().to_spki());
        assert_eq!(status(keyed, &request).await, expected, "{host} with TLS");
    }
    world.end().await;
}

#[tokio::test]
async fn a_slow_handshake_is_cut_off() {
    let mut options = options();
    options.limits.head = Duration::from_millis(300);
    let world = World::with(options).await;
    // It begins, and says nothing more.
    let mut slow = TcpStream::connect(address(&world)).await.unwrap();
    slow.write_all(&[0x16, 0x03, 0x01, 0x02]).await.unwrap();
    assert_eq!(within(slow.read(&mut [0; 64])).await.unwrap_or(0), 0);
    // With TLS, and then nothing: the time is that of the whole.
    let stream = TcpStream::connect(address(&world)).await.unwrap();
    let mut silent = within(connector().connect(localhost(), stream)).await.unwrap();
    assert_eq!(within(silent.read(&mut [0; 64])).await.unwrap_or(0), 0);
    world.end().await;
}

/// A message of 60 KiB that never ends, in records of 4 KiB: of one so long the server would keep all. No
/// time limit ends the connection here, only what it sent.
#[tokio::test]
async fn a_long_handshake_is_cut_off() {
    let mut options = options();
    options.limits.head = Duration::from_secs(3600);
    let world = World::with(options).await;
    let mut long = TcpStream::connect(address(&world)).await.unwrap();
    let record = |begin: &[u8]| {
        let mut record = vec![0x16, 0x03, 0x01, 0x10, 0x00];
        record.extend_from_slice(begin);
        record.resize(5 + 4096, 0);
        record
    };
    let mut taken = 0;
    for number in 0..5 {
        let begin: &[u8] = if number == 0 {
            &[0x01, 0x00, 0xf0, 0x00]
        } else {
            &[]
        };
        // The server may have had enough already.
        taken += usize::from(long.write_all(&record(begin)).await.is_ok());
    }
    assert!(taken >= 1, "nothing was sent");
    let mut answer = Vec::new();
    // Whether it is closed or reset depends on what was still under way; `within` fails if it stays open.
    let _closed_or_reset = within(long.read_to_end(&mut answer)).await;
    assert!(answer.len() < 16, "{answer:?}");
    world.end().await;
}
