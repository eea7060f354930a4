//! Assembles settings from layers, with the layer of a workspace in the middle. A workspace with invalid
//! values is left out, so that the user can work all the same.

use std::path::Path;

use agentx_llm::Catalog;

use crate::layers::MergedSettings;
use crate::layers::read::SettingsLayer;
use crate::loading::assemble;
use crate::mistake::ConfigMistake;
use crate::paths::ConfigPaths;
use crate::settings::Settings;

/// The layers around that of a workspace, and the context for assembling settings.
pub(crate) struct SettingsLayers<'a> {
    /// Defaults and the person's file.
    pub(crate) below: &'a MergedSettings,
    /// The environment and the command line.
    pub(crate) above: [SettingsLayer; 2],
    pub(crate) catalog: Catalog,
    pub(crate) places: &'a ConfigPaths,
    pub(crate) trust_dir: &'a Path,
    pub(crate) lookup: &'a dyn Fn(&str) -> Option<String>,
}

/// Assembled settings and their mistakes.
pub(crate) struct AssembledSettings {
    pub(crate) merged: MergedSettings,
    pub(crate) settings: Settings,
    pub(crate) mistakes: Vec<ConfigMistake>,
}

impl SettingsLayers<'_> {
    /// Returns the settings with this layer of a workspace.
    fn with(&self, workspace: SettingsLayer) -> AssembledSettings {
        let mut merged = self.below.clone();
        let [environment, flags] = self.above.clone();
        for layer in [workspace, environment, flags] {
            merged.lay(layer);
        }
        let mut mistakes = Vec::new();
        let dirs = (self.places, self.trust_dir);
        let settings = assemble::settings(self.catalog.clone(), &merged, dirs, self.lookup, &mut mistakes);
        AssembledSettings {
            merged,
            settings,
            mistakes,
        }
    }

    /// Returns the settings with this layer of a workspace, or without it if its values are invalid: then the
    /// layer is emptied, and `of_workspace` gets its mistakes. Mistakes that remain without the layer are the
    /// person's. The layer stays if the person accepted it as it is (`is_accepted`): then its mistakes are
    /// theirs.
    pub(crate) fn with_sound(
        &self,
        workspace: &mut SettingsLayer,
        is_accepted: bool,
        of_workspace: &mut Vec<ConfigMistake>,
    ) -> AssembledSettings {
        let with = self.with(workspace.clone());
        if with.mistakes.is_empty() || is_accepted {
            return with;
        }
        let without = self.with(SettingsLayer::default());
        let its = with.mistakes.into_iter();
        of_workspace.extend(its.filter(|mistake| !without.mistakes.contains(mistake)));
        *workspace = SettingsLayer::default();
        without
    }
}
