//! The address of a provider's API, and the server that its requests go to, in the form that sessions record.

use agentx_types::Api;

use super::{Catalog, ProviderEntry};
use crate::bedrock;

impl ProviderEntry {
    /// Returns the variable with the address of a built-in provider that is named after the provider, if the
    /// variable that counts first has another name: `GOOGLE_BASE_URL` beside `GEMINI_BASE_URL`.
    ///
    /// ```
    /// let catalog = agentx_llm::Catalog::builtin();
    /// let other = |name| catalog.provider(name).unwrap().other_base_url_env();
    /// assert_eq!(other("google").as_deref(), Some("GOOGLE_BASE_URL"));
    /// assert_eq!(other("groq"), None);
    /// ```
    pub fn other_base_url_env(&self) -> Option<String> {
        let first = self.base_url_env.as_ref()?;
        Some(base_url_variable(&self.name)).filter(|other| other != first)
    }

    /// Returns the address to which requests are posted: the path of the API below `base_url`, or below the
    /// provider's own address if that is `None`. If the base already ends with the path of the API, it is the
    /// address. For Anthropic the base may end with `/v1` or not. A query stays at the end. `api` is the API
    /// of the called model: a session keeps the API with which it began.
    ///
    /// ```
    /// use agentx_types::Api;
    ///
    /// let catalog = agentx_llm::Catalog::builtin();
    /// let openai = catalog.provider("openai").unwrap();
    /// let chat = |base| openai.url(Api::OpenaiChat, base);
    /// assert_eq!(chat(Some("http://localhost:8080/v1/")), "http://localhost:8080/v1/chat/completions");
    /// assert_eq!(chat(Some("http://h/v1/chat/completions")), "http://h/v1/chat/completions");
    /// assert_eq!(chat(Some("https://h/gpt/?version=1")), "https://h/gpt/chat/completions?version=1");
    /// assert_eq!(openai.url(openai.api, None), "https://api.openai.com/v1/responses");
    /// let anthropic = catalog.provider("anthropic").unwrap();
    /// assert_eq!(anthropic.url(anthropic.api, None), "https://api.anthropic.com/v1/messages");
    /// let google = catalog.provider("google").unwrap();
    /// assert_eq!(google.url(google.api, None), "https://generativelanguage.googleapis.com/v1beta/models");
    /// assert_eq!(google.url(google.api, Some("http://h/v1")), "http://h/v1/models");
    /// let vertex = "https://h/v1/projects/p/locations/global/publishers/google";
    /// assert_eq!(google.url(google.api, Some(vertex)), format!("{vertex}/models"));
    /// assert_eq!(google.url(Api::GeminiInteractions, Some("http://h")), "http://h/v1beta/interactions");
    /// ```
    pub fn url(&self, api: Api, base_url: Option<&str>) -> String {
        let base = base_url.unwrap_or(&self.base_url);
        let (base, query) = base.split_at(base.find('?').unwrap_or(base.len()));
        let mut base = base.trim_end_matches('/');
        match api {
            Api::Gemini => return format!("{}/models{query}", gemini_version(base)),
            Api::GeminiInteractions => return format!("{}/interactions{query}", gemini_version(base)),
            Api::Bedrock | Api::BedrockConverse => return format!("{base}/model{query}"),
            Api::VertexAnthropic => {
                return format!("{}/models{query}", base.strip_suffix("/models").unwrap_or(base));
            }
            _ => {}
        }
        let of_openai = ["/chat/completions", "/responses"];
        let (path, roots) = match api {
            Api::Anthropic => ("/v1/messages", ["/messages", "/v1"]),
            Api::OpenaiResponses => ("/responses", of_openai),
            _ => ("/chat/completions", of_openai),
        };
        for end in roots {
            base = base.strip_suffix(end).unwrap_or(base);
        }
        format!("{base}{path}{query}")
    }

