//! Access to a model: the program's settings, completed from the catalog.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_llm::{Catalog, CloudCredentials, Secret};
use agentx_node_runtime::{WireOptionsOf, scripted_model};
use agentx_runtime::{BoxFuture, Effector, EventSink, ModelInfo, Runtime, RuntimeError, SessionLog};
#[cfg(not(feature = "http"))]
use agentx_types::ErrorOccurred;
use agentx_types::{Action, ActionBody, Api, ModelSpec, Prices, SCRIPTED_MODEL, SessionId};
use tokio_util::sync::CancellationToken;

use crate::error::AgentError;

/// The provider whose protocol is assumed for a server of which only the address is given.
const COMPATIBLE: &str = "openai";
/// Maximum length of an answer of a program's own model, in tokens.
const OWN_OUTPUT_TOKENS: u64 = 8_192;
/// The message for a missing key.
const NO_KEY: &str = "pass it with `.api_key(..)`, or use the user's settings with `.from_user_config()`";

/// The program's settings for the model of one agent.
#[derive(Default)]
pub(crate) struct ModelAccess {
    pub(crate) model: Option<String>,
    /// `None` for those of the configuration.
    pub(crate) fallbacks: Option<Vec<String>>,
    pub(crate) api_key: Option<Secret>,
    pub(crate) cloud: Option<CloudCredentials>,
    pub(crate) base_url: Option<String>,
    pub(crate) own: Option<OwnProvider>,
}

impl ModelAccess {
    /// Returns whether it names its own model.
    pub(crate) fn names_one(&self) -> bool {
        self.own.is_some() || self.model.is_some()
    }
}

/// A provider that the program brings itself.
#[derive(Clone)]
pub(crate) struct OwnProvider {
    pub(crate) name: String,
    pub(crate) context_window: u64,
    pub(crate) effector: Arc<dyn Effector>,
}

/// The models that the agents of one builder may ask.
pub(crate) struct Models {
    pub(crate) catalog: Catalog,
    /// By provider.
    pub(crate) keys: BTreeMap<String, Secret>,
    /// By provider.
    pub(crate) clouds: BTreeMap<String, CloudCredentials>,
    /// By provider.
    pub(crate) moved: BTreeMap<String, String>,
    own: BTreeMap<String, OwnProvider>,
    /// The models of an existing runtime, which take precedence.
    there: Vec<ModelInfo>,
}

