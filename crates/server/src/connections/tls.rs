//! TLS: with a certificate chain and its key from files, both PEM, or with the server's own key.

use std::path::Path;
use std::sync::Arc;

#[cfg(unix)]
use agentx_files::other_owner;
use agentx_identity::SecretKey;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::AlwaysResolvesServerRawPublicKeys;
use tokio_rustls::rustls::sign::{CertifiedKey, Signer, SigningKey};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ServerConfig, SignatureAlgorithm, SignatureScheme};

use crate::server_error::ServerError;

/// The largest TLS record, in bytes. A client cannot read any part of a record before all of it has arrived,
/// so small records let it make progress on slow connections and on those that break off early.
const RECORD: usize = 4 << 10;

/// Returns a TLS acceptor with this certificate. `allowed` is the id of a user to whom the key may belong,
/// besides root and the user of this process.
pub(crate) fn acceptor(
    certificate: &Path,
    key: &Path,
    allowed: Option<u32>,
) -> Result<TlsAcceptor, ServerError> {
    let says = |path: &Path, what: String| ServerError::Tls {
        path: path.to_owned(),
        what,
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| says(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(says(certificate, "there is no certificate in it".into()));
    }
    check_privacy(key, allowed)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| says(key, error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| says(certificate, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| says(key, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.max_fragment_size = Some(RECORD);
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Returns a TLS acceptor with the server's own key: TLS 1.3 with a raw public key
/// (<https://www.rfc-editor.org/rfc/rfc7250>), so that no certificate has to be made or renewed. Each
/// connection proves the key again: none is resumed.
pub(crate) fn keyed_acceptor(key: Arc<SecretKey>) -> Result<TlsAcceptor, ServerError> {
    let public = CertificateDer::from(key.public_key().to_spki());
    let certified = CertifiedKey::new(vec![public], Arc::new(OwnKey(key)));
    let resolver = AlwaysResolvesServerRawPublicKeys::new(Arc::new(certified));
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| ServerError::Options(format!("the server's own key: {error}")))?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.max_fragment_size = Some(RECORD);
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The server's own key, as rustls signs with it. The texts that TLS signs begin with 64 spaces, so they
/// never equal a text that AgentX signs.
#[derive(Clone, Debug)]
struct OwnKey(Arc<SecretKey>);

impl SigningKey for OwnKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        offered
            .contains(&SignatureScheme::ED25519)
            .then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for OwnKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        Ok(self.0.sign(message).as_bytes().to_vec())
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

/// Checks that only its owner can read the key: everybody who can read it can impersonate this server. The
/// rule is PostgreSQL's: the file belongs to this user and is for them alone, or it belongs to root and a
/// group may read it (<https://www.postgresql.org/docs/current/ssl-tcp.html>, "Secure TCP/IP Connections with
/// SSL").
#[cfg(unix)]
fn check_privacy(key: &Path, allowed: Option<u32>) -> Result<(), ServerError> {
    use std::os::unix::fs::MetadataExt as _;
    let path = key.to_owned();
    let metadata = match std::fs::metadata(key) {
        Ok(metadata) => metadata,
        Err(error) => {
            let what = error.to_string();
            return Err(ServerError::Tls { path, what });
        }
    };
    if let Some(owner) = other_owner(&metadata).filter(|owner| Some(*owner) != allowed) {
        return Err(ServerError::ForeignTlsKey { path, owner });
    }
    let mode = metadata.mode() & 0o777;
    let most = if metadata.uid() == 0 { 0o740 } else { 0o700 };
    if mode & !most == 0 {
        Ok(())
    } else {
        Err(ServerError::ReadableTlsKey { path, mode })
    }
}

#[cfg(not(unix))]
fn check_privacy(_: &Path, _: Option<u32>) -> Result<(), ServerError> {
    Ok(())
}
