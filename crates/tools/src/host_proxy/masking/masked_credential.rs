//! The credentials, their placeholders, and the replacement of one by the other in headers.

use std::collections::BTreeSet;
use std::io;

use agentx_sandbox::HostPattern;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::HeaderValue;

/// The beginning of each placeholder.
const PLACEHOLDER: &str = "agentx-masked-";
/// The fewest and the most characters behind it. Between them a placeholder is as long as its value.
const PLACEHOLDER_DIGITS: (usize, usize) = (32, 256);
/// A value that is shorter is not looked for in answers: it could be an ordinary word.
const SHORTEST_VALUE: usize = 8;

/// A credential that commands know by a placeholder.
#[derive(Clone)]
pub struct MaskedCredential {
    pub(super) variable: String,
    hosts: Vec<HostPattern>,
    value: String,
    pub(super) placeholder: String,
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

    pub(super) fn is_for(&self, host: &str, port: u16) -> bool {
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

/// The credentials of one proxy.
pub(super) struct CredentialList(pub(super) Vec<MaskedCredential>);

impl CredentialList {
    /// Puts the credentials of a host into the headers of a request. Returns the names of their variables.
    pub(super) fn reveal(&self, host: &str, port: u16, headers: &mut HeaderMap) -> BTreeSet<String> {
        let mut revealed = BTreeSet::new();
        for credential in self.0.iter().filter(|credential| credential.is_for(host, port)) {
            for (_, value) in headers
                .iter_mut()
                .filter(|(name, _)| may_authorize(name.as_str()))
            {
                if let Some(with_credential) = credential.revealed(value) {
                    *value = with_credential;
                    revealed.insert(credential.variable.clone());
                }
            }
        }
        revealed
    }

    /// Takes the credentials of a host out of the headers of its answer.
    pub(super) fn conceal(&self, host: &str, port: u16, headers: &mut HeaderMap) {
        for credential in self.0.iter().filter(|credential| credential.is_for(host, port)) {
            for value in headers.values_mut() {
                if let Some(without) = credential.concealed(value) {
                    *value = without;
                }
            }
        }
    }
}

/// Headers that describe a request or its content and never authorize it, by their names and beginnings of
/// names. A host may keep them and tell them again, as it does with the type of an uploaded file.
const DESCRIBING: [&str; 10] = [
    "date",
    "from",
    "link",
    "origin",
    "prefer",
    "range",
    "referer",
    "slug",
    "user-agent",
    "via",
];
const DESCRIBING_BEGINNINGS: [&str; 9] = [
    "accept",
    "access-control-",
    "content-",
    "forwarded",
    "if-",
    "sec-",
    "trace",
    "x-forwarded-",
    "x-request",
];
/// A part of the names of headers that object stores keep with a file: `x-amz-meta-owner`.
const KEPT_WITH_FILES: &str = "-meta-";

/// Returns whether a header of this name, in lower case, may authorize a request.
fn may_authorize(name: &str) -> bool {
    !DESCRIBING.contains(&name)
        && !DESCRIBING_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        && !name.contains(KEPT_WITH_FILES)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_value_is_not_looked_for_in_answers() {
        for (value, expected) in [("12345678", false), ("1234", true)] {
            let hosts = vec![HostPattern::parse("api.example.com").unwrap()];
            let masked = MaskedCredential::new("MADE_UP_TOKEN", value, hosts).unwrap();
            let mut headers = HeaderMap::new();
            headers.insert("x-length", HeaderValue::from_str(value).unwrap());
            CredentialList(vec![masked]).conceal("api.example.com", 443, &mut headers);
            assert_eq!(headers["x-length"] == value, expected, "{value}");
        }
    }

    #[test]
    fn a_header_that_a_host_may_keep_gets_no_value() {
        let hosts = vec![HostPattern::parse("api.example.com").unwrap()];
        let masked = MaskedCredential::new("MADE_UP_TOKEN", "made-up-value-0123456789", hosts).unwrap();
        let placeholder = HeaderValue::try_from(masked.placeholder.clone()).unwrap();
        let list = CredentialList(vec![masked]);
        for (name, is_replaced) in [
            ("authorization", true),
            ("private-token", true),
            ("x-api-key", true),
            ("x-goog-api-key", true),
            ("cookie", true),
            ("content-type", false),
            ("content-disposition", false),
            ("user-agent", false),
            ("referer", false),
            ("if-match", false),
            ("accept-language", false),
            ("x-amz-meta-owner", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, placeholder.clone());
            let revealed = list.reveal("api.example.com", 443, &mut headers);
            assert_eq!(revealed.len(), usize::from(is_replaced), "{name}");
            assert_eq!(headers[name] != placeholder, is_replaced, "{name}");
        }
    }
}
