//! Profiles: other defaults for another kind of agent. They are below all layers, so every layer overrides
//! them.

use crate::layers::MergedSettings;
use crate::layers::keys::SettingPath;
use crate::layers::value::{Value, from_words};
use crate::origin::{SettingOrigin, Sourced};

/// The defaults of a personal agent, by their keys.
const PERSONAL: &[(&str, &str)] = &[
    ("limits.max_iterations", "5"),
    ("context.modules", "persona, system, tools, moment"),
    ("context.history_context_size", "20"),
];

impl MergedSettings {
    /// Returns the settings with the defaults of the chosen profile where no layer sets another value.
    pub(crate) fn with_profile_defaults(mut self) -> Self {
        let profile = self.get(&SettingPath::dotted("profile"));
        if profile != Some(&Value::Text("personal".to_owned())) {
            return self;
        }
        for (key, words) in PERSONAL {
            let path = SettingPath::dotted(key);
            let is_set = self
                .origin(&path)
                .is_some_and(|origin| *origin != SettingOrigin::Default);
            let value = path.spec().and_then(|spec| from_words(spec.kind, words).ok());
            if let Some(value) = value.filter(|_| !is_set) {
                self.set(path, Sourced::new(value, SettingOrigin::Default));
            }
        }
        self
    }
}
