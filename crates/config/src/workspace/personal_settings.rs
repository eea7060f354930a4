//! The person's own settings, with which those of a folder are compared.

use agentx_llm::Catalog;

use crate::api_key_source::ApiKeySource;
use crate::layers::MergedSettings;
use crate::paths::ConfigPaths;

/// The person's own layers.
pub(crate) struct PersonalSettings<'a> {
    /// Defaults, the user's file, the environment, flags.
    pub(crate) merged: &'a MergedSettings,
    /// The built-in models, with newer figures if the person has some.
    pub(crate) catalog: &'a Catalog,
    /// Every key that they name.
    pub(crate) keys: &'a [ApiKeySource],
    pub(crate) places: &'a ConfigPaths,
    pub(crate) lookup: &'a dyn Fn(&str) -> Option<String>,
}
