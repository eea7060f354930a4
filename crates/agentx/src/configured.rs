//! Agents with a person's configuration, if it was asked for.

use std::path::Path;

use agentx_config::{ApiKeySource, CloudSettings, ConfigPaths, LoadRequest, Settings, load};
use agentx_node_runtime::NodeParts;

use crate::built_parts::{BuiltParts, PROGRAM};
use crate::definition::Definition;
use crate::error::AgentError;
use crate::model_access::Models;
use crate::work_dirs::WorkDirs;

impl WorkDirs {
    /// Returns the requested settings.
    pub(crate) fn settings(&self) -> Result<Option<Settings>, AgentError> {
        if let Some(settings) = &self.settings {
            return Ok(Some((**settings).clone()));
        }
        if !self.user_config {
            return Ok(None);
        }
        let here = self.workspace.as_deref().unwrap_or(Path::new("."));
        let lookup = |name: &str| std::env::var(name).ok();
        let places = ConfigPaths::find(here, &lookup)?;
        let request = LoadRequest {
            places,
            lookup: &lookup,
            flags: Vec::new(),
        };
        Ok(Some(load(request)?.settings))
    }
}

/// Assembles a runtime from the settings, unless the builder sets something else.
pub(crate) fn assemble(
    definition: Definition,
    place: &WorkDirs,
    mut settings: Settings,
) -> Result<BuiltParts, AgentError> {
    let usual = settings.model_or_default().value;
    let mut models = Models::new(settings.catalog.clone());
    definition.open(&mut models, Some(&usual))?;
    settings.catalog = models.catalog.clone();
    for provider in &mut settings.providers {
        if let Some(key) = models.keys.get(&provider.name) {
            provider.key = ApiKeySource::Literal(key.clone());
            settings.keys.push(provider.key.clone());
        }
        if let Some(cloud) = models.clouds.get(&provider.name) {
            let secrets = cloud.secrets().into_iter().cloned();
            settings.keys.extend(secrets.map(ApiKeySource::Literal));
            // A key would take precedence.
            provider.key = ApiKeySource::None;
            provider.cloud = Some(CloudSettings {
                credentials: Ok(cloud.clone()),
                region: None,
                source: "the program".to_owned(),
            });
        }
        if let Some(address) = models.moved.get(&provider.name) {
            provider.base_url.clone_from(address);
            provider.base_url_given = true;
        }
    }
    let mut parts = match (&place.log, &place.data_dir) {
        (None, Some(directory)) => {
            settings.data_dir = std::path::absolute(directory).map_err(AgentError::Storage)?;
            NodeParts::from_settings(&settings, PROGRAM)?
        }
        (log, _) => {
            let log = log
                .clone()
                .unwrap_or_else(|| std::sync::Arc::new(agentx_runtime::MemoryLog::new()));
            NodeParts::on_log(&settings, PROGRAM, log)
        }
    };
    parts.models = models.own_offers().into_iter().chain(parts.models).collect();
    parts.network = models.or_others(parts.network);
    let base = Box::new(move |model| settings.agent(model, Vec::new()));
    BuiltParts::new(definition, models, (Some(usual), base), parts)
}