impl Models {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self {
            catalog,
            keys: BTreeMap::new(),
            clouds: BTreeMap::new(),
            moved: BTreeMap::new(),
            own: BTreeMap::new(),
            there: Vec::new(),
        }
    }

    /// Adds the models of an existing runtime.
    pub(crate) fn offered_by(self, runtime: &dyn Runtime) -> Self {
        Self {
            there: runtime.models(),
            ..self
        }
    }

    /// Adds the settings of a model; `fallback` is its name if they name none.
    pub(crate) fn open(&mut self, door: &ModelAccess, fallback: Option<&str>) -> Result<(), AgentError> {
        if let Some(own) = &door.own {
            if self.own.insert(own.name.clone(), own.clone()).is_some() {
                let twice = format!("two agents define a provider called `{}`", own.name);
                return Err(AgentError::Setup(twice));
            }
            return Ok(());
        }
        if door.api_key.is_none() && door.cloud.is_none() && door.base_url.is_none() {
            return Ok(());
        }
        let Some(name) = door.model.as_deref().or(fallback) else {
            return Err(AgentError::NoModel);
        };
        let provider = self.spec(name, door.base_url.is_some())?.provider;
        if let Some(key) = &door.api_key {
            put(&mut self.keys, &provider, key, "keys")?;
        }
        if let Some(cloud) = &door.cloud {
            self.open_cloud(door, &provider, cloud)?;
        }
        if let Some(url) = &door.base_url {
            put(&mut self.moved, &provider, url, "addresses")?;
            let catalog = std::mem::take(&mut self.catalog);
            let moved = catalog.with_base_url(&provider, url);
            self.catalog = moved.map_err(|error| AgentError::Setup(error.to_string()))?;
        }
        Ok(())
    }

    /// Adds the credentials of a cloud for one of its providers.
    fn open_cloud(
        &mut self,
        door: &ModelAccess,
        provider: &str,
        cloud: &CloudCredentials,
    ) -> Result<(), AgentError> {
        let wrong = |what: String| Err(AgentError::Setup(what));
        if door.api_key.is_some() {
            return wrong(
                "`.api_key(..)` and `.cloud(..)` cannot be combined: remove one of them".to_owned(),
            );
        }
        let is_its = match cloud {
            CloudCredentials::Aws(_) => provider.starts_with("bedrock"),
            CloudCredentials::Google(_) => provider.starts_with("vertex"),
        };
        if !is_its {
            return wrong(format!(
                "`.cloud(..)` has credentials of another cloud than the provider `{provider}`: those of AWS are for \
                 `bedrock`, those of Google for `vertex` and `vertex-anthropic`"
            ));
        }
        put(&mut self.clouds, provider, cloud, "credentials")
    }

    /// Resolves the model.
    pub(crate) fn resolve(
        &self,
        door: &ModelAccess,
        fallback: Option<&str>,
    ) -> Result<ModelSpec, AgentError> {
        if let Some(own) = self.own(door) {
            return Ok(own);
        }
        let name = door.model.as_deref().or(fallback).ok_or(AgentError::NoModel)?;
        self.spec(name, door.base_url.is_some())
    }

    /// Resolves the models to ask if the first one does not answer; `None` for those of the configuration.
    pub(crate) fn fallbacks(&self, door: &ModelAccess) -> Result<Option<Vec<ModelSpec>>, AgentError> {
        let names = door.fallbacks.as_ref();
        names
            .map(|names| names.iter().map(|name| self.spec(name, false)).collect())
            .transpose()
    }

    /// Returns the model that the program provides itself, if there is one.
    pub(crate) fn own(&self, door: &ModelAccess) -> Option<ModelSpec> {
        Some(door.own.as_ref()?.spec(door.model.as_deref()))
    }

    fn spec(&self, name: &str, addressed: bool) -> Result<ModelSpec, AgentError> {
        let is_called = |info: &&ModelInfo| {
            let spec = &info.spec;
            let whole = name.split_once('/') == Some((&*spec.provider, &*spec.id));
            spec.id == name || whole || info.aliases.iter().any(|alias| alias == name)
        };
        if let Some(there) = self.there.iter().find(is_called) {
            return Ok(there.spec.clone());
        }
        let demo = scripted_model();
        if name == SCRIPTED_MODEL || demo.aliases.iter().any(|alias| alias == name) {
            return Ok(demo.spec);
        }
        let known = self.catalog.resolve(name);
        let known = match known {
            Err(_) if addressed => self.catalog.resolve_at(COMPATIBLE, name),
            known => known,
        };
        known.map_err(|error| {
            let (model, nearest) = (name.to_owned(), error.nearest().to_vec());
            RuntimeError::UnknownModel { model, nearest }.into()
        })
    }

    /// The models that a runtime without configuration offers.
    pub(crate) fn offered(&self) -> Vec<ModelInfo> {
        let listed = self.catalog.models().iter().map(|entry| {
            ModelInfo::new(entry.spec.clone())
                .with_aliases(entry.aliases.clone())
                .with_missing(self.missing(&entry.spec.provider))
        });
        let own = self.own_offers().into_iter();
        std::iter::once(scripted_model())
            .chain(own)
            .chain(listed)
            .collect()
    }

    /// Returns the models that the program provides itself.
    pub(crate) fn own_offers(&self) -> Vec<ModelInfo> {
        let own = self.own.values().map(|own| ModelInfo::new(own.spec(None)));
        own.collect()
    }

    fn missing(&self, provider: &str) -> Option<String> {
        if cfg!(not(feature = "http")) {
            return Some(WITHOUT_HTTP.to_owned());
        }
        let needs_key = self.catalog.provider(provider)?.needs_key;
        let has_one = self.keys.contains_key(provider) || self.clouds.contains_key(provider);
        (needs_key && !has_one).then(|| format!("no key for {provider}: {NO_KEY}"))
    }

    pub(crate) fn wire_options(&self) -> WireOptionsOf {
        let catalog = self.catalog.clone();
        Arc::new(move |model: &ModelSpec| catalog.wire_options(model))
    }

    /// Returns the effector that calls models if no configuration chooses another.
    #[cfg(feature = "http")]
    pub(crate) fn network(&self, log: Arc<dyn SessionLog>) -> Arc<dyn Effector> {
        use agentx_node_runtime::model::{Endpoint, ModelEffector, ModelParts, PricesOf};

        let endpoints = self.catalog.providers().iter().map(|entry| {
            let endpoint = Endpoint::new(entry, None, self.keys.get(&entry.name).cloned());
            let endpoint = endpoint.with_key_hint(NO_KEY);
            let endpoint = match self.clouds.get(&entry.name) {
                Some(cloud) => endpoint.with_cloud(cloud.clone(), None),
                None => endpoint,
            };
            (entry.name.clone(), endpoint)
        });
        let catalog = self.catalog.clone();
        let prices: PricesOf = Arc::new(move |provider: &str, model: &str| {
            let mut specs = catalog.models().iter().map(|entry| &entry.spec);
            let spec = specs.find(|spec| spec.provider == provider && spec.id == model);
            spec.map(|spec| spec.prices)
        });
        self.or_others(Arc::new(ModelEffector::new(ModelParts {
            prices,
            ..ModelParts::new(endpoints.collect(), self.wire_options(), log)
        })))
    }

    /// Returns the effector that calls models if no configuration chooses another.
    #[cfg(not(feature = "http"))]
    pub(crate) fn network(&self, _: Arc<dyn SessionLog>) -> Arc<dyn Effector> {
        self.or_others(Arc::new(NoNetwork))
    }

    /// The providers of the program, and `others` for all models of others.
    pub(crate) fn or_others(&self, others: Arc<dyn Effector>) -> Arc<dyn Effector> {
        if self.own.is_empty() {
            return others;
        }
        let own = self
            .own
            .values()
            .map(|own| (own.name.clone(), own.effector.clone()));
        Arc::new(ByProvider {
            own: own.collect(),
            others,
        })
    }
}

