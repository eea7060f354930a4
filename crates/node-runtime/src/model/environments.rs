//! The models of a vendor as a reactor: attached to a runtime that acts, with a separate key, and detached
//! again, while sessions run.
//!
//! For the calls of its provider, an environment takes precedence over the runtime's own effector. It has its
//! own connections, limits and retries (the defaults), and its key is in no configuration and no log. A
//! session that began at another address than the vendor's records that address and continues only there: if
//! the environment is [at](ClaudeEnvironment::at) a different one, such a call fails as `other_server`.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_bus::{Reactor, ReactorFailure, ReactorTask};
use agentx_llm::{Catalog, Secret};
use agentx_runtime::{Environment, SystemBus};
use agentx_types::ModelSpec;
use tokio_util::sync::CancellationToken;

use super::{Endpoint, ModelEffector, ModelParts, PricesOf};
use crate::WireOptionsOf;

/// The message for a missing key.
const KEY_HINT: &str = "give the environment its key when it is made";

/// Anthropic's models: while attached, it answers the calls of agents whose model's provider is `anthropic`,
/// and condenses their conversations.
///
/// ```no_run
/// # async fn attach(runtime: agentx_node_runtime::NodeRuntime, key: String) -> Result<(), agentx_bus::ReactorFailure> {
/// use agentx_bus::Restart;
/// use agentx_node_runtime::model::ClaudeEnvironment;
///
/// let claude = runtime.attach(ClaudeEnvironment::new(key), Restart::Never).await?;
/// // With another key from now on; what was begun with the first one ends with it.
/// # let another_key = String::new();
/// runtime.attach(ClaudeEnvironment::new(another_key), Restart::Never).await?;
/// runtime.detach(claude, std::time::Duration::from_secs(60)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ClaudeEnvironment(Vendor);

/// OpenAI's models, by Chat Completions, or those of a compatible server: while attached, it answers the
/// calls of agents whose model's provider is `openai`, and condenses their conversations.
#[derive(Debug)]
pub struct OpenAiEnvironment(Vendor);

impl ClaudeEnvironment {
    /// Creates an environment with this key.
    pub fn new(api_key: impl Into<String>) -> Self {
        Self(Vendor::new("claude", "anthropic", api_key.into()))
    }

    /// Asks at another address, such as that of a gateway.
    #[must_use]
    pub fn at(self, base_url: impl Into<String>) -> Self {
        Self(self.0.at(base_url.into()))
    }
}

impl OpenAiEnvironment {
    /// Creates an environment with this key.
    pub fn new(api_key: impl Into<String>) -> Self {
        Self(Vendor::new("openai", "openai", api_key.into()))
    }

    /// Asks at another address, such as that of a proxy, by the protocol of the called model: for OpenAI's
    /// own models the Responses API (`BASE_URL/responses`). A server that is only compatible has an address
    /// in the catalog: `Catalog::with_base_url`, or `base_url` of an agent's builder.
    #[must_use]
    pub fn at(self, base_url: impl Into<String>) -> Self {
        Self(self.0.at(base_url.into()))
    }
}

impl Reactor<SystemBus> for ClaudeEnvironment {
    fn name(&self) -> &str {
        self.kind()
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        self.0.start(&bus)
    }

    async fn stop(&mut self) {
        self.0.stop.cancel();
    }
}

impl Environment for ClaudeEnvironment {
    fn kind(&self) -> &str {
        self.0.kind
    }
}

impl Reactor<SystemBus> for OpenAiEnvironment {
    fn name(&self) -> &str {
        self.kind()
    }

    async fn start(&mut self, bus: SystemBus) -> Result<ReactorTask, ReactorFailure> {
        self.0.start(&bus)
    }

    async fn stop(&mut self) {
        self.0.stop.cancel();
    }
}

impl Environment for OpenAiEnvironment {
    fn kind(&self) -> &str {
        self.0.kind
    }
}

/// The common part of both environments: the provider, its settings, and the end of its tasks.
#[derive(Debug)]
struct Vendor {
    /// The name of the reactor in lists.
    kind: &'static str,
    /// The name of the provider in the catalog.
    provider: &'static str,
    /// Never shown, also not by `Debug`.
    api_key: Secret,
    /// Another address than the vendor's own. It is checked when the environment starts.
    base_url: Option<String>,
    /// Ends the serving. A stopped environment is not started again.
    stop: CancellationToken,
}

impl Vendor {
    fn new(kind: &'static str, provider: &'static str, api_key: String) -> Self {
        Self {
            kind,
            provider,
            api_key: Secret::new(api_key),
            base_url: None,
            stop: CancellationToken::new(),
        }
    }

    fn at(self, base_url: String) -> Self {
        Self {
            base_url: Some(base_url),
            ..self
        }
    }

    /// Begins to serve the calls of the provider. Nothing is sent, so a wrong key shows at the first call.
    fn start(&self, bus: &SystemBus) -> Result<ReactorTask, ReactorFailure> {
        let models = Arc::new(self.models(bus)?);
        Ok(bus
            .serve_models(self.provider, models)
            .run_until(self.stop.clone()))
    }

    /// The effector behind the environment: the built-in catalog, this one endpoint, default limits.
    fn models(&self, bus: &SystemBus) -> Result<ModelEffector, ReactorFailure> {
        let catalog = Catalog::builtin();
        let catalog = match &self.base_url {
            Some(url) => catalog
                .with_base_url(self.provider, url)
                .map_err(|error| ReactorFailure(error.to_string()))?,
            None => catalog,
        };
        let unknown = || ReactorFailure(format!("no provider {} is known", self.provider));
        let entry = catalog.provider(self.provider).ok_or_else(unknown)?;
        let endpoint = Endpoint::new(entry, self.base_url.as_deref(), Some(self.api_key.clone()));
        let endpoint = endpoint.with_key_hint(KEY_HINT);
        let endpoints = BTreeMap::from([(self.provider.to_owned(), endpoint)]);
        let catalog = Arc::new(catalog);
        let priced = catalog.clone();
        let prices: PricesOf = Arc::new(move |provider: &str, model: &str| {
            let mut specs = priced.models().iter().map(|entry| &entry.spec);
            let spec = specs.find(|spec| spec.provider == provider && spec.id == model);
            spec.map(|spec| spec.prices)
        });
        let wire_options: WireOptionsOf = Arc::new(move |model: &ModelSpec| catalog.wire_options(model));
        Ok(ModelEffector::new(ModelParts {
            prices,
            ..ModelParts::new(endpoints, wire_options, bus.blobs())
        }))
    }
}
