//! The credentials, their placeholders, and the replacement of one by the other in headers.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use agentx_sandbox::HostPattern;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::HeaderValue;
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::certificate_authority::CertificateAuthority;

/// The beginning of each placeholder.
const PLACEHOLDER: &str = "agentx-masked-";
/// The fewest and the most characters behind it. Between them a placeholder is as long as its value.
const PLACEHOLDER_DIGITS: (usize, usize) = (32, 256);
/// A value that is shorter is not looked for in answers: it could be an ordinary word.
const SHORTEST_VALUE: usize = 8;

/// The file with the certificates that commands trust, in their directory for temporary files.
pub(crate) const BUNDLE: &str = ".agentx-certificates.pem";
/// The variables by which programs find such a file: OpenSSL and Go, curl, Git, Node.js, Python's requests,
/// pip, Cargo.
const BUNDLE_VARIABLES: [&str; 7] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
];

/// A credential that commands know by a placeholder.
#[derive(Clone)]
pub struct MaskedCredential {
    variable: String,
    hosts: Vec<HostPattern>,
    value: String,
    placeholder: String,
}

impl MaskedCredential {
    /// Creates a credential for these hosts alone. `variable` is the name by which commands know it.
    ///
    /// # Errors
    /// Returns an error if the system has no random numbers.
    pub fn new(
        variable: impl Into<String>,
        value: impl Into<String>,
        hosts: Vec<HostPattern>,
    ) -> io::Result<Self> {
        let value = value.into();
        let (fewest, most) = PLACEHOLDER_DIGITS;
        let digits = value.len().saturating_sub(PLACEHOLDER.len()).clamp(fewest, most);
        let mut random = vec![0; digits.div_ceil(2)];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            variable: variable.into(),
            hosts,
            placeholder: format!("{PLACEHOLDER}{}", &random[..digits]),
            value,
        })
    }

    fn is_for(&self, host: &str, port: u16) -> bool {
        self.hosts.iter().any(|pattern| pattern.fits(host, port))
    }

    /// Returns a header's value with the credential in the place of its placeholder; `None` if it has none.
    fn revealed(&self, header: &HeaderValue) -> Option<HeaderValue> {
        let mut value = replaced(header, &self.placeholder, &self.value)?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Returns the value of an answer's header with the placeholder in the place of the credential; `None` if
    /// it has none.
    fn concealed(&self, header: &HeaderValue) -> Option<HeaderValue> {
        if self.value.len() < SHORTEST_VALUE {
            return None;
        }
        replaced(header, &self.value, &self.placeholder)
    }
}

/// Replaces a part of a header's value, also within the Base64 of a `Basic` authorization; `None` if it does
/// not have the part.
fn replaced(header: &HeaderValue, part: &str, by: &str) -> Option<HeaderValue> {
    let text = std::str::from_utf8(header.as_bytes()).ok()?;
    let new = match basic_words(text) {
        Some((scheme, words)) if words.contains(part) => {
            format!("{scheme} {}", STANDARD.encode(words.replace(part, by)))
        }
        _ if text.contains(part) => text.replace(part, by),
        _ => return None,
    };
    HeaderValue::try_from(new).ok()
}

/// Splits `Basic Base64` into the scheme and what the Base64 says.
fn basic_words(text: &str) -> Option<(&str, String)> {
    let (scheme, encoded) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let words = STANDARD.decode(encoded.trim()).ok()?;
    Some((scheme, String::from_utf8(words).ok()?))
}

/// All masked credentials of a person. Clones share the authority whose certificates commands see. Without a
/// credential there is nothing to do, and nothing is made.
#[derive(Clone, Default)]
pub struct MaskedCredentials {
    inner: Option<Arc<Masked>>,
}

struct Masked {
    credentials: Vec<MaskedCredential>,
    authority: OnceLock<Arc<CertificateAuthority>>,
    /// Certificates that count beside those of this machine.
    more_roots: Vec<CertificateDer<'static>>,
}

/// Values are not shown.
impl std::fmt::Debug for MaskedCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.all().map(|credential| &credential.variable);
        f.debug_list().entries(names).finish()
    }
}

