//! The catalog as it is written: in the embedded file, and in a person's configuration, where everything that
//! is left out stays as it was.

use std::collections::BTreeMap;

use agentx_types::{Api, InputMedium, LongPrices, ModelSpec, Prices};
use serde::{Deserialize, Serialize};

use super::{AuthStyle, CatalogError, ModelEntry, ProviderEntry};
use crate::request::WireOptions;

/// Assumed context window of an undescribed model, in tokens.
const CONTEXT_WINDOW: u64 = 128_000;
const MAX_OUTPUT_TOKENS: u64 = 8_192;

/// Providers and models to add or to override.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogConfig {
    /// By name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// A model of a known provider and id is overridden, any other is added.
    pub models: Vec<ModelConfig>,
}

/// The settings of a provider. A new one needs at least `base_url`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// For people.
    pub title: Option<String>,
    /// The protocol; `openai-chat` if nothing is said.
    pub api: Option<Api>,
    /// The base address, without the path of the API.
    pub base_url: Option<String>,
    /// The environment variable that overrides `base_url`.
    pub base_url_env: Option<String>,
    /// The environment variable that holds the key.
    pub key_env: Option<String>,
    /// Another one, which counts where the first is not set.
    pub other_key_env: Option<String>,
    /// The environment variable that holds a bearer token.
    pub token_env: Option<String>,
    /// The way to send the key.
    pub auth: Option<AuthStyle>,
    /// Whether nothing works without a key.
    pub needs_key: Option<bool>,
    /// The model to use where none is named.
    pub default_model: Option<String>,
    /// Tokens that fit into a model that the catalog does not know.
    pub context_window: Option<u64>,
    /// The longest answer of such a model.
    pub max_output_tokens: Option<u64>,
    /// Options of its wire protocol.
    pub wire: Option<WireOptions>,
}

/// The settings of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The id that the API expects.
    pub id: String,
    /// The provider that serves it.
    pub provider: String,
    /// Other names for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aliases: Option<Vec<String>>,
    /// Other ids that the API takes for it, such as dated ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<Vec<String>>,
    /// Tokens that fit into one call, answer included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The longest answer in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Its prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<PricesConfig>,
    /// Its input media besides text; unknown if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<InputMedium>>,
    /// Options of its wire protocol, if they differ from its provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireOptions>,
}

/// Dollars per million tokens, as price lists have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PricesConfig {
    /// Read at the full price.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the cache; the price of `input` if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Written into the cache; the price of `input` if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// The prices of a call that reads many tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPricesConfig>,
}

/// Dollars per million tokens of a call that reads more than so many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPricesConfig {
    /// So many tokens, those of the cache included.
    pub over_tokens: u64,
    /// Read at the full price.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from the cache.
    pub cache_read: f64,
    /// Written into the cache.
    pub cache_write: f64,
}

/// A dollar per million tokens is a thousand nano-dollars per token. A cast from a float saturates.
fn per_token(usd: f64) -> u64 {
    (usd * 1_000.0).round() as u64
}

impl PricesConfig {
    fn prices(self) -> Prices {
        Prices {
            input: per_token(self.input),
            output: per_token(self.output),
            cache_read: per_token(self.cache_read.unwrap_or(self.input)),
            cache_write: per_token(self.cache_write.unwrap_or(self.input)),
            long: self.long.map(|long| LongPrices {
                over_tokens: long.over_tokens,
                input: per_token(long.input),
                output: per_token(long.output),
                cache_read: per_token(long.cache_read),
                cache_write: per_token(long.cache_write),
            }),
        }
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
            Api::OpenaiChat | Api::OpenaiResponses | Api::Scripted | Api::Unknown => AuthStyle::Bearer,
        };
        let mut entry = ProviderEntry {
            name: name.to_owned(),
            title: name.to_owned(),
            api,
            base_url,
            own_url: None,
            base_url_env: None,
            key_env: None,
            other_key_env: None,
            token_env: None,
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
        set(&mut entry.base_url, &self.base_url);
        set_some(&mut entry.base_url_env, &self.base_url_env);
        set_some(&mut entry.key_env, &self.key_env);
        set_some(&mut entry.other_key_env, &self.other_key_env);
        set_some(&mut entry.token_env, &self.token_env);
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
        self.id == spec.id && self.provider == spec.provider
    }

    pub(super) fn complete(&self, provider: &ProviderEntry) -> ModelEntry {
        let spec = provider.unknown_model(&self.id);
        let mut entry = ModelEntry {
            spec,
            aliases: Vec::new(),
            snapshots: Vec::new(),
            wire: None,
        };
        self.apply(&mut entry);
        entry
    }

    pub(super) fn apply(&self, entry: &mut ModelEntry) {
        set(&mut entry.aliases, &self.aliases);
        set(&mut entry.snapshots, &self.snapshots);
        set(&mut entry.spec.context_window, &self.context_window);
        set(&mut entry.spec.max_output_tokens, &self.max_output_tokens);
        set(&mut entry.spec.prices, &self.prices.map(PricesConfig::prices));
        set_some(&mut entry.spec.input, &self.input);
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
