//! At which server a provider's models are asked, as sessions record it.

use super::{Catalog, ProviderEntry};

impl ProviderEntry {
    /// The origin of the server that its models are asked at, where that is not its own server. `None` for a
    /// built-in provider at its own address, and where `base_url` is not an address.
    pub fn other_server(&self) -> Option<String> {
        let asked = origin(&self.base_url)?;
        let own = self.own_url.as_deref().and_then(origin);
        (own.as_ref() != Some(&asked)).then_some(asked)
    }
}

impl Catalog {
    /// Has every model say at which server it is asked, and by which protocol.
    pub(super) fn with_servers(mut self) -> Self {
        for model in &mut self.models {
            let provider = self
                .providers
                .iter()
                .find(|entry| entry.name == model.spec.provider);
            model.spec.server = provider.and_then(ProviderEntry::other_server);
            if let Some(provider) = provider {
                model.spec.api = provider.api;
            }
        }
        self
    }
}

/// The variable that holds a built-in provider's address, as vendors' own programs call theirs:
/// `GROQ_BASE_URL`.
pub(super) fn base_url_variable(provider: &str) -> String {
    format!("{}_BASE_URL", provider.to_ascii_uppercase().replace('-', "_"))
}

/// The origin of an HTTP address: scheme, host and port in lower case, without user, path, query, or the
/// default port of the scheme. `None` if this is not an HTTP address.
///
/// ```
/// use agentx_llm::origin;
///
/// assert_eq!(origin("http://me:pw@Localhost:8080/v1?key=x").as_deref(), Some("http://localhost:8080"));
/// assert_eq!(origin("https://h.example:443").as_deref(), Some("https://h.example"));
/// assert_eq!(origin("ftp://h.example"), None);
/// ```
pub fn origin(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let usual_port = match &*scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    // Of such addresses `\` is read as `/`: https://url.spec.whatwg.org/#authority-state
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().to_lowercase();
    let host = host.strip_suffix(usual_port).unwrap_or(&host);
    (!host.is_empty()).then(|| format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_holds_neither_user_nor_path() {
        for (address, expected) in [
            ("https://api.openai.com/v1", Some("https://api.openai.com")),
            ("http://[::1]:80/v1", Some("http://[::1]")),
            ("http://[::1]:8080", Some("http://[::1]:8080")),
            ("HTTP://H:81", Some("http://h:81")),
            ("http://a.example\\@b.example/", Some("http://a.example")),
            ("http://a@b@c.example?x", Some("http://c.example")),
            ("http://", None),
            ("http:///v1", None),
            ("localhost:8080", None),
        ] {
            assert_eq!(origin(address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn a_model_says_where_it_is_asked_unless_that_is_at_home() {
        let server = |catalog: &Catalog, name: &str| catalog.resolve(name).expect("a known provider").server;
        let home = Catalog::builtin();
        assert_eq!(server(&home, "openai/made-up"), None);
        assert!(home.models().iter().all(|entry| entry.spec.server.is_none()));
        let moved = home
            .with_base_url("openai", "http://127.0.0.1:9/v1")
            .expect("known");
        let expected = Some("http://127.0.0.1:9".to_owned());
        assert_eq!(server(&moved, "openai/made-up"), expected);
        assert_eq!(server(&moved, "gpt-5.5"), expected, "models of the catalog too");
        assert_eq!(server(&moved, "anthropic/made-up"), None);
        let back = moved
            .with_base_url("openai", "https://API.openai.com:443/v1/")
            .expect("known");
        assert_eq!(server(&back, "gpt-5.5"), None);
    }
}