impl MaskedCredentials {
    /// Masks these credentials. The authority is made when a command first needs it.
    pub fn new(credentials: Vec<MaskedCredential>) -> Self {
        Self::trusting(credentials, Vec::new())
    }

    /// Masks credentials for servers that prove themselves by these certificates, too.
    pub(in crate::host_proxy) fn trusting(
        credentials: Vec<MaskedCredential>,
        more_roots: Vec<CertificateDer<'static>>,
    ) -> Self {
        let masked = |credentials| Masked {
            credentials,
            authority: OnceLock::new(),
            more_roots,
        };
        Self {
            inner: (!credentials.is_empty()).then(|| Arc::new(masked(credentials))),
        }
    }

    fn all(&self) -> impl Iterator<Item = &MaskedCredential> {
        self.inner.iter().flat_map(|masked| &masked.credentials)
    }

    /// Returns the variables of a command: the placeholders, and where its programs find the certificates
    /// that they have to trust. Writes these into the directory for temporary files.
    ///
    /// # Errors
    /// Returns an error if no authority can be made, or the file cannot be written.
    pub fn variables(&self, temporary: &Path) -> io::Result<Vec<(OsString, OsString)>> {
        let Some(authority) = self.authority()? else {
            return Ok(Vec::new());
        };
        let bundle = temporary.join(BUNDLE);
        replace_file(&bundle, authority.bundle(&BUNDLE_VARIABLES))?;
        let placeholders = self
            .all()
            .map(|masked| (masked.variable.clone().into(), masked.placeholder.clone().into()));
        let places = BUNDLE_VARIABLES.map(|name| (name.into(), bundle.clone().into()));
        Ok(placeholders.chain(places).collect())
    }

    /// Returns the authority for a host, if a credential is for it.
    pub(in crate::host_proxy) fn authority_for(
        &self,
        host: &str,
        port: u16,
    ) -> io::Result<Option<Arc<CertificateAuthority>>> {
        if self.all().any(|credential| credential.is_for(host, port)) {
            self.authority()
        } else {
            Ok(None)
        }
    }

    fn authority(&self) -> io::Result<Option<Arc<CertificateAuthority>>> {
        let Some(masked) = &self.inner else {
            return Ok(None);
        };
        if let Some(authority) = masked.authority.get() {
            return Ok(Some(Arc::clone(authority)));
        }
        let made = Arc::new(CertificateAuthority::new(masked.more_roots.clone())?);
        Ok(Some(Arc::clone(masked.authority.get_or_init(|| made))))
    }

    /// Puts the credentials of a host into the headers of a request. Returns the names of their variables.
    pub(in crate::host_proxy) fn reveal(
        &self,
        host: &str,
        port: u16,
        headers: &mut HeaderMap,
    ) -> BTreeSet<String> {
        let mut revealed = BTreeSet::new();
        for credential in self.all().filter(|credential| credential.is_for(host, port)) {
            for value in headers.values_mut() {
                if let Some(with_credential) = credential.revealed(value) {
                    *value = with_credential;
                    revealed.insert(credential.variable.clone());
                }
            }
        }
        revealed
    }

    /// Takes the credentials of a host out of the headers of its answer.
    pub(in crate::host_proxy) fn conceal(&self, host: &str, port: u16, headers: &mut HeaderMap) {
        for credential in self.all().filter(|credential| credential.is_for(host, port)) {
            for value in headers.values_mut() {
                if let Some(without) = credential.concealed(value) {
                    *value = without;
                }
            }
        }
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
        let none = MaskedCredentials::default();
        assert_eq!(none.variables(place.path()).unwrap(), []);
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

    #[test]
    fn a_short_value_is_not_looked_for_in_answers() {
        for (value, expected) in [("12345678", false), ("1234", true)] {
            let masked = masked(value);
            let mut headers = HeaderMap::new();
            headers.insert("x-length", HeaderValue::from_str(value).unwrap());
            masked.conceal("api.example.com", 443, &mut headers);
            assert_eq!(headers["x-length"] == value, expected, "{value}");
        }
    }
}
