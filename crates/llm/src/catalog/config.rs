//! The written form of the catalog: the embedded file, and the part of a person's configuration that adds to
//! it. A field that the configuration leaves out stays as it was.

use std::collections::BTreeMap;

use agentx_types::{Api, InputMedium, LongPrices, ModelSpec, Prices};
use serde::{Deserialize, Serialize};

use super::{AuthStyle, CatalogError, ModelEntry, ProviderEntry};
use crate::wire_options::WireOptions;
use crate::wire_options::chat::Effort;

/// The assumed context window of a model without one, in tokens.
const CONTEXT_WINDOW: u64 = 128_000;
const MAX_OUTPUT_TOKENS: u64 = 8_192;

/// Providers and models to add or to override.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogConfig {
    /// The providers, by name. A known provider is overridden, any other is added.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// The models. A model with a known provider and id is overridden, any other is added.
    pub models: Vec<ModelConfig>,
}

/// The settings of a provider. A new one needs at least `base_url`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// The name that people see. The default is the name of the provider.
    pub title: Option<String>,
    /// The API of the servers. The default is `openai-chat`.
    pub api: Option<Api>,
    /// The base address, without the path of the API.
    pub base_url: Option<String>,
    /// The environment variable that overrides `base_url`.
    pub base_url_env: Option<String>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    /// Another one, which counts if the first is not set.
    pub other_key_env: Option<String>,
    /// The environment variable that holds a bearer token.
    pub token_env: Option<String>,
    /// The environment variable with the id of an access key of AWS.
    pub access_key_env: Option<String>,
    /// The environment variable with the secret of that access key.
    pub secret_key_env: Option<String>,
    /// The environment variable with the token of a temporary access key.
    pub session_token_env: Option<String>,
    /// The way to send the key. The default is `x-api-key` for Anthropic's API, otherwise `bearer`.
    pub auth: Option<AuthStyle>,
    /// Whether the provider refuses requests without a key. The default is `true` if `key_env` is set.
    pub needs_key: Option<bool>,
    /// The model to use if none is named.
    pub default_model: Option<String>,
    /// The assumed context window of models that the catalog does not know, in tokens. The default is
    /// 128,000.
    pub context_window: Option<u64>,
    /// The assumed maximum length of an answer of such a model, in tokens. The default is 8,192.
    pub max_output_tokens: Option<u64>,
    /// The day on which its models were compared with published lists, and those lists. The embedded file has
    /// it; a configuration has none.
    pub checked: Option<CatalogCheck>,
    /// Options of the provider's wire protocol.
    pub wire: Option<WireOptions>,
}

/// A comparison of the catalog with published lists of models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogCheck {
    /// The day, as `2026-11-30`.
    pub day: String,
    /// The lists, with their versions.
    pub source: String,
}

/// The settings of a model. A field that is left out has the provider's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The id that the API expects.
    pub id: String,
    /// The provider that serves it.
    pub provider: String,
    /// A person's name for the model, which is then a model beside the one with that id. Its id does not
    /// select it if another model has that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Short names that people use for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliases: Option<Vec<String>>,
    /// Other ids of the model at the API, such as dated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<Vec<String>>,
    /// The context window in tokens: the input of one call and its answer together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The maximum length of an answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The prices of the model. Without them its calls have no cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesConfig>,
    /// The input media besides text; unknown if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<InputMedium>>,
    /// Whether it has a mode for answers that fit a JSON Schema. The default is `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<bool>,
    /// The effort with which the model reasons if a request names none; unknown if absent. It is shown to
    /// people and changes no request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_effort: Option<Effort>,
    /// A sentence for people about the model, such as the day on which a price changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The last comparison with published lists, if it is not that of the provider's other models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<CatalogCheck>,
    /// Options of the model's wire protocol, if they differ from its provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireOptions>,
}

/// Prices in dollars per million tokens, the unit of vendors' price lists. A model whose prices are all 0 is
/// free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PricesConfig {
    /// The price of input tokens that are not in the cache.
    pub input: f64,
    /// The price of output tokens.
    pub output: f64,
    /// The price of input tokens that are read from the cache. The default is the price of `input`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// The price of input tokens that are written into the cache. The default is the price of `input`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// The price of input tokens that are written into the cache for an hour. The default is twice the price
    /// of `input`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    /// The prices of a call with a long input, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPricesConfig>,
}

/// The prices of a call with a long input, in dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPricesConfig {
    /// The number of input tokens, cached ones included, above which these prices apply.
    pub over_tokens: u64,
    /// The price of input tokens that are not in the cache.
    pub input: f64,
    /// The price of output tokens.
    pub output: f64,
    /// The price of input tokens that are read from the cache.
    pub cache_read: f64,
    /// The price of input tokens that are written into the cache.
    pub cache_write: f64,
}

/// Returns a price in nano-dollars per token: a dollar per million tokens is a thousand of them. The cast
/// from a float saturates.
pub(super) fn per_token(usd: f64) -> u64 {
    (usd * 1_000.0).round() as u64
}

