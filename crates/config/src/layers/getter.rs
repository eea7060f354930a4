//! Reads the values of merged settings by their keys. Paths become absolute.

use std::path::{Path, PathBuf};

use agentx_llm::Secret;

use crate::api_key_source::ApiKeySource;
use crate::layers::MergedSettings;
use crate::layers::keys::SettingPath;
use crate::layers::value::{KeyReference, Value};
use crate::mistake::ConfigMistake;
use crate::origin::SettingOrigin;
use crate::paths::ConfigPaths;

/// Reads the values of merged settings by their keys.
pub(crate) struct SettingsGetter<'a> {
    pub(crate) merged: &'a MergedSettings,
    pub(crate) places: &'a ConfigPaths,
}

impl<'a> SettingsGetter<'a> {
    pub(crate) fn new(merged: &'a MergedSettings, places: &'a ConfigPaths) -> Self {
        Self { merged, places }
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.text_at(&SettingPath::dotted(key))
    }

    pub(crate) fn text_at(&self, path: &SettingPath) -> Option<String> {
        match self.merged.get(path) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }

    pub(crate) fn count(&self, key: &str) -> Option<u64> {
        self.count_at(&SettingPath::dotted(key))
    }

    pub(crate) fn count_at(&self, path: &SettingPath) -> Option<u64> {
        match self.merged.get(path) {
            Some(Value::Count(count)) => Some(*count),
            _ => None,
        }
    }

    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        self.number_at(&SettingPath::dotted(key))
    }

    pub(crate) fn number_at(&self, path: &SettingPath) -> Option<f64> {
        match self.merged.get(path) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn millis(&self, key: &str) -> Option<u64> {
        self.millis_at(&SettingPath::dotted(key))
    }

    pub(crate) fn millis_at(&self, path: &SettingPath) -> Option<u64> {
        match self.merged.get(path) {
            Some(Value::Millis(millis)) => Some(*millis),
            _ => None,
        }
    }

    /// A path, absolute.
    pub(crate) fn path_at(&self, path: &SettingPath) -> Option<PathBuf> {
        let written = self.text_at(path)?;
        let origin = self.merged.origin(path)?;
        Some(resolved(origin, &written, self.places))
    }

    /// A list of paths, absolute.
    pub(crate) fn paths_at(&self, path: &SettingPath) -> Vec<PathBuf> {
        let origin = self.merged.origin(path);
        let names = self.names(path).unwrap_or_default().into_iter();
        names
            .filter_map(|name| Some(resolved(origin?, &name, self.places)))
            .collect()
    }

    /// The directory that the agent works in.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.places.cwd.clone()
    }

    pub(crate) fn money(&self, path: &SettingPath) -> Option<agentx_types::NanoUsd> {
        match self.merged.get(path) {
            Some(Value::Money(money)) => Some(*money),
            _ => None,
        }
    }

    /// The key at a path, with the value of its variable.
    pub(crate) fn key_at(&self, path: &SettingPath, lookup: &dyn Fn(&str) -> Option<String>) -> ApiKeySource {
        match self.merged.get(path) {
            Some(Value::Key(KeyReference::Env(name))) => ApiKeySource::Env {
                name: name.clone(),
                value: lookup(name)
                    .filter(|value| !value.trim().is_empty())
                    .map(Secret::new),
            },
            Some(Value::Key(KeyReference::Literal(secret))) => ApiKeySource::Literal(secret.clone()),
            _ => ApiKeySource::None,
        }
    }

    pub(crate) fn names(&self, path: &SettingPath) -> Option<Vec<String>> {
        match self.merged.get(path) {
            Some(Value::Names(names)) => Some(names.clone()),
            _ => None,
        }
    }

    /// The names of a list; empty if it is not set.
    pub(crate) fn name_list(&self, key: &str) -> Vec<String> {
        self.names(&SettingPath::dotted(key)).unwrap_or_default()
    }
}

/// A path as a layer wrote it, absolute.
pub(crate) fn resolved(origin: &SettingOrigin, written: &str, places: &ConfigPaths) -> PathBuf {
    ConfigPaths::resolve(base_of(origin, places), written)
}

/// The base of a relative path: the directory of the file that has it, otherwise the working directory.
fn base_of<'a>(origin: &'a SettingOrigin, places: &'a ConfigPaths) -> &'a Path {
    match origin {
        SettingOrigin::User(place) | SettingOrigin::Workspace(place) => {
            place.file.parent().unwrap_or(&places.cwd)
        }
        _ => &places.cwd,
    }
}

/// A mistake about a key, at the place that set it.
pub(crate) fn mistake(
    origin: &SettingOrigin,
    key: &str,
    what: String,
    nearest: Option<String>,
) -> ConfigMistake {
    ConfigMistake::about(origin, key, what, nearest)
}
