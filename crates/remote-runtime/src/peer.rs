//! The server at the other end, and its proof of identity. A server at an `http://` address proves its own
//! key in the TLS handshake, before a byte of HTTP is sent, so a relay between the two can neither read nor
//! sign in. A server at an `https://` address is identified by its certificate, and signs the client's nonce
//! with its key.
//!
//! The key of each host and port is remembered. A different key for it is refused later.
//!
//! | address | identification of the server | binding of a signature |
//! | --- | --- | --- |
//! | `http://` | its own key, by the handshake (RFC 7250) | the connection's keying material, or the key |
//! | `https://` | its certificate, and a proof of the key that it names | the key in the nonce |
//! | `http://` with `allow_plain_http` | not at all | the key in the nonce, if there is one |
//!
//! A refusal of this kind is final for an address and never retried automatically: a person has to check. It
//! is [`RuntimeError::Denied`] over HTTP and finally ends the connection over the WebSocket.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_identity::{
    AuthChallenge, Binding, KeyError, Keyring, KeyringError, PublicKey, ServerKeyStatus, Signature,
    random_bytes, token_text, verify_server,
};
use agentx_runtime::RuntimeError;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, InvalidMessage, OtherError,
    PeerIncompatible, SignatureScheme,
};

use crate::{ConnectOptions, ServerEndpoint, tls};

/// The server at an address.
#[derive(Clone)]
pub(crate) struct Peer {
    /// The address that it was named by.
    endpoint: ServerEndpoint,
    /// The address that is dialled.
    dialled: ServerEndpoint,
    /// The TLS configuration; `None` without TLS.
    tls: Option<Arc<ClientConfig>>,
    /// The key of this address, shared by both ways to it.
    memory: Arc<RememberedKey>,
    /// Follows from the address and `allow_plain_http`, and does not change.
    way: IdentityCheck,
}

/// The way to identify a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IdentityCheck {
    /// By its own key, which it proves in the handshake.
    Key,
    /// By its certificate, as browsers know it.
    Certificate,
    /// Not identified: the person said that the connection can be trusted.
    Plain,
}

/// The challenge of a server, and its proof of identity.
pub(crate) struct ServerChallenge<'a> {
    /// The challenge: a nonce, the server's name, and an expiry time.
    pub(crate) challenge: &'a AuthChallenge,
    /// The signature over the challenge and `nonce`, if the server gave one.
    pub(crate) proof: Option<&'a str>,
    /// The value that was sent to it as [`NONCE_HEADER`](agentx_types::wire::NONCE_HEADER)
    pub(crate) nonce: &'a str,
    /// Keying material of the connection, if the answer belongs to one connection.
    pub(crate) exported: Option<[u8; 32]>,
}

/// The reason why TLS made no connection.
pub(crate) enum DialError {
    /// A final refusal: another server, or one that does not prove its key.
    Refused(String),
    /// The server has no room.
    Full,
}

impl Peer {
    /// The server that `options` name.
    ///
    /// # Errors
    /// Returns an error if TLS cannot be set up.
    pub(crate) fn new(endpoint: ServerEndpoint, options: &ConnectOptions) -> Result<Self, RuntimeError> {
        let memory = Arc::new(RememberedKey {
            endpoint: endpoint.clone(),
            known: options.known_servers.clone(),
            met: Mutex::default(),
        });
        let (way, dialled, tls) = if endpoint.is_tls() {
            let config = tls::client_config(options.more_roots.as_deref())?;
            (IdentityCheck::Certificate, endpoint.clone(), Some(config))
        } else if options.allow_plain_http {
            (IdentityCheck::Plain, endpoint.clone(), None)
        } else {
            (
                IdentityCheck::Key,
                endpoint.over_tls(),
                Some(keyed_config(memory.clone())?),
            )
        };
        Ok(Self {
            endpoint,
            dialled,
            tls,
            memory,
            way,
        })
    }

    /// Returns the address as it was named, for display.
    pub(crate) fn endpoint(&self) -> &ServerEndpoint {
        &self.endpoint
    }

    /// Returns the address for the connection.
    pub(crate) fn dialled(&self) -> &ServerEndpoint {
        &self.dialled
    }

