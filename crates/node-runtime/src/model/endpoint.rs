//! The address and the credentials of a provider. Secrets stay in this module: every text about an endpoint
//! goes through [`Endpoint::scrub`] or [`Endpoint::place`].
//!
//! # What counts as a secret here
//!
//! The key, the values of extra headers, a password in the address and the whole query of the address. A
//! secret of fewer than 6 characters is not searched for in texts of others, because hiding it would garble
//! ordinary words; this crate itself still never writes it. Headers with secrets are marked as sensitive, so
//! that `Debug` of a request does not show them.

use std::net::IpAddr;

use agentx_llm::{
    AuthStyle, Catalog, CloudCredentials, ProviderEntry, Secret, bedrock, origin, tools_need_responses,
};
use agentx_runtime::Clock;
use agentx_types::{Api, ModelRequest, ModelSpec};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, Url};

use super::cloud_access::CloudAccess;
use super::failure::AttemptFailure;
use super::policy::ServerKind;
use super::streaming_body::stream_type;

/// Returns the ways to set a value: the variable, if there is one, and the configuration key.
fn set_in(variable: Option<&str>, key: &str) -> String {
    match variable {
        Some(variable) => format!("{variable} or {key}"),
        None => key.to_owned(),
    }
}

/// Parses an address. The error describes the problem.
fn http_url(address: &str) -> Result<Url, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(format!("`{other}` is not http or https")),
    }
}

/// Returns whether a host is one of the many of a cloud.
fn is_clouds(host: &str) -> bool {
    let of_aws = host.ends_with(".amazonaws.com") && bedrock::region_of(host).is_some();
    of_aws || host.ends_with("aiplatform.googleapis.com")
}

/// The replacement for secrets.
const HIDDEN: &str = "<hidden>";
/// The minimum length of a value to hide: hiding shorter ones would garble ordinary words.
const MIN_SECRET_CHARS: usize = 6;

/// A provider's address and its key.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The catalog's entry of the provider: its API, how the key is sent, which variables name key and
    /// address.
    provider: ProviderEntry,
    /// The address for requests, or its problem, which is reported at a call, so that other providers work.
    url: Result<Url, String>,
    /// The address as it was given, without the path of an API.
    base_url: Option<String>,
    /// The address that sessions record: scheme, host and port. A conversation is not sent to another one.
    origin: Option<String>,
    /// The key. `None` is an error at a call if the provider needs one, and fine otherwise.
    key: Option<Secret>,
    /// Headers that a person added. One of the provider's own headers is replaced by one of the same name.
    headers: Vec<(String, Secret)>,
    /// The place to set a missing key, if not the configuration.
    key_hint: Option<String>,
    /// The credentials of a cloud, by which each attempt is authorized in place of a key.
    cloud: Option<CloudAccess>,
    /// The reason why there are no such credentials although a person has named some.
    cloud_problem: Option<String>,
}

impl Endpoint {
    /// The endpoint of `provider` at `base_url`, or at the provider's own address if that is `None`.
    ///
    /// ```
    /// use agentx_llm::Catalog;
    /// use agentx_node_runtime::model::Endpoint;
    ///
    /// let catalog = Catalog::builtin();
    /// let endpoint = Endpoint::new(catalog.provider("openai").unwrap(), Some("http://me:pw@localhost:8080/v1"), None);
    /// assert_eq!(endpoint.place(), "http://localhost:8080/v1/responses");
    /// ```
    pub fn new(provider: &ProviderEntry, base_url: Option<&str>, key: Option<Secret>) -> Self {
        Self {
            provider: provider.clone(),
            url: http_url(&provider.url(provider.api, base_url)),
            base_url: base_url.map(str::to_owned),
            origin: origin(base_url.unwrap_or(&provider.base_url)),
            key,
            headers: Vec::new(),
            key_hint: None,
            cloud: None,
            cloud_problem: None,
        }
    }

    /// Says at a call why the credentials of a cloud that a person has named cannot be used. A key takes
    /// precedence.
    #[must_use]
    pub fn with_unusable_cloud(mut self, why: &str) -> Self {
        self.cloud_problem = Some(why.to_owned());
        self
    }

    /// Authorizes each attempt by the credentials of a cloud. A key takes precedence. `region` is that of a
    /// signature if the address names none.
    #[must_use]
    pub fn with_cloud(mut self, credentials: CloudCredentials, region: Option<&str>) -> Self {
        self.cloud = Some(CloudAccess::new(credentials, region));
        self
    }

    /// Sets the hint for a missing key, which says how to supply one. Without it, the message names the
    /// configuration key.
    #[must_use]
    pub fn with_key_hint(mut self, hint: &str) -> Self {
        self.key_hint = Some(hint.to_owned());
        self
    }