impl PricesConfig {
    fn prices(self) -> Prices {
        let mut prices = Prices {
            input: per_token(self.input),
            output: per_token(self.output),
            cache_read: per_token(self.cache_read.unwrap_or(self.input)),
            cache_write: per_token(self.cache_write.unwrap_or(self.input)),
            cache_write_1h: self.cache_write_1h.map(per_token),
            long: self.long.map(|long| LongPrices {
                over_tokens: long.over_tokens,
                input: per_token(long.input),
                output: per_token(long.output),
                cache_read: per_token(long.cache_read),
                cache_write: per_token(long.cache_write),
            }),
            free: false,
        };
        prices.free = prices.is_unknown();
        prices
    }
}

impl ProviderConfig {
    pub(super) fn complete(&self, name: &str) -> Result<ProviderEntry, CatalogError> {
        let Some(base_url) = self.base_url.clone() else {
            return Err(CatalogError::Incomplete {
                name: name.to_owned(),
                field: "base_url",
            });
        };
        let api = self.api.unwrap_or(Api::OpenaiChat);
        let auth = match api {
            Api::Anthropic => AuthStyle::XApiKey,
            Api::Gemini | Api::GeminiInteractions => AuthStyle::XGoogApiKey,
            Api::OpenaiChat
            | Api::OpenaiResponses
            | Api::Bedrock
            | Api::BedrockConverse
            | Api::VertexAnthropic
            | Api::Scripted
            | Api::Unknown => AuthStyle::Bearer,
        };
        let mut entry = ProviderEntry {
            name: name.to_owned(),
            title: name.to_owned(),
            api,
            responses_for_tools: false,
            base_url,
            own_url: None,
            base_url_env: None,
            key_env: None,
            other_key_env: None,
            token_env: None,
            access_key_env: None,
            secret_key_env: None,
            session_token_env: None,
            auth,
            needs_key: self.key_env.is_some(),
            default_model: None,
            context_window: CONTEXT_WINDOW,
            max_output_tokens: MAX_OUTPUT_TOKENS,
            wire: WireOptions::default(),
        };
        self.apply(&mut entry);
        Ok(entry)
    }

    pub(super) fn apply(&self, entry: &mut ProviderEntry) {
        set(&mut entry.title, &self.title);
        set(&mut entry.api, &self.api);
        entry.responses_for_tools &= self.api.is_none();
        set(&mut entry.base_url, &self.base_url);
        set_some(&mut entry.base_url_env, &self.base_url_env);
        set_some(&mut entry.key_env, &self.key_env);
        set_some(&mut entry.other_key_env, &self.other_key_env);
        set_some(&mut entry.token_env, &self.token_env);
        set_some(&mut entry.access_key_env, &self.access_key_env);
        set_some(&mut entry.secret_key_env, &self.secret_key_env);
        set_some(&mut entry.session_token_env, &self.session_token_env);
        set(&mut entry.auth, &self.auth);
        set(&mut entry.needs_key, &self.needs_key);
        set_some(&mut entry.default_model, &self.default_model);
        set(&mut entry.context_window, &self.context_window);
        set(&mut entry.max_output_tokens, &self.max_output_tokens);
        set(&mut entry.wire, &self.wire);
    }
}

impl ModelConfig {
    pub(super) fn is(&self, spec: &ModelSpec) -> bool {
        self.id == spec.id && self.provider == spec.provider && self.name == spec.name
    }

    /// A listed model under a name of a person's own, beside the listed one.
    pub(super) fn renamed(&self, listed: ModelEntry) -> ModelEntry {
        let mut entry = ModelEntry {
            aliases: Vec::new(),
            snapshots: Vec::new(),
            is_called_by_id: false,
            ..listed
        };
        entry.spec.name.clone_from(&self.name);
        self.apply(&mut entry);
        entry
    }

    /// This model, where it does not differ from `spec`.
    pub(super) fn complete(&self, mut spec: ModelSpec) -> ModelEntry {
        spec.name.clone_from(&self.name);
        let mut entry = ModelEntry {
            spec,
            aliases: Vec::new(),
            snapshots: Vec::new(),
            wire: None,
            default_effort: None,
            note: None,
            checked: None,
            answer_schema: false,
            is_called_by_id: self.name.is_none(),
            assumes_window: true,
        };
        self.apply(&mut entry);
        entry
    }

    pub(super) fn apply(&self, entry: &mut ModelEntry) {
        set(&mut entry.aliases, &self.aliases);
        let name = self.name.iter().filter(|name| !entry.aliases.contains(name));
        let name: Vec<String> = name.cloned().collect();
        entry.aliases.extend(name);
        set(&mut entry.snapshots, &self.snapshots);
        set(&mut entry.spec.context_window, &self.context_window);
        entry.assumes_window &= self.context_window.is_none();
        set(&mut entry.spec.max_output_tokens, &self.max_output_tokens);
        entry.spec.assumes_output &= self.max_output_tokens.is_none();
        set(&mut entry.spec.prices, &self.prices.map(PricesConfig::prices));
        set_some(&mut entry.spec.input, &self.input);
        set(&mut entry.answer_schema, &self.answer_schema);
        set_some(&mut entry.default_effort, &self.default_effort);
        set_some(&mut entry.note, &self.note);
        set_some(&mut entry.checked, &self.checked);
        set_some(&mut entry.wire, &self.wire);
    }
}

fn set<T: Clone>(slot: &mut T, value: &Option<T>) {
    if let Some(value) = value {
        slot.clone_from(value);
    }
}

fn set_some<T: Clone>(slot: &mut Option<T>, value: &Option<T>) {
    if value.is_some() {
        slot.clone_from(value);
    }
}
