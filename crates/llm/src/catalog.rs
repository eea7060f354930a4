//! The model catalog: which models there are, who serves them, what fits into them and what they cost.
//!
//! An embedded file (`catalog.json`, prices in dollars per million tokens) is what everyone starts with;
//! configuration adds to it and overrides it ([`CatalogConfig`]). A model that is not in it can be used all
//! the same when its provider is named (`ollama/qwen3`): it gets the provider's defaults and no price.

mod config;
mod server;
mod suggestions;
mod unknown_models;

use agentx_types::{Api, ModelSpec, Prices};
use serde::{Deserialize, Serialize};

use crate::anthropic;
use crate::request::WireOptions;
pub use config::{CatalogConfig, LongPricesConfig, ModelConfig, PricesConfig, ProviderConfig};
pub use server::origin;
pub use suggestions::nearest;
pub use unknown_models::tools_need_responses;

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderEntry {
    /// As it is written in `provider/model`.
    pub name: String,
    /// For people.
    pub title: String,
    /// The protocol that it speaks.
    pub api: Api,
    /// The base address, without the path of the API.
    pub base_url: String,
    /// Its own address, whatever `base_url` became; `None` of one that a person added.
    pub own_url: Option<String>,
    /// The environment variable that overrides `base_url`: every built-in provider has one, mostly `NAME_BASE_URL`.
    pub base_url_env: Option<String>,
    /// The environment variable that holds the key, if there is one.
    pub key_env: Option<String>,
    /// Another one, which counts where the first is not set.
    pub other_key_env: Option<String>,
    /// The environment variable with a token for `authorization: Bearer`; it takes precedence over the key.
    pub token_env: Option<String>,
    /// The way to send the key.
    pub auth: AuthStyle,
    /// Whether nothing works without a key.
    pub needs_key: bool,
    /// The model to use where none is named.
    pub default_model: Option<String>,
    /// The context window assumed for models that the catalog does not know, in tokens.
    pub context_window: u64,
    /// The maximum length of their answers, in tokens.
    pub max_output_tokens: u64,
    /// Options of its wire protocol.
    pub wire: WireOptions,
}

/// The way to send a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuthStyle {
    /// `x-api-key: KEY`.
    XApiKey,
    /// `x-goog-api-key: KEY`.
    XGoogApiKey,
    /// `authorization: Bearer KEY`.
    Bearer,
    /// Not at all.
    None,
}

/// A model that is served.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelEntry {
    /// All that a request needs to know.
    pub spec: ModelSpec,
    /// Other names for it: people's words.
    pub aliases: Vec<String>,
    /// Other ids that the API takes for it, such as dated ones: who asks for one gets that one.
    pub snapshots: Vec<String>,
    /// Options of this model's wire protocol, if they differ from its provider's.
    pub wire: Option<WireOptions>,
}

/// A name that the catalog can make nothing of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// No such model.
    #[error("unknown model `{name}`")]
    UnknownModel {
        /// As it was asked for.
        name: String,
        /// The nearest names, nearest first; may be empty.
        nearest: Vec<String>,
    },
    /// No such provider.
    #[error("unknown provider `{name}`")]
    UnknownProvider {
        /// As it was asked for.
        name: String,
        /// The nearest names, nearest first; may be empty.
        nearest: Vec<String>,
    },
    /// A new provider in the configuration lacks what every provider needs.
    #[error("provider `{name}` needs `{field}`")]
    Incomplete {
        /// The name of the provider.
        name: String,
        /// The missing field.
        field: &'static str,
    },
}

impl CatalogError {
    /// The nearest names, nearest first.
    pub fn nearest(&self) -> &[String] {
        match self {
            Self::UnknownModel { nearest, .. } | Self::UnknownProvider { nearest, .. } => nearest,
            Self::Incomplete { .. } => &[],
        }
    }
}

/// Models and providers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    providers: Vec<ProviderEntry>,
    /// Configured ones come first: if two models share a name, the configured one wins.
    models: Vec<ModelEntry>,
    /// The number of configured ones.
    own: usize,
}

