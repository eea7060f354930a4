//! The masked credentials of a process, with the authority that certifies their hosts.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use agentx_runtime::BoxFuture;
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::certificate_authority::CertificateAuthority;
use super::masked_credential::{CredentialList, MaskedCredential};
use super::opened_tunnel::OpenedTunnel;
use crate::host_proxy::contacts::HostContacts;
use crate::host_proxy::gate::HostGate;
use crate::host_proxy::masked_credentials::{BUNDLE, CredentialMasker, MaskedCredentials};
use crate::host_proxy::request_head::RequestHead;

/// The variables by which programs find a file with certificates: OpenSSL and Go, curl, Git, Node.js,
/// Python's requests, pip, Cargo.
const BUNDLE_VARIABLES: [&str; 7] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
];

/// Masks credentials by ending the TLS of tunnels to their hosts. The authority is made when a command first
/// needs it.
pub(super) struct TlsMasker {
    credentials: CredentialList,
    authority: OnceLock<Arc<CertificateAuthority>>,
    /// Certificates that count beside those of this machine.
    more_roots: Vec<CertificateDer<'static>>,
}

impl MaskedCredentials {
    /// Masks these credentials.
    pub fn new(credentials: Vec<MaskedCredential>) -> Self {
        let masker = (!credentials.is_empty()).then(|| {
            let masker: Arc<dyn CredentialMasker> = Arc::new(TlsMasker::new(credentials, Vec::new()));
            masker
        });
        Self { masker }
    }
}

impl TlsMasker {
    /// Masks credentials for servers that prove themselves by these certificates, too.
    pub(super) fn new(credentials: Vec<MaskedCredential>, more_roots: Vec<CertificateDer<'static>>) -> Self {
        Self {
            credentials: CredentialList(credentials),
            authority: OnceLock::new(),
            more_roots,
        }
    }

    pub(super) fn authority(&self) -> io::Result<Arc<CertificateAuthority>> {
        if let Some(authority) = self.authority.get() {
            return Ok(Arc::clone(authority));
        }
        let made = Arc::new(CertificateAuthority::new(self.more_roots.clone())?);
        Ok(Arc::clone(self.authority.get_or_init(|| made)))
    }
}

impl CredentialMasker for TlsMasker {
    fn names(&self) -> Vec<&str> {
        let names = self.credentials.0.iter();
        names.map(|credential| credential.variable.as_str()).collect()
    }

    fn is_for(&self, host: &str, port: u16) -> bool {
        let mut credentials = self.credentials.0.iter();
        credentials.any(|credential| credential.is_for(host, port))
    }

    fn variables(&self, temporary: &Path) -> io::Result<Vec<(OsString, OsString)>> {
        let bundle = temporary.join(BUNDLE);
        replace_file(&bundle, self.authority()?.bundle(&BUNDLE_VARIABLES))?;
        let credentials = self.credentials.0.iter();
        let placeholders =
            credentials.map(|masked| (masked.variable.clone().into(), masked.placeholder.clone().into()));
        let places = BUNDLE_VARIABLES.map(|name| (name.into(), bundle.clone().into()));
        Ok(placeholders.chain(places).collect())
    }

    fn serve<'a>(
        &'a self,
        client: &'a mut TcpStream,
        server: TcpStream,
        head: &'a RequestHead,
        gate: &'a HostGate,
        contacts: &'a HostContacts,
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let authority = self.authority()?;
            let tunnel = OpenedTunnel::new(head, gate, contacts, &self.credentials, authority, server);
            tunnel.serve(client).await
        })
    }
}

/// Replaces a file in a directory that commands write: never through a link that one of them put there.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let new = path.with_extension(format!("{:016x}", u64::from_ne_bytes(random)));
    let mut options = std::fs::OpenOptions::new();
    let written = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        // The first error says more than one of the removal.
        let _ = std::fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use agentx_sandbox::HostPattern;

    use super::*;

    fn masked(value: &str) -> MaskedCredentials {
        let hosts = vec![HostPattern::parse("api.example.com").unwrap()];
        MaskedCredentials::new(vec![
            MaskedCredential::new("MADE_UP_TOKEN", value, hosts).unwrap(),
        ])
    }

    fn variable(variables: &[(OsString, OsString)], name: &str) -> String {
        let found = variables.iter().find(|(known, _)| known == name);
        found.unwrap().1.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_placeholder_is_random_and_about_as_long_as_the_value() {
        let place = tempfile::tempdir().unwrap();
        for (length, expected) in [(1, 46), (46, 46), (93, 93), (4_000, 270)] {
            let value = "x".repeat(length);
            let one = masked(&value).variables(place.path()).unwrap();
            let another = masked(&value).variables(place.path()).unwrap();
            let (one, another) = (
                variable(&one, "MADE_UP_TOKEN"),
                variable(&another, "MADE_UP_TOKEN"),
            );
            assert_eq!((one.len(), another.len()), (expected, expected), "{length}");
            assert_ne!(one, another);
        }
    }

    /// A command writes the directory before the next one starts.
    #[test]
    fn the_certificates_are_never_written_through_a_link_of_a_command() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("target");
        std::fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, place.path().join(BUNDLE)).unwrap();
        let variables = masked("made-up-value").variables(place.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
        for name in BUNDLE_VARIABLES {
            let bundle = std::fs::read_to_string(variable(&variables, name)).unwrap();
            assert!(bundle.ends_with("-----END CERTIFICATE-----\n"), "{bundle}");
        }
        let names: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}
