//! Checks whether a model can be asked now, and names what is missing if not.

use agentx::config::{ModelOffer, Settings};
use agentx::runtime::{ModelInfo, RuntimeError};
use agentx::types::{Api, ModelSpec};

use crate::error::ChatError;

/// Converts a model to the form in which the settings choose among models.
pub(super) fn offer(info: &ModelInfo) -> ModelOffer<'_> {
    ModelOffer {
        spec: &info.spec,
        aliases: &info.aliases,
    }
}

/// Checks whether a model that was named can be asked: its provider has a key, and it can be used now.
pub(super) fn check_available(
    settings: &Settings,
    known: &[ModelInfo],
    spec: &ModelSpec,
) -> Result<(), ChatError> {
    if spec.api == Api::Scripted {
        return Ok(());
    }
    let provider = settings.provider(&spec.provider);
    let variable = provider.and_then(|provider| provider.missing_variable());
    if let Some(variable) = variable {
        return Err(ChatError::MissingKey {
            model: spec.id.clone(),
            provider: spec.provider.clone(),
            variable: variable.to_owned(),
            why: provider.and_then(|provider| provider.cloud_problem().map(str::to_owned)),
            user_file: settings.user_file.clone(),
        });
    }
    known
        .iter()
        .find(|info| info.spec == *spec)
        .map_or(Ok(()), check_usable)
}

/// Checks whether a model can be used now.
pub(super) fn check_usable(info: &ModelInfo) -> Result<(), ChatError> {
    match info.missing.clone() {
        Some(what) => Err(RuntimeError::Unavailable {
            model: info.spec.id.clone(),
            what,
        }
        .into()),
        None => Ok(()),
    }
}