impl Catalog {
    /// The embedded catalog.
    #[expect(
        clippy::expect_used,
        reason = "the file is part of the program, and a test reads it"
    )]
    pub fn builtin() -> Self {
        let file: CatalogConfig =
            serde_json::from_str(include_str!("catalog.json")).expect("the embedded catalog is valid");
        let catalog = Self::default()
            .extended(&file)
            .expect("the embedded catalog is complete");
        let mut catalog = Self { own: 0, ..catalog };
        // They joined later, and a key of Google's may be there for something else: nobody's default moves to them.
        catalog
            .providers
            .sort_by_key(|provider| provider.api == Api::Gemini);
        for provider in &mut catalog.providers {
            let variable = || server::base_url_variable(&provider.name);
            provider.base_url_env.get_or_insert_with(variable);
            provider.own_url = Some(provider.base_url.clone());
        }
        catalog.with_servers()
    }

    /// This catalog with what the configuration adds and overrides.
    ///
    /// # Errors
    /// Returns an error if a new provider is incomplete, or a model names a provider that does not exist.
    pub fn extended(mut self, config: &CatalogConfig) -> Result<Self, CatalogError> {
        for (name, provider) in &config.providers {
            match self.providers.iter_mut().find(|entry| entry.name == *name) {
                Some(entry) => provider.apply(entry),
                None => self.providers.push(provider.complete(name)?),
            }
        }
        for model in &config.models {
            let provider = self.known_provider(&model.provider)?;
            let listed = self.models.iter().position(|entry| model.is(&entry.spec));
            let entry = match listed {
                Some(place) => {
                    let mut entry = self.models.remove(place);
                    model.apply(&mut entry);
                    entry
                }
                None => model.complete(provider),
            };
            let place = listed.unwrap_or(self.own).min(self.own);
            self.own = self.own.max(place + 1);
            self.models.insert(place, entry);
        }
        Ok(self.with_servers())
    }

    /// This catalog with a provider at another address, as a person or the environment gave it. OpenAI's
    /// protocol at another address is some compatible server: it is spoken to as most of them want, and may
    /// need no key.
    ///
    /// # Errors
    /// Returns an error if the provider does not exist.
    pub fn with_base_url(mut self, provider: &str, base_url: &str) -> Result<Self, CatalogError> {
        self.known_provider(provider)?;
        for entry in self.providers.iter_mut().filter(|entry| entry.name == provider) {
            let moved = base_url.trim_end_matches('/') != entry.base_url.trim_end_matches('/');
            base_url.clone_into(&mut entry.base_url);
            if moved && entry.name == "openai" {
                entry.api = Api::OpenaiChat;
                entry.needs_key = false;
                entry.wire = WireOptions::default();
            }
        }
        Ok(self.with_servers())
    }

    /// All models: configured ones first, then the others in the order of the catalog.
    pub fn models(&self) -> &[ModelEntry] {
        &self.models
    }

    /// The configured model of this name.
    pub fn own(&self, name: &str) -> Option<ModelSpec> {
        self.models[..self.own]
            .iter()
            .find_map(|entry| entry.called(name))
    }

    /// All providers, in the order of the catalog.
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.providers
    }

    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// Whether the window of a model is only assumed: nobody knows its price, and the window is what this
    /// catalog assumes of models of its provider that it does not know.
    pub fn assumes_window(&self, provider: &str, context_window: u64, prices: &Prices) -> bool {
        let assumed = self.provider(provider).map(|provider| provider.context_window);
        *prices == Prices::default() && assumed == Some(context_window)
    }

    /// The model that a person means: an id, an alias, or `provider/model`. With a provider, any model goes.
    /// Of two that are called the same, the one that the configuration speaks of is meant.
    ///
    /// # Errors
    /// Returns an error if no provider is named and no model is known by this name; with the nearest names.
    ///
    /// ```
    /// let catalog = agentx_llm::Catalog::builtin();
    /// assert_eq!(catalog.resolve("ollama/my-own").unwrap().id, "my-own");
    /// let error = catalog.resolve("claude-sonet-4-5").unwrap_err();
    /// assert!(error.nearest().contains(&"claude-sonnet-4-5".to_owned()));
    /// ```
    pub fn resolve(&self, name: &str) -> Result<ModelSpec, CatalogError> {
        if let Some(spec) = self.models.iter().find_map(|entry| entry.called(name)) {
            return Ok(spec);
        }
        match name.split_once('/') {
            Some((provider, model)) if self.provider(provider).is_some() && !model.is_empty() => {
                self.resolve_at(provider, model)
            }
            _ => Err(CatalogError::UnknownModel {
                name: name.to_owned(),
                nearest: self.nearest_models(name),
            }),
        }
    }

    /// The model of this name at this provider; an unknown model gets the provider's defaults.
    ///
    /// # Errors
    /// Returns an error if the provider does not exist.
    pub fn resolve_at(&self, provider: &str, name: &str) -> Result<ModelSpec, CatalogError> {
        let provider = self.known_provider(provider)?;
        let here = self
            .models
            .iter()
            .filter(|entry| entry.spec.provider == provider.name);
        let known = here.filter_map(|entry| entry.called(name)).next();
        Ok(known.unwrap_or_else(|| provider.unknown_model(name)))
    }

    /// Returns the options of the model's wire protocol. A provider without options of its own (Azure, a
    /// gateway) gets those that OpenAI or Anthropic has for the same model.
    pub fn wire_options(&self, model: &ModelSpec) -> WireOptions {
        let at = |provider: &str, id: &str| {
            let mut there = self.models.iter().filter(|entry| entry.spec.provider == provider);
            there.find_map(|entry| entry.wire.clone().filter(|_| entry.has_id(id)))
        };
        let of_provider = || Some(self.provider(&model.provider)?.wire.clone());
        let home = match model.api {
            Api::Anthropic => "anthropic",
            Api::Gemini | Api::GeminiInteractions => "google",
            Api::OpenaiChat | Api::OpenaiResponses | Api::Scripted | Api::Unknown => "openai",
        };
        let id_at_home = model.id.rsplit('/').next().unwrap_or(&model.id);
        let is_openais = matches!(model.api, Api::OpenaiChat | Api::OpenaiResponses);
        let by_name = || unknown_models::wire(id_at_home).filter(|_| is_openais);
        let mut wire = at(&model.provider, &model.id)
            .or_else(|| by_name().filter(|_| model.provider == "openai"))
            .or_else(|| of_provider().filter(|wire| *wire != WireOptions::default()))
            .or_else(|| at(home, id_at_home))
            .or_else(by_name)
            .unwrap_or_default();
        // What a model takes, it takes behind any server; whether a server knows this field is for its
        // provider to say.
        wire.chat.prompt_cache_key = of_provider().is_some_and(|wire| wire.chat.prompt_cache_key);
        wire
    }

    fn known_provider(&self, name: &str) -> Result<&ProviderEntry, CatalogError> {
        self.provider(name).ok_or_else(|| {
            let names = self.providers.iter().map(|provider| provider.name.as_str());
            CatalogError::UnknownProvider {
                name: name.to_owned(),
                nearest: nearest(name, names),
            }
        })
    }

    fn nearest_models(&self, name: &str) -> Vec<String> {
        let names = self.models.iter().flat_map(|entry| {
            std::iter::once(&entry.spec.id)
                .chain(&entry.aliases)
                .chain(&entry.snapshots)
                .map(String::as_str)
        });
        nearest(name.rsplit('/').next().unwrap_or(name), names)
    }
}