    /// The address to dial.
    pub(crate) fn tls(&self) -> Option<&Arc<ClientConfig>> {
        self.tls.as_ref()
    }

    /// Checks that the server's challenge may be signed, and returns the binding of the signature.
    ///
    /// # Errors
    /// Returns an error if the server's name differs from the dialled one, or if it is not the known server
    /// at this address: somebody may be in between.
    pub(crate) fn check(&self, asked: &ServerChallenge<'_>) -> Result<Binding, String> {
        let (endpoint, challenge) = (&self.endpoint, asked.challenge);
        if !endpoint.is_origin(&challenge.origin) {
            return Err(format!(
                "the server at {endpoint} calls itself {:?}, so nothing was signed. If it is the right \
                 server, start it with --origin {endpoint}",
                challenge.origin.chars().take(200).collect::<String>()
            ));
        }
        let named = challenge.server();
        if self.way == IdentityCheck::Key {
            let proved = *self.memory.met.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(key) = proved.filter(|proved| Some(*proved) == named) else {
                return Err(format!(
                    "the server at {endpoint} forwards the challenge of another server; nothing was signed"
                ));
            };
            self.memory.meet(&key)?;
            return Ok(asked.exported.map_or(Binding::ServerKey(key), Binding::Exporter));
        }
        match (named, asked.proof) {
            (Some(key), Some(proof)) => {
                let proof = proof.parse::<Signature>().ok();
                let proves = |proof| verify_server(&key, challenge, asked.nonce, proof);
                if !proof.as_ref().is_some_and(proves) {
                    return Err(format!(
                        "the server at {endpoint} claims the key {key} but does not prove it; nothing was signed"
                    ));
                }
            }
            (Some(key), None) if self.way == IdentityCheck::Certificate => {
                return Err(format!(
                    "the server at {endpoint} claims the key {key} but does not prove it; nothing was \
                     signed. It may be older than this program: update it"
                ));
            }
            _ => {}
        }
        match named {
            Some(key) => self.memory.meet(&key)?,
            None => self.memory.expect_none()?,
        }
        Ok(Binding::None)
    }

    /// Interprets an error of a connection.
    pub(crate) fn trouble(&self, error: &(dyn Error + 'static)) -> Option<DialError> {
        if self.way != IdentityCheck::Key {
            return None;
        }
        let endpoint = &self.endpoint;
        Some(match tls_error(error)? {
            rustls::Error::Other(other) => DialError::Refused(other.0.to_string()),
            rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => DialError::Refused(format!(
                "{endpoint} uses plain HTTP and does not prove that it is your server; nothing was sent or \
                 signed. It may be older than this program, behind a proxy without TLS, or another program. \
                 Update it, use the https:// address of the proxy, or, if you trust the whole network path: \
                 `agentx config set allow_plain_http {}`",
                endpoint.host_and_port()
            )),
            rustls::Error::AlertReceived(AlertDescription::InternalError) => DialError::Full,
            rustls::Error::PeerIncompatible(PeerIncompatible::IncorrectCertificateTypeExtension)
            | rustls::Error::AlertReceived(
                AlertDescription::UnsupportedCertificate | AlertDescription::HandshakeFailure,
            ) => DialError::Refused(format!("{endpoint} uses TLS: write https:// instead of http://")),
            _ => return None,
        })
    }
}

/// A nonce that a server is to sign.
pub(crate) fn new_nonce() -> Result<String, String> {
    random_bytes::<24>()
        .map(|bytes| token_text(&bytes))
        .map_err(|error| error.to_string())
}

/// The TLS error at the bottom of an error.
fn tls_error<'a>(mut error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    loop {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // The source of an `io::Error` is not the error that it wraps, but the source of that one.
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(|error| error.get_ref());
        error = match inner {
            Some(inner) => inner,
            None => error.source()?,
        };
    }
}

