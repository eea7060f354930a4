//! The model catalog: the known models, their providers, their windows and their prices.
//!
//! Everyone starts with an embedded file (`catalog.json`, prices in dollars per million tokens);
//! configuration adds to it and overrides it ([`CatalogConfig`]). A model that is not in the catalog can
//! still be used if its provider is named (`ollama/qwen3`): it gets the provider's defaults and no price.
//!
//! ```
//! use agentx_llm::Catalog;
//! use agentx_llm::catalog::CatalogConfig;
//!
//! let config: CatalogConfig = serde_json::from_value(serde_json::json!({
//!     "providers": { "lab": { "base_url": "http://lab.example:8080/v1" } },
//!     "models": [{ "provider": "lab", "id": "small", "context_window": 32_000 }],
//! }))?;
//! let catalog = Catalog::builtin().extended(&config)?;
//! let model = catalog.resolve("small")?;
//! assert_eq!((model.provider.as_str(), model.context_window), ("lab", 32_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clouds;
mod config;
mod error;
mod key_variables;
mod model_names;
pub mod models_dev;
mod provider;
mod server;
mod unknown_models;

use agentx_types::{Api, ModelSpec, nearest};

use crate::wire_options::WireOptions;
use crate::wire_options::chat::{Effort, ReasoningEcho};
pub use config::{CatalogCheck, CatalogConfig, LongPricesConfig, ModelConfig, PricesConfig, ProviderConfig};
pub use error::CatalogError;
pub use provider::{AuthStyle, ProviderEntry};
pub use server::origin;
pub use unknown_models::tools_need_responses;

/// A model of the catalog.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelEntry {
    /// The data that a request needs: id, provider, window, prices.
    pub spec: ModelSpec,
    /// Short names that people use for the model.
    pub aliases: Vec<String>,
    /// Other ids of the model at the API, such as dated ones. A request for one of them uses that id.
    pub snapshots: Vec<String>,
    /// Options of this model's wire protocol; `None` if they are those of its provider.
    pub wire: Option<WireOptions>,
    /// The effort with which it reasons if a request names none; `None` if unknown.
    pub default_effort: Option<Effort>,
    /// A sentence for people about the model, if there is one.
    pub note: Option<String>,
    /// The last comparison of the model's built-in values with published lists; `None` for models that are
    /// not built in.
    pub checked: Option<CatalogCheck>,
    /// Whether it has a mode for answers that fit a JSON Schema.
    pub answer_schema: bool,
    /// Whether its id is also a name for it. The id of a person's own model with another name is one only if
    /// no other model has it.
    pub is_called_by_id: bool,
    /// Whether its window is only assumed: nothing has set one for this model.
    pub assumes_window: bool,
}

/// The known models and their providers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    providers: Vec<ProviderEntry>,
    /// The models, configured ones first: if two models share a name, the configured one wins.
    models: Vec<ModelEntry>,
    /// The number of configured ones.
    own: usize,
}