/// Sets a value on which all agents have to agree.
fn put<T: Clone + PartialEq>(
    all: &mut BTreeMap<String, T>,
    provider: &str,
    value: &T,
    what: &str,
) -> Result<(), AgentError> {
    match all.insert(provider.to_owned(), value.clone()) {
        Some(before) if before != *value => Err(AgentError::Setup(format!(
            "two agents set different values for {what} of the provider `{provider}`"
        ))),
        _ => Ok(()),
    }
}

impl OwnProvider {
    fn spec(&self, model: Option<&str>) -> ModelSpec {
        let model = model.unwrap_or(&self.name);
        let model = model.strip_prefix(&format!("{}/", self.name)).unwrap_or(model);
        ModelSpec {
            id: model.to_owned(),
            provider: self.name.clone(),
            // The form in which its requests are shown to people; the provider may use another.
            api: Api::OpenaiChat,
            context_window: self.context_window,
            max_output_tokens: OWN_OUTPUT_TOKENS,
            prices: Prices::default(),
            input: None,
            server: None,
            assumes_output: false,
            name: None,
        }
    }
}

/// Passes calls of a program's own models to its providers.
struct ByProvider {
    own: BTreeMap<String, Arc<dyn Effector>>,
    others: Arc<dyn Effector>,
}

impl Effector for ByProvider {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let own = match &action.body {
            ActionBody::CallModel(call) => self.own.get(&call.request.model.provider),
            _ => None,
        };
        own.unwrap_or(&self.others).perform(action, events, cancel)
    }

    fn retry_now(&self, session: &SessionId) {
        self.own.values().for_each(|own| own.retry_now(session));
        self.others.retry_now(session);
    }
}

const WITHOUT_HTTP: &str =
    "this program is built without the feature `http` of agentx, so it cannot call models over a network";

/// Fails every call, because there is no network.
#[cfg(not(feature = "http"))]
struct NoNetwork;

#[cfg(not(feature = "http"))]
impl Effector for NoNetwork {
    fn perform(
        &self,
        action: Arc<Action>,
        events: EventSink,
        _: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ActionBody::CallModel(_) = &action.body else {
                return;
            };
            let error = ErrorOccurred {
                code: "no_network".to_owned(),
                message: WITHOUT_HTTP.to_owned(),
                recoverable: true,
            };
            events.emit(error).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use agentx_node_runtime::ToolEffector;
    use agentx_node_runtime::scripted::ScriptedEnvironment;
    use agentx_runtime::{Condenser, MemoryLog};
    use agentx_testing::{ScriptedModel, check_others};
    use agentx_tools::Toolbox;
    use agentx_types::{ActionKind, ModelRequest};

    use super::*;
    use crate::provider::ProviderEffector;
    use crate::provider::{AnswerSink, Provider, ProviderError};

    struct Mute;

    impl Provider for Mute {
        fn name(&self) -> &str {
            "mute"
        }

        async fn answer(&self, _: &ModelRequest, _: &mut AnswerSink) -> Result<(), ProviderError> {
            Ok(())
        }
    }

    fn models(own: bool) -> Models {
        let mut models = Models::new(Catalog::default());
        if own {
            let own = OwnProvider {
                name: "mute".to_owned(),
                context_window: 1_000,
                effector: Arc::new(ProviderEffector(Arc::new(Mute))),
            };
            models.own.insert(own.name.clone(), own);
        }
        models
    }

    /// The effectors of `agentx-runtime` are tested there.
    #[tokio::test]
    async fn effectors_are_silent_about_actions_of_other_kinds() {
        let log: Arc<dyn SessionLog> = Arc::new(MemoryLog::new());
        let network = models(false).network(log.clone());
        let by_kind: [(ActionKind, Vec<Arc<dyn Effector>>); 3] = [
            (
                ActionKind::CallModel,
                vec![
                    Arc::new(ProviderEffector(Arc::new(Mute))),
                    Arc::new(ScriptedEnvironment::instant()),
                    Arc::new(ScriptedModel::new([])),
                    models(true).network(log.clone()),
                    network.clone(),
                ],
            ),
            (ActionKind::Condense, vec![Arc::new(Condenser::new(network))]),
            (
                ActionKind::CallTool,
                vec![Arc::new(ToolEffector::new(Toolbox::default(), log))],
            ),
        ];
        for (kind, effectors) in by_kind {
            for effector in effectors {
                check_others(&*effector, kind).await;
            }
        }
    }
}