/// TLS 1.3 with a raw public key, for which there is no certificate. Each connection proves the key again:
/// none is resumed.
fn keyed_config(memory: Arc<RememberedKey>) -> Result<Arc<ClientConfig>, RuntimeError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| RuntimeError::Refused(format!("cannot set up TLS: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(memory)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The key of a server, for remembering it.
#[derive(Debug)]
struct RememberedKey {
    endpoint: ServerEndpoint,
    /// The keyring that remembers keys beyond this connection.
    known: Option<Keyring>,
    /// The key that the server has proved in a handshake.
    met: Mutex<Option<PublicKey>>,
}

impl RememberedKey {
    /// Checks that this key may be that of the server, and remembers nothing yet.
    fn expect(&self, key: &PublicKey) -> Result<(), String> {
        let met = *self.met.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = met.filter(|before| before != key) {
            return Err(self.changed(&key.to_string(), &before));
        }
        match &self.known {
            Some(known) => self.unchanged(key, known.look_up_server(&self.endpoint.host_and_port(), key)),
            None => Ok(()),
        }
    }

    /// The server has proved that it has this key.
    fn proved(&self, key: &PublicKey) {
        *self.met.lock().unwrap_or_else(PoisonError::into_inner) = Some(*key);
    }

    /// The server has this key, and asks for a signature as the one that has it: it is remembered for the
    /// next time.
    fn meet(&self, key: &PublicKey) -> Result<(), String> {
        match &self.known {
            Some(known) => self.unchanged(key, known.meet_server(&self.endpoint.host_and_port(), key)),
            None => Ok(()),
        }
    }

    /// Converts the result of the keyring to a refusal, if it is one.
    fn unchanged(&self, key: &PublicKey, met: Result<ServerKeyStatus, KeyringError>) -> Result<(), String> {
        match met.map_err(unreadable)? {
            ServerKeyStatus::New | ServerKeyStatus::Known => Ok(()),
            ServerKeyStatus::Changed { before } => Err(self.changed(&key.to_string(), &before)),
        }
    }

    /// The server names no key: it is one of before servers had keys, unless it had one already.
    fn expect_none(&self) -> Result<(), String> {
        let Some(known) = &self.known else {
            return Ok(());
        };
        let before = known.server_at(&self.endpoint.host_and_port());
        match before.map_err(unreadable)? {
            Some(before) => Err(self.changed("no key at all", &before)),
            None => Ok(()),
        }
    }

    /// The words for a key that is another one. They are in capitals because a person must not read past
    /// them.
    fn changed(&self, now: &str, before: &PublicKey) -> String {
        let (endpoint, place) = (&self.endpoint, self.endpoint.host_and_port());
        format!(
            "THE KEY OF THE SERVER AT {endpoint} HAS CHANGED: it was {before} and is now {now}. Somebody may \
             be intercepting the connection; nothing was signed. If the server was reinstalled (`agentx \
             serve` prints its key), forget the old key with `agentx identity forget {place}`"
        )
    }
}

/// An unreadable keyring confirms no server, so nothing is signed.
fn unreadable(error: KeyringError) -> String {
    format!("cannot read the known servers: {error}")
}

/// AgentX's own refusal, as an error of TLS.
#[derive(Debug)]
struct TlsRefusal(String);

impl fmt::Display for TlsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for TlsRefusal {}

/// Returns AgentX's own refusal in the form in which TLS can carry it out of a handshake.
fn refusal(why: String) -> rustls::Error {
    rustls::Error::Other(OtherError(Arc::new(TlsRefusal(why))))
}

/// The key in a raw public key, which replaces a certificate.
fn key_of(public: &CertificateDer<'_>) -> Result<PublicKey, rustls::Error> {
    PublicKey::from_spki(public).map_err(|error| match error {
        KeyError::SmallOrder => refusal(format!(
            "the key of the server is {error}, or somebody may be intercepting the connection; nothing was sent or signed"
        )),
        _ => rustls::Error::InvalidCertificate(CertificateError::BadEncoding),
    })
}

impl ServerCertVerifier for RememberedKey {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let key = key_of(end_entity)?;
        self.expect(&key).map_err(refusal)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("only TLS 1.3 is offered".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let key = key_of(cert)?;
        let signature = signed.signature().try_into().map(Signature::from_bytes);
        let is_its = |signature| key.verify(message, &signature);
        if signed.scheme != SignatureScheme::ED25519 || !signature.is_ok_and(is_its) {
            return Err(rustls::Error::InvalidCertificate(CertificateError::BadSignature));
        }
        self.proved(&key);
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