impl Catalog {
    /// Returns the embedded catalog.
    #[expect(
        clippy::expect_used,
        reason = "the file is part of the program, and a test reads it"
    )]
    pub fn builtin() -> Self {
        let file: CatalogConfig =
            serde_json::from_str(include_str!("../catalog.json")).expect("the embedded catalog is valid");
        let catalog = Self::default()
            .extended(&file)
            .expect("the embedded catalog is complete");
        let mut catalog = Self { own: 0, ..catalog };
        for entry in &mut catalog.models {
            let of_provider = file.providers.get(&entry.spec.provider);
            let checked = of_provider.and_then(|provider| provider.checked.as_ref());
            entry.checked = entry.checked.take().or_else(|| checked.cloned());
        }
        // They were added later, and a Google key may exist for another purpose: so they never become a
        // default.
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

    /// Returns this catalog with the providers and models of the configuration added or overridden.
    ///
    /// # Errors
    /// Returns [`CatalogError::Incomplete`] if a new provider has no `base_url`, and
    /// [`CatalogError::UnknownProvider`] if a model names a provider that does not exist.
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
                None => self.own_entry(model, provider),
            };
            let place = listed.unwrap_or(self.own).min(self.own);
            self.own = self.own.max(place + 1);
            self.models.insert(place, entry);
        }
        Ok(self.with_servers())
    }

    /// Returns the entry of a model that is not listed yet. A model with its own name starts from the listed
    /// model with the same id.
    fn own_entry(&self, model: &ModelConfig, provider: &ProviderEntry) -> ModelEntry {
        let is_same = |entry: &&ModelEntry| {
            let spec = &entry.spec;
            spec.name.is_none() && spec.id == model.id && spec.provider == model.provider
        };
        let listed = model.name.as_ref().and_then(|_| self.models.iter().find(is_same));
        match listed {
            Some(listed) => model.renamed(listed.clone()),
            None => model.complete(self.as_at_home(provider.unknown_model(&model.id))),
        }
    }

    /// This catalog with newer figures of models: windows, limits, prices and media of models that it has,
    /// and models that it does not have, at providers that it knows. Others are left out.
    ///
    /// The models do not count as a person's own: `extended` overrides them, and of two with the same name,
    /// the one in the configuration is used.
    #[must_use]
    pub fn refreshed(mut self, models: &[ModelConfig]) -> Self {
        for model in models {
            if let Some(entry) = self.models.iter_mut().find(|entry| model.is(&entry.spec)) {
                model.apply(entry);
            } else if let Some(provider) = self.provider(&model.provider) {
                let entry = model.complete(provider.unknown_model(&model.id));
                self.models.push(entry);
            }
        }
        self.with_servers()
    }

    /// This catalog with a provider at another address, as a person or the environment gave it. OpenAI's
    /// protocol at another address is some compatible server: requests have the form that most of them
    /// accept, and may need no key. Models of OpenAI that take tools only at the Responses API are asked
    /// there, unless the address is that of Chat Completions.
    ///
    /// # Errors
    /// Returns [`CatalogError::UnknownProvider`] if the provider does not exist.
    pub fn with_base_url(mut self, provider: &str, base_url: &str) -> Result<Self, CatalogError> {
        self.known_provider(provider)?;
        for entry in self.providers.iter_mut().filter(|entry| entry.name == provider) {
            let moved = base_url.trim_end_matches('/') != entry.base_url.trim_end_matches('/');
            base_url.clone_into(&mut entry.base_url);
            if moved && entry.name == "openai" {
                entry.api = Api::OpenaiChat;
                entry.responses_for_tools = server::may_have_responses(base_url);
                entry.needs_key = false;
                entry.wire = WireOptions::default();
            }
        }
        Ok(self.with_servers())
    }

    /// Returns all models: configured ones first, then the others in the order of the catalog.
    pub fn models(&self) -> &[ModelEntry] {
        &self.models
    }

    /// Returns the model of this name that the configuration added or overrode; `None` if there is none. Ids
    /// do not count: only the name under which the configuration lists the model.
    pub fn own(&self, name: &str) -> Option<ModelSpec> {
        self.models[..self.own].iter().find_map(|entry| entry.named(name))
    }

    /// Returns whether the id of this model is a name for it, as [`ModelEntry::is_called_by_id`]; so it is
    /// for a model that the catalog does not have.
    pub fn is_called_by_id(&self, model: &ModelSpec) -> bool {
        let is_it = |entry: &&ModelEntry| entry.spec.is_same(model);
        self.models
            .iter()
            .find(is_it)
            .is_none_or(|entry| entry.is_called_by_id)
    }

    /// Returns all providers, in the order of the catalog.
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.providers
    }

    /// Returns the provider of this name; `None` if the catalog has none.
    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// Returns whether the window of a model is only assumed: it is the one that this catalog assumes for
    /// unknown models of the provider, and nothing has set it for the model with this id.
    pub fn assumes_window(&self, provider: &str, id: &str, context_window: u64) -> bool {
        let assumed = self.provider(provider).map(|provider| provider.context_window);
        let is_set = |entry: &ModelEntry| {
            let spec = &entry.spec;
            let is_it =
                spec.provider == provider && spec.context_window == context_window && entry.has_id(id);
            is_it && !entry.assumes_window
        };
        assumed == Some(context_window) && !self.models.iter().any(is_set)
    }

    /// Returns the model that a person means by an id, an alias, or `provider/model`. If the name has a
    /// provider, the model need not be in the catalog. If two models have the name, the configured one is
    /// returned; the id of a configured one that has another name comes last.
    ///
    /// # Errors
    /// Returns [`CatalogError::UnknownModel`] with the nearest names if the name has no provider and no model
    /// has that name.
    ///
    /// ```
    /// let catalog = agentx_llm::Catalog::builtin();
    /// assert_eq!(catalog.resolve("ollama/my-own").unwrap().id, "my-own");
    /// let error = catalog.resolve("claude-sonet-4-5").unwrap_err();
    /// assert!(error.nearest().contains(&"claude-sonnet-4-5".to_owned()));
    /// ```
    pub fn resolve(&self, name: &str) -> Result<ModelSpec, CatalogError> {
        let named = self.models.iter().find_map(|entry| entry.named(name));
        let by_id = || self.models.iter().find_map(|entry| entry.called(name));
        if let Some(spec) = named.or_else(by_id) {
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

    /// Returns the model of this name at this provider; an unknown model gets the provider's defaults.
    ///
    /// # Errors
    /// Returns [`CatalogError::UnknownProvider`] if the provider does not exist.
    pub fn resolve_at(&self, provider: &str, name: &str) -> Result<ModelSpec, CatalogError> {
        let provider = self.known_provider(provider)?;
        let here = || {
            self.models
                .iter()
                .filter(|entry| entry.spec.provider == provider.name)
        };
        let named = here().find_map(|entry| entry.named(name));
        let known = named.or_else(|| here().find_map(|entry| entry.called(name)));
        Ok(known.unwrap_or_else(|| self.as_at_home(provider.unknown_model(name))))
    }

    /// Returns the options of the model's wire protocol. A provider without own options (Azure, a gateway)
    /// gets those that OpenAI or Anthropic has for the same model, and sends reasoning back to models that
    /// are known to want it.
    pub fn wire_options(&self, model: &ModelSpec) -> WireOptions {
        let at = |provider: &str, id: &str| {
            let mut there = self.models.iter().filter(|entry| entry.spec.provider == provider);
            there.find_map(|entry| entry.wire.clone().filter(|_| entry.has_id(id)))
        };
        let of_provider = || Some(self.provider(&model.provider)?.wire.clone());
        let home = match model.api {
            Api::Anthropic | Api::Bedrock | Api::VertexAnthropic => "anthropic",
            Api::Gemini | Api::GeminiInteractions => "google",
            Api::BedrockConverse => "bedrock-converse",
            Api::OpenaiChat | Api::OpenaiResponses | Api::Scripted | Api::Unknown => "openai",
        };
        let id_at_home = &*clouds::id_at_home(model);
        let by_name = || match model.api {
            Api::OpenaiChat | Api::OpenaiResponses => unknown_models::wire(id_at_home),
            Api::BedrockConverse => unknown_models::claude(id_at_home),
            api if api.speaks_messages() => unknown_models::claude(id_at_home),
            _ => None,
        };
        let own = self.entry_of(model).and_then(|entry| entry.wire.clone());
        let is_own = own.is_some();
        let mut wire = own
            .or_else(|| by_name().filter(|_| model.provider == "openai"))
            .or_else(|| of_provider().filter(|wire| *wire != WireOptions::default()))
            .or_else(|| at(home, id_at_home))
            .or_else(by_name)
            .unwrap_or_default();
        if !is_own && model.api == Api::OpenaiChat && wire.chat.reasoning_echo == ReasoningEcho::None {
            wire.chat.reasoning_echo = unknown_models::reasoning_echo(id_at_home);
        }
        if !is_own && model.api == Api::Anthropic {
            wire.anthropic.unsigned_thinking |=
                unknown_models::reasoning_echo(id_at_home) != ReasoningEcho::None;
        }
        // A model accepts the same fields behind any server; its provider decides whether the server knows
        // this field.
        let mut there = self
            .models
            .iter()
            .filter(|entry| entry.spec.provider == model.provider);
        wire.answer_schema |= there.any(|entry| entry.answer_schema && entry.has_id(&model.id));
        wire.answer_schema |=
            model.api == Api::BedrockConverse && unknown_models::has_schemas_at_converse(id_at_home);
        if model.api == Api::Gemini {
            let provider = self.provider(&model.provider);
            wire.gemini.call_ids &= !provider.is_some_and(|provider| clouds::is_vertex(&provider.base_url));
        }
        wire.chat.prompt_cache_key = of_provider().is_some_and(|wire| wire.chat.prompt_cache_key);
        wire
    }

    /// The entry of a model: the one with its name, otherwise the one with its id that has no other name.
    fn entry_of(&self, model: &ModelSpec) -> Option<&ModelEntry> {
        let here = || {
            self.models
                .iter()
                .filter(|entry| entry.spec.provider == model.provider && entry.has_id(&model.id))
        };
        let named = here().find(|entry| entry.spec.name == model.name);
        named
            .or_else(|| here().find(|entry| entry.spec.name.is_none()))
            .or_else(|| here().next())
    }

    fn known_provider(&self, name: &str) -> Result<&ProviderEntry, CatalogError> {
        self.provider(name).ok_or_else(|| {
            let names = self.providers.iter().map(|provider| provider.name.as_str());
            CatalogError::UnknownProvider {
                name: name.to_owned(),
                nearest: suggestions(name, names),
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
        suggestions(name.rsplit('/').next().unwrap_or(name), names)
    }
}

/// Returns at most three names that a mistyped one may mean.
fn suggestions<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let near = nearest(name, names, 3);
    near.into_iter().map(str::to_owned).collect()
}
