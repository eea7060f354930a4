//! TLS from files: the same server behind a certificate, and the error if it cannot be used.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::*;
use agentx_identity::Keyring;
use agentx_node_runtime::NodeRuntime;
use agentx_server::{ServerError, bind};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::{Connector, connect_async_tls_with_config};

/// A certificate for 127.0.0.1 that nobody else trusts, and its key, for these tests alone.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// A copy of the key with this mode: a checkout has no modes of its own.
fn key(directory: &tempfile::TempDir, mode: u32) -> PathBuf {
    let path = directory.path().join("key.pem");
    std::fs::copy(file("key.pem"), &path).unwrap();
    set_mode(&path, mode);
    path
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn trusting(certificate: &Path) -> Connector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(certificate).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Connector::Rustls(Arc::new(config))
}

#[tokio::test]
async fn a_server_with_a_certificate_speaks_tls_alone() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options();
    options.tls = Some((file("certificate.pem"), key(&directory, 0o600)));
    let world = World::with(options).await;
    assert!(world.url.starts_with("https://127.0.0.1:"), "{}", world.url);
    let plain = socket_url(&world.url).replacen("wss", "ws", 1);
    assert!(within(tokio_tungstenite::connect_async(plain)).await.is_err());
    let connector = trusting(&file("certificate.pem"));
    let url = socket_url(&world.url);
    let connected = within(connect_async_tls_with_config(url, None, false, Some(connector))).await;
    let mut client = Client::of(connected.unwrap().0);
    let hello = client.notice("hello").await;
    assert_eq!(hello["payload"]["origin"], world.url.as_str());
    client.authenticate(&hello, &world.operator, "desk").await;
    let session = world.session(agentx_types::ApprovalMode::Auto).await;
    client.subscribe(&session, 0, "environment").await;
    client.say(&session, "echo hi").await;
    client.events_until("stream_end").await;
    world.end().await;
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_named() {
    let data = tempfile::tempdir().unwrap();
    let settings = settings(data.path());
    let runtime = Arc::new(NodeRuntime::from_settings(&settings, "t").unwrap());
    let keyring = Keyring::open(data.path()).unwrap();
    let nothing = data.path().join("nothing.pem");
    let empty = data.path().join("empty.pem");
    std::fs::write(&empty, "not a certificate").unwrap();
    set_mode(&empty, 0o600);
    let readable = key(&data, 0o604);
    for (certificate, key, named) in [
        (nothing.clone(), file("key.pem"), &nothing),
        (empty.clone(), file("key.pem"), &empty),
        (file("certificate.pem"), nothing.clone(), &nothing),
        (file("certificate.pem"), empty.clone(), &empty),
    ] {
        let mut options = options();
        options.tls = Some((certificate, key));
        let bound = bind(runtime.clone(), &settings, keyring.clone(), options).await;
        let Err(ServerError::Tls { path, what }) = bound else {
            panic!("it cannot be used");
        };
        assert_eq!((&path, what.is_empty()), (named, false));
    }
    let mut options = options();
    options.tls = Some((file("certificate.pem"), readable.clone()));
    let bound = bind(runtime.clone(), &settings, keyring.clone(), options).await;
    let Err(error @ ServerError::ReadableTlsKey { .. }) = bound else {
        panic!("others can read it");
    };
    let command = format!("`chmod 600 {}`", readable.display());
    assert!(error.hint().unwrap().starts_with(&command), "{error}");
    // Root alone can give a file away.
    if std::os::unix::fs::MetadataExt::uid(&data.path().metadata().unwrap()) != 0 {
        return;
    }
    set_mode(&readable, 0o600);
    std::os::unix::fs::chown(&readable, Some(4711), None).unwrap();
    for (allowed, is_taken) in [(None, false), (Some(4711), true), (Some(4712), false)] {
        let settings = agentx_config::Settings {
            data_owner: allowed,
            ..settings.clone()
        };
        let mut options = crate::support::options();
        options.tls = Some((file("certificate.pem"), readable.clone()));
        let bound = bind(runtime.clone(), &settings, keyring.clone(), options).await;
        let refused = match bound {
            Ok(_) => None,
            Err(ServerError::ForeignTlsKey { owner, .. }) => Some(owner),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(refused, (!is_taken).then_some(4711), "{allowed:?}");
    }
}