    /// The address to which the requests of a model are sent: that of its API, and at Gemini the model and
    /// the method. At Azure's dated API (a base that ends with `/deployments`) the model is the deployment in
    /// the path.
    ///
    /// ```
    /// use agentx_types::Api;
    ///
    /// let catalog = agentx_llm::Catalog::builtin();
    /// let google = catalog.provider("google").unwrap();
    /// assert_eq!(
    ///     google.request_url(Api::Gemini, "gemini-3.8-flash", Some("http://h?x=1")),
    ///     "http://h/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse&x=1"
    /// );
    /// // At Bedrock and Vertex AI the model is in the path, too.
    /// let bedrock = catalog.provider("bedrock").unwrap();
    /// assert_eq!(
    ///     bedrock.request_url(Api::Bedrock, "eu.anthropic.m-v1:0", None),
    ///     "https://bedrock-runtime.us-east-1.amazonaws.com/model/eu.anthropic.m-v1%3A0/invoke-with-response-stream"
    /// );
    /// // Azure's dated API has the deployment, which is the id of the model, in the path.
    /// let openai = catalog.provider("openai").unwrap();
    /// let azure = Some("https://r.openai.azure.com/openai/deployments?api-version=2024-10-21");
    /// assert_eq!(
    ///     openai.request_url(Api::OpenaiChat, "my gpt", azure),
    ///     "https://r.openai.azure.com/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21"
    /// );
    /// ```
    pub fn request_url(&self, api: Api, model: &str, base_url: Option<&str>) -> String {
        let url = self.url(api, base_url);
        let (models, query) = url.split_once('?').unwrap_or((&url, ""));
        if api.is_at_bedrock() {
            // A signature covers the path and no query.
            let base = models.strip_suffix("/model").unwrap_or(models);
            let path = match api {
                Api::BedrockConverse => bedrock::converse_path(model),
                _ => bedrock::invoke_path(model),
            };
            return format!("{base}{path}");
        }
        let model = path_segment(model.strip_prefix("models/").unwrap_or(model));
        let and = if query.is_empty() { "" } else { "&" };
        match api {
            Api::Gemini => format!("{models}/{model}:streamGenerateContent?alt=sse{and}{query}"),
            Api::GeminiInteractions => format!("{models}?alt=sse{and}{query}"),
            Api::VertexAnthropic => format!("{models}/{model}:streamRawPredict?{query}")
                .trim_end_matches('?')
                .to_owned(),
            Api::OpenaiChat => in_deployments(models, &model)
                .map(|path| format!("{path}?{query}").trim_end_matches('?').to_owned())
                .unwrap_or(url),
            _ => url,
        }
    }

    /// Returns the origin of the server that requests go to, if that is not the provider's own server. `None`
    /// for a built-in provider at its own address, and if `base_url` is not an address.
    pub fn other_server(&self) -> Option<String> {
        let asked = origin(&self.base_url)?;
        let own = self.own_url.as_deref().and_then(origin);
        (own.as_ref() != Some(&asked)).then_some(asked)
    }
}

/// The address of a version of Gemini's API: a base that names a version or a publisher, or is the whole
/// address of a method, is taken as it is; any other is a server with the version `v1beta`.
fn gemini_version(base: &str) -> String {
    let ends = ["/models", "/interactions", "/openai"];
    let base = ends.iter().find_map(|end| base.strip_suffix(end)).unwrap_or(base);
    let last = base.rsplit('/').next().unwrap_or_default();
    let is_version = last
        .strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_version || base.contains("/publishers/") {
        base.to_owned()
    } else {
        format!("{base}/v1beta")
    }
}

/// Returns whether the Responses API may be below an address: it is not one of Chat Completions, nor of
/// Azure's dated API.
pub(super) fn may_have_responses(base_url: &str) -> bool {
    let base = base_url
        .split('?')
        .next()
        .unwrap_or_default()
        .trim_end_matches('/');
    !base.ends_with("/chat/completions") && !base.ends_with("/openai/deployments")
}

/// The path of a deployment at Azure's dated API; `None` for any other server. `path` is that of the API.
fn in_deployments(path: &str, deployment: &str) -> Option<String> {
    const CHAT: &str = "/chat/completions";
    let base = path.strip_suffix(CHAT)?;
    base.ends_with("/openai/deployments")
        .then(|| format!("{base}/{deployment}{CHAT}"))
}

/// A text as a segment of a path.
fn path_segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~@".contains(&byte) {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

impl Catalog {
    /// Writes the server and the API of its provider into every model.
    pub(super) fn with_servers(mut self) -> Self {
        for model in &mut self.models {
            let provider = self
                .providers
                .iter()
                .find(|entry| entry.name == model.spec.provider);
            model.spec.server = provider.and_then(ProviderEntry::other_server);
            if let Some(provider) = provider {
                model.spec.api = provider.api_of(&model.spec.id);
            }
        }
        self
    }
}

/// Returns the name of the variable with a built-in provider's address, such as `GROQ_BASE_URL`. Vendors' own
/// programs use the same names.
pub(super) fn base_url_variable(provider: &str) -> String {
    format!("{}_BASE_URL", provider.to_ascii_uppercase().replace('-', "_"))
}

/// Returns the origin of an HTTP address: scheme, host and port in lower case, without user, path, query, or
/// the default port of the scheme. `None` if the text is not an HTTP address.
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
    // In such addresses `\` is read as `/`: https://url.spec.whatwg.org/#authority-state
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
