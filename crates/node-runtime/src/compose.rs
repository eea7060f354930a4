//! From settings to a runtime: the one place where log, models and tools are chosen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentx_config::{ProviderSettings, Settings};
use agentx_llm::Catalog;
use agentx_runtime::{LogError, ModelInfo, SystemClock};
use agentx_sqlite_log::{Durability, Options, SqliteLog};
use agentx_tools::{ToolOptions, Toolbox};
use agentx_types::{Api, ModelSpec, OwnerId, Prices};

use crate::model::{Endpoint, ModelEffector, ModelParts};
use crate::scripted::ScriptedEnvironment;
use crate::{NodeParts, NodeRuntime, WireOptionsOf};

/// The name of the database in the data directory.
pub const DATABASE: &str = "sessions.db";
/// Whose sessions are in a data directory that only its user has.
const LOCAL_OWNER: &str = "own_local";

impl NodeRuntime {
    /// A runtime as the settings say. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Where the database cannot be opened.
    pub fn from_settings(settings: &Settings, program: &str) -> Result<Self, LogError> {
        let options = Options {
            durability: match settings.durability {
                agentx_config::Durability::Process => Durability::Process,
                agentx_config::Durability::Machine => Durability::Machine,
            },
            ..Options::default()
        };
        let log = SqliteLog::open(settings.data_dir.join(DATABASE), options)?;
        let catalog = settings.catalog.clone();
        let wire_options: WireOptionsOf = Arc::new(move |model: &ModelSpec| catalog.wire_options(model));
        let network = ModelEffector::new(ModelParts::new(
            endpoints(settings),
            wire_options.clone(),
            log.clone(),
        ));
        Ok(Self::new(NodeParts {
            log,
            owner: OwnerId::new(LOCAL_OWNER),
            models: models(&settings.catalog, &settings.providers),
            wire_options,
            network: Arc::new(network),
            scripted: ScriptedEnvironment::live(),
            tools: toolbox(settings),
            clock: Arc::new(SystemClock),
            program: program.to_owned(),
            data_dir: settings.data_dir.clone(),
        }))
    }
}

fn endpoints(settings: &Settings) -> BTreeMap<String, Endpoint> {
    let endpoint = |provider: &ProviderSettings| {
        let entry = settings.catalog.provider(&provider.name)?;
        Some((
            provider.name.clone(),
            Endpoint::new(entry, Some(&provider.base_url), provider.key().cloned()),
        ))
    };
    settings.providers.iter().filter_map(endpoint).collect()
}

fn toolbox(settings: &Settings) -> Toolbox {
    let mut options = ToolOptions::default();
    if let Some(timeout) = settings.tools.timeout_ms.map(Duration::from_millis) {
        options.bash.timeout = options.bash.timeout.min(timeout);
        options.bash.max_timeout = timeout;
        options.bash.max_wait = options.bash.max_wait.min(timeout);
        options.search.timeout = options.search.timeout.min(timeout);
    }
    if let Some(bytes) = settings.tools.max_output_bytes {
        let half = usize::try_from(bytes / 2).unwrap_or(usize::MAX);
        (options.bash.head_bytes, options.bash.tail_bytes) = (half, half);
    }
    Toolbox::builtin(options).filtered(|name| settings.tools.offers(name))
}

/// The offline demo first, then the catalog.
fn models(catalog: &Catalog, providers: &[ProviderSettings]) -> Vec<ModelInfo> {
    let missing = |provider: &str| {
        let Some(provider) = providers.iter().find(|known| known.name == provider) else {
            return Some(format!("no provider {provider} is configured"));
        };
        let variable = provider.missing_variable()?;
        Some(format!(
            "set {variable}, or providers.{}.api_key in the configuration",
            provider.name
        ))
    };
    let listed = catalog.models().iter().map(|entry| ModelInfo {
        spec: entry.spec.clone(),
        aliases: entry.aliases.clone(),
        missing: missing(&entry.spec.provider),
    });
    std::iter::once(scripted_model()).chain(listed).collect()
}

fn scripted_model() -> ModelInfo {
    let spec = ModelSpec {
        id: agentx_config::SCRIPTED_MODEL.into(),
        provider: agentx_config::SCRIPTED_MODEL.into(),
        api: Api::Scripted,
        context_window: 128_000,
        max_output_tokens: 8_192,
        prices: Prices::default(),
    };
    ModelInfo {
        spec,
        aliases: vec!["demo".into()],
        missing: None,
    }
}