/// Whether `name` is the `id` with a day behind it: `gpt-5.4-2026-03-05`, `claude-opus-4-5-20251101`.
fn is_dated(id: &str, name: &str) -> bool {
    let Some(day) = name.strip_prefix(id).and_then(|rest| rest.strip_prefix('-')) else {
        return false;
    };
    let digits = day.replace('-', "");
    digits.len() == 8 && digits.starts_with("20") && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl ModelEntry {
    fn has_id(&self, id: &str) -> bool {
        self.spec.id == id
            || self.snapshots.iter().any(|snapshot| snapshot == id)
            || is_dated(&self.spec.id, id)
    }

    /// The model, if this is a name of it.
    fn called(&self, name: &str) -> Option<ModelSpec> {
        if self.has_id(name) {
            return Some(ModelSpec {
                id: name.to_owned(),
                ..self.spec.clone()
            });
        }
        self.aliases
            .iter()
            .any(|alias| alias == name)
            .then(|| self.spec.clone())
    }
}

impl ProviderEntry {
    /// The headers of a request, beside those of HTTP itself. The key is in them: they are never logged.
    pub fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if self.api == Api::Anthropic {
            headers.push(("anthropic-version", anthropic::VERSION.to_owned()));
        }
        match (self.auth, key) {
            (AuthStyle::XApiKey, Some(key)) => headers.push(("x-api-key", key.to_owned())),
            (AuthStyle::XGoogApiKey, Some(key)) => headers.push(("x-goog-api-key", key.to_owned())),
            (AuthStyle::Bearer, Some(key)) => headers.push(("authorization", format!("Bearer {key}"))),
            (AuthStyle::None, _) | (_, None) => {}
        }
        headers
    }

    fn unknown_model(&self, id: &str) -> ModelSpec {
        ModelSpec {
            id: id.to_owned(),
            provider: self.name.clone(),
            api: self.api,
            context_window: self.context_window,
            max_output_tokens: self.max_output_tokens,
            prices: Prices::default(),
            input: None,
            server: self.other_server(),
        }
    }
}