    /// Sends this header too. Its value is treated as a secret.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: Secret) -> Self {
        self.headers.push((name.to_owned(), value));
        self
    }

    /// The address without anything that must not be seen: no user, password, query or fragment.
    pub fn place(&self) -> String {
        let Ok(url) = &self.url else {
            return format!("the address of {}", self.provider.name);
        };
        let mut url = url.clone();
        // Both can only fail for addresses without a host, which have neither.
        let _ = (url.set_username(""), url.set_password(None));
        url.set_query(None);
        url.set_fragment(None);
        url.to_string()
    }

    /// Returns a short name of the server: `local at 127.0.0.1:8080`, `api.openai.com`.
    pub fn server_name(&self) -> String {
        let name = &self.provider.name;
        let Some(host) = self.url().and_then(Url::host_str) else {
            return name.clone();
        };
        let place = match self.url().and_then(Url::port) {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        if host.contains(name.as_str()) {
            place
        } else {
            format!("{name} at {place}")
        }
    }

    /// Replaces all secrets in `text`, for texts of servers and libraries.
    pub fn scrub(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets() {
            if secret.chars().count() >= MIN_SECRET_CHARS && text.contains(&secret) {
                text = text.replace(&secret, HIDDEN);
            }
        }
        text
    }

    /// Returns the kind of server.
    pub(super) fn server(&self) -> ServerKind {
        let host = self.url().and_then(Url::host_str).unwrap_or_default();
        let host = host.trim_matches(['[', ']']);
        let address = host.parse::<IpAddr>();
        if host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|ip| ip.is_loopback()) {
            return ServerKind::Here;
        }
        let catalog = Catalog::builtin();
        let vendors = catalog.providers().iter();
        let mut hosts =
            vendors.filter_map(|vendor| Some(Url::parse(&vendor.base_url).ok()?.host_str()?.to_owned()));
        if hosts.any(|vendors| vendors == host) || is_clouds(host) {
            ServerKind::Vendors
        } else {
            ServerKind::Other
        }
    }

    /// Returns the reason why this server would refuse the request, if it is known beforehand.
    pub(super) fn refuses(&self, request: &ModelRequest) -> Option<String> {
        let is_openais = self.url().and_then(Url::host_str) == Some("api.openai.com");
        is_openais.then(|| tools_need_responses(request)).flatten()
    }

    /// Returns the reason why nothing may be sent here: the conversation has used another server until now.
    pub(super) fn other_server(&self, model: &ModelSpec) -> Option<String> {
        let asked_at = model.server.as_ref()?;
        if self.origin.as_ref() == Some(asked_at) {
            return None;
        }
        let now = self.origin.as_deref().unwrap_or("no known address");
        Some(format!(
            "this session used {} at {asked_at}, which is now at {now}: nothing was sent",
            self.provider.name
        ))
    }

    /// The address of the provider's API.
    pub(super) fn url(&self) -> Option<&Url> {
        self.url.as_ref().ok()
    }

    /// The address for requests to a model with this API, or its problem.
    pub(super) fn request_url(&self, api: Api, model: &str) -> Result<Url, String> {
        self.checked(http_url(&self.provider.request_url(
            api,
            model,
            self.base_url.as_deref(),
        )))
    }

    /// The address of the provider's API, or its problem.
    #[cfg(any(test, feature = "settings"))]
    pub(super) fn checked_url(&self) -> Result<Url, String> {
        self.checked(self.url.clone())
    }

    fn checked(&self, url: Result<Url, String>) -> Result<Url, String> {
        url.map_err(|error| {
            let name = &self.provider.name;
            // The configuration uses this in place of an address if the region is invalid.
            let region = self
                .base_url
                .as_deref()
                .filter(|text| text.ends_with(" is not a region"));
            if let Some(why) = region {
                return format!("{name} has no address: {why}; see providers.{name}.region");
            }
            let place = set_in(
                self.provider.base_url_env.as_deref(),
                &format!("providers.{name}.base_url"),
            );
            format!("the base URL of {name} is not an address: {error}; it is set in {place}")
        })
    }

    /// Returns the message about a missing key, if one is needed.
    pub(super) fn missing_key(&self) -> Option<String> {
        if let Some(why) = self.cloud_problem.as_ref().filter(|_| self.key.is_none()) {
            return Some(format!("no credentials for {}: {why}", self.provider.name));
        }
        let is_known = self.key.is_some() || self.cloud.is_some();
        if is_known || !self.provider.needs_key || self.provider.auth == AuthStyle::None {
            return None;
        }
        let name = &self.provider.name;
        if let Some(hint) = &self.key_hint {
            return Some(format!("no API key for {name}: {hint}"));
        }
        Some(match &self.provider.key_env {
            Some(variable) => {
                format!(
                    "no API key for {name}: set {variable}, or providers.{name}.api_key in the config file"
                )
            }
            None => format!("no API key for {name}: set providers.{name}.api_key in the config file"),
        })
    }

    /// Returns whether a request has a key, the credentials of a cloud, or headers of a person, which may
    /// hold a key.
    pub(super) fn sends_credentials(&self) -> bool {
        let has_key = self.key.is_some() && self.provider.auth != AuthStyle::None;
        has_key || self.cloud.is_some() || !self.headers.is_empty()
    }

    /// All headers of a request.
    pub(super) fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let own = self.provider.headers(self.key.as_ref().map(Secret::expose));
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let extra = self
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.expose().to_owned()));
        let of = &self.provider.name;
        for (name, value) in own.chain(extra) {
            let wrong = || {
                if self.headers.iter().any(|(own, _)| *own == name) {
                    format!("the header `{name}` of {of} has characters that cannot be sent")
                } else {
                    let place = set_in(
                        self.provider.key_env.as_deref(),
                        &format!("providers.{of}.api_key"),
                    );
                    format!(
                        "the key of {of} has characters that cannot be sent, such as a line break; it is set in {place}"
                    )
                }
            };
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
            value.set_sensitive(!matches!(name.as_str(), "content-type" | "anthropic-version"));
            headers.insert(key, value);
        }
        let accepted = format!("{}, application/json", stream_type(self.provider.api));
        let accepted = HeaderValue::from_str(&accepted).map_err(|error| error.to_string())?;
        headers.insert("accept", accepted);
        Ok(headers)
    }

    /// Authorizes an attempt that begins now, if a cloud wants that for each one: signatures and tokens are
    /// valid for minutes. The clock is read for clouds alone.
    ///
    /// # Errors
    /// Returns why the attempt cannot be made.
    pub(super) async fn authorize(
        &self,
        request: &mut Request,
        clock: &dyn Clock,
    ) -> Result<(), AttemptFailure> {
        match &self.cloud {
            Some(cloud) if self.key.is_none() => cloud.authorize(request, clock.now()).await,
            _ => Ok(()),
        }
    }

    /// Forgets the token in this value of `authorization`, which its server refused. Returns whether there
    /// may be another one.
    pub(super) fn forgets(&self, authorization: &str) -> bool {
        let cloud = self.cloud.as_ref().filter(|_| self.key.is_none());
        cloud.is_some_and(|cloud| cloud.forgets(authorization))
    }

    /// All texts that [`Endpoint::scrub`] removes, the longest first.
    fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = self
            .headers
            .iter()
            .map(|(_, value)| value.expose().to_owned())
            .collect();
        secrets.extend(self.key.as_ref().map(|key| key.expose().to_owned()));
        secrets.extend(self.cloud.iter().flat_map(CloudAccess::secrets));
        if let Ok(url) = &self.url {
            secrets.extend(url.password().map(str::to_owned));
            secrets.extend(url.query().map(str::to_owned));
        }
        // The longest first: one may be part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentx_llm::Catalog;

    fn endpoint(base: &str, key: Option<&str>) -> Endpoint {
        let catalog = Catalog::builtin();
        let provider = catalog.provider("anthropic").expect("a built-in provider");
        Endpoint::new(provider, Some(base), key.map(Secret::new))
    }

    #[test]
    fn nothing_that_is_said_holds_a_secret() {
        let endpoint = endpoint("http://user:hunter22@h.test", Some("sk-secret-1"))
            .with_header("x-org", Secret::new("org-value"));
        assert_eq!(endpoint.place(), "http://h.test/v1/messages");
        assert_eq!(endpoint.server_name(), "anthropic at h.test");
        let said = endpoint.scrub("key sk-secret-1, password hunter22, org-value, sk-other");
        assert_eq!(said, "key <hidden>, password <hidden>, <hidden>, sk-other");
        let debug = format!("{endpoint:?} {:?}", endpoint.headers());
        for secret in ["sk-secret-1", "org-value"] {
            assert!(!debug.contains(secret), "{debug}");
        }
    }

    #[test]
    fn whose_a_server_is_follows_from_its_address() {
        for (base, server) in [
            ("https://api.anthropic.com", ServerKind::Vendors),
            ("http://localhost:8080/v1", ServerKind::Here),
            ("http://127.0.0.2:8080", ServerKind::Here),
            ("http://[::1]:8080", ServerKind::Here),
            ("http://192.168.1.9:8080", ServerKind::Other),
            ("https://api.anthropic.com.made-up.example", ServerKind::Other),
        ] {
            assert_eq!(endpoint(base, None).server(), server, "{base}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_said_beforehand() {
        assert!(
            endpoint("http://h.test", None)
                .missing_key()
                .is_some_and(|what| what.contains("ANTHROPIC_API_KEY"))
        );
        assert!(endpoint("http://h.test", Some("k")).missing_key().is_none());
        assert!(endpoint("ftp://h.test", Some("k")).checked_url().is_err());
        assert!(endpoint("no address", Some("k")).checked_url().is_err());
        let wrong = endpoint("http://h.test", Some("sk-new\nline"))
            .headers()
            .expect_err("a line break");
        assert!(
            !wrong.contains("sk-new") && wrong.contains("ANTHROPIC_API_KEY"),
            "{wrong}"
        );
        let wrong = endpoint("http://h.test:bad", None)
            .checked_url()
            .expect_err("no port");
        assert!(wrong.contains("ANTHROPIC_BASE_URL"), "{wrong}");
    }
}
