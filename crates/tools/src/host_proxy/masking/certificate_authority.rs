//! A certificate authority that exists only in the memory of this process: it certifies the hosts whose TLS
//! the proxy ends, and the commands of this process trust it.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod,
    KeyUsagePurpose, PublicKeyData, SerialNumber, SignatureAlgorithm, SigningKey,
};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls_platform_verifier::Verifier;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ClientConfig, ServerConfig};

/// The one protocol that the proxy reads.
const HTTP_1: &[u8] = b"http/1.1";
/// The most hosts whose certificates are kept.
const MOST_HOSTS: usize = 64;
/// The bytes of a serial number and of the identifier of a key.
const NUMBER_BYTES: usize = 16;

/// A key of this process, which is nowhere else.
struct ProcessKey {
    pair: EcdsaKeyPair,
    pkcs8: Vec<u8>,
}

impl ProcessKey {
    fn new() -> io::Result<Self> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let broken = |_| io::Error::other("no key can be made");
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(broken)?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random)
            .map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self {
            pair,
            pkcs8: pkcs8.as_ref().to_vec(),
        })
    }
}

impl PublicKeyData for ProcessKey {
    fn der_bytes(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

impl SigningKey for ProcessKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signed = self.pair.sign(&SystemRandom::new(), message);
        Ok(signed
            .map_err(|_| rcgen::Error::RemoteKeyError)?
            .as_ref()
            .to_vec())
    }
}

/// The authority.
pub(super) struct CertificateAuthority {
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, ProcessKey>,
    /// The key of all hosts.
    host_key: ProcessKey,
    /// Certificates that the proxy trusts beside those of this machine.
    more_roots: Vec<CertificateDer<'static>>,
    hosts: Mutex<BTreeMap<String, CertificateDer<'static>>>,
    toward_servers: OnceLock<Arc<ClientConfig>>,
    bundle: OnceLock<String>,
}

impl CertificateAuthority {
    pub(super) fn new(more_roots: Vec<CertificateDer<'static>>) -> io::Result<Self> {
        let key = ProcessKey::new()?;
        let mut params = parameters(Vec::new(), "AgentX, for commands of one process")?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        Ok(Self {
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
            host_key: ProcessKey::new()?,
            more_roots,
            hosts: Mutex::default(),
            toward_servers: OnceLock::new(),
            bundle: OnceLock::new(),
        })
    }

    /// Returns the TLS of the proxy in the place of a host. HTTP/1.1 is named if the client offers it; one
    /// that offers only other protocols is told none, and may speak HTTP/1.1 all the same.
    pub(super) fn in_place_of(&self, host: &str, offers_http_1: bool) -> io::Result<Arc<ServerConfig>> {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.host_key.pkcs8.clone()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate_of(host)?], key)
            .map_err(io::Error::other)?;
        if offers_http_1 {
            config.alpn_protocols = vec![HTTP_1.to_vec()];
        }
        Ok(Arc::new(config))
    }

    fn certificate_of(&self, host: &str) -> io::Result<CertificateDer<'static>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(host) {
            return Ok(known.clone());
        }
        // The name is in the list of names, where it may be longer than a common name.
        let mut params = parameters(vec![host.to_owned()], "AgentX, in the place of a host")?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let made = params.signed_by(&self.host_key, &self.issuer);
        let certificate = made.map_err(io::Error::other)?.der().clone();
        if hosts.len() >= MOST_HOSTS {
            // They are made again in less than a millisecond.
            hosts.clear();
        }
        hosts.insert(host.to_owned(), certificate.clone());
        Ok(certificate)
    }

    /// Returns the TLS of the proxy toward a server, which checks the server's certificate as other programs
    /// of this machine do.
    pub(super) fn toward_servers(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(config) = self.toward_servers.get() {
            return Ok(Arc::clone(config));
        }
        let provider = Arc::new(default_provider());
        let verifier = Verifier::new_with_extra_roots(self.more_roots.iter().cloned(), provider.clone());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier.map_err(io::Error::other)?))
            .with_no_client_auth();
        config.alpn_protocols = vec![HTTP_1.to_vec()];
        Ok(Arc::clone(self.toward_servers.get_or_init(|| Arc::new(config))))
    }

    /// Returns the certificates that commands trust, as PEM: those of this machine, those in the files that
    /// these variables of this process name, and the authority.
    pub(super) fn bundle(&self, variables: &[&str]) -> &str {
        self.bundle.get_or_init(|| {
            let mut roots = rustls_native_certs::load_native_certs().certs;
            let files = variables.iter().filter_map(std::env::var_os).map(PathBuf::from);
            for file in files {
                let read = CertificateDer::pem_file_iter(file).into_iter().flatten();
                roots.extend(read.filter_map(Result::ok));
            }
            roots.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
            roots.dedup();
            roots.push(self.certificate.clone());
            roots.iter().map(|root| pem(root)).collect()
        })
    }

    /// The certificate of the authority.
    #[cfg(test)]
    pub(super) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }
}

/// The parameters that both kinds of certificates share.
fn parameters(names: Vec<String>, common_name: &str) -> io::Result<CertificateParams> {
    let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.serial_number = Some(SerialNumber::from_slice(&random_number()?));
    params.key_identifier_method = KeyIdMethod::PreSpecified(random_number()?.to_vec());
    Ok(params)
}

fn random_number() -> io::Result<[u8; NUMBER_BYTES]> {
    let mut number = [0; NUMBER_BYTES];
    let broken = |_| io::Error::other("the system has no random numbers");
    SystemRandom::new().fill(&mut number).map_err(broken)?;
    // A serial number is positive.
    number[0] = number[0] & 0x7f | 0x40;
    Ok(number)
}

/// A certificate in the form of text files (<https://www.rfc-editor.org/rfc/rfc7468>).
fn pem(certificate: &CertificateDer<'_>) -> String {
    const LINE: usize = 64;
    let encoded = STANDARD.encode(certificate);
    let mut text = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text.push_str("-----END CERTIFICATE-----\n");
    text
}
