//! A provider of models: its address, its key, and the headers of its requests.

use agentx_types::{Api, ModelSpec, Prices};
use serde::{Deserialize, Serialize};

use crate::anthropic;
use crate::openai_models::needs_responses_for_tools;
use crate::wire_options::WireOptions;

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderEntry {
    /// The name of the provider, as in `provider/model`.
    pub name: String,
    /// The name that people see.
    pub title: String,
    /// The API of the provider's servers.
    pub api: Api,
    /// Whether models of OpenAI that take tools only at the Responses API are asked there, although `api` is
    /// Chat Completions: OpenAI's protocol at another address, for which nobody chose an API.
    pub responses_for_tools: bool,
    /// The base address, without the path of the API.
    pub base_url: String,
    /// The provider's own address, which stays when `base_url` is overridden; `None` if a person added the
    /// provider.
    pub own_url: Option<String>,
    /// The environment variable that overrides `base_url`: every built-in provider has one, mostly
    /// `NAME_BASE_URL`.
    pub base_url_env: Option<String>,
    /// The environment variable that holds the key, if there is one.
    pub key_env: Option<String>,
    /// Another one, which counts if the first is not set.
    pub other_key_env: Option<String>,
    /// The environment variable with a token for `authorization: Bearer`; it takes precedence over the key.
    pub token_env: Option<String>,
    /// The environment variable with the id of an access key of AWS, for a provider that takes signed
    /// requests in place of a key.
    pub access_key_env: Option<String>,
    /// The environment variable with the secret of that access key.
    pub secret_key_env: Option<String>,
    /// The environment variable with the token of a temporary access key.
    pub session_token_env: Option<String>,
    /// The way to send the key.
    pub auth: AuthStyle,
    /// Whether the provider refuses requests without a key.
    pub needs_key: bool,
    /// The model to use if none is named.
    pub default_model: Option<String>,
    /// The assumed context window of models that the catalog does not know, in tokens.
    pub context_window: u64,
    /// The assumed maximum length of an answer of such a model, in tokens.
    pub max_output_tokens: u64,
    /// Options of the provider's wire protocol.
    pub wire: WireOptions,
}

/// The way to send a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthStyle {
    /// The header `x-api-key: KEY`.
    XApiKey,
    /// The header `x-goog-api-key: KEY`.
    XGoogApiKey,
    /// The header `api-key: KEY`, of Azure.
    ApiKey,
    /// The header `authorization: Bearer KEY`.
    Bearer,
    /// The key is not sent.
    None,
}

impl ProviderEntry {
    /// Returns the headers of a request as names and values, without those of HTTP itself. They contain the
    /// key, so they must not be logged.
    pub fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if self.api == Api::Anthropic {
            headers.push(("anthropic-version", anthropic::VERSION.to_owned()));
        }
        match (self.auth, key) {
            (AuthStyle::XApiKey, Some(key)) => headers.push(("x-api-key", key.to_owned())),
            (AuthStyle::XGoogApiKey, Some(key)) => headers.push(("x-goog-api-key", key.to_owned())),
            (AuthStyle::ApiKey, Some(key)) => headers.push(("api-key", key.to_owned())),
            (AuthStyle::Bearer, Some(key)) => headers.push(("authorization", format!("Bearer {key}"))),
            (AuthStyle::None, _) | (_, None) => {}
        }
        headers
    }

    /// Returns the API by which the model with this id is asked here.
    ///
    /// ```
    /// use agentx_types::Api;
    ///
    /// let catalog = agentx_llm::Catalog::builtin();
    /// let moved = catalog.with_base_url("openai", "http://localhost:1/v1").unwrap();
    /// let openai = moved.provider("openai").unwrap();
    /// assert_eq!(openai.api_of("llama"), Api::OpenaiChat);
    /// assert_eq!(openai.api_of("gpt-6.2-sol"), Api::OpenaiResponses);
    /// ```
    pub fn api_of(&self, id: &str) -> Api {
        if self.responses_for_tools && needs_responses_for_tools(id) {
            Api::OpenaiResponses
        } else {
            self.api
        }
    }

    pub(super) fn unknown_model(&self, id: &str) -> ModelSpec {
        ModelSpec {
            id: id.to_owned(),
            provider: self.name.clone(),
            api: self.api_of(id),
            context_window: self.context_window,
            max_output_tokens: self.max_output_tokens,
            prices: Prices::default(),
            input: None,
            server: self.other_server(),
            assumes_output: true,
            name: None,
        }
    }
}
