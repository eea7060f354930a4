//! The settings of the contexts that services build before each run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentx_types::ContextSource;
use jiff::tz::TimeZone;

use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::keys::SettingPath;
use crate::mistake::ConfigMistake;
use crate::origin::SettingOrigin;

/// The module whose text takes the place of the built-in system prompt.
const PERSONA: &str = "persona";
/// The modules with a text, which a file may replace.
const WITH_TEXT: [&str; 3] = [PERSONA, "system", "tools"];
/// The maximum size of the context of a module, in tokens.
const MAX_TOKENS: u32 = 8_000;

/// The contexts that services build before each run of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSettings {
    /// The names of the contexts, in the order in which the model gets them.
    pub modules: Vec<String>,
    /// Files with the texts of modules, absolute.
    pub files: BTreeMap<String, PathBuf>,
    /// The time zone of persons who chose none; `None` for that of the machine.
    pub time_zone: Option<String>,
    /// The number of earlier messages that a request has; `None` for as many as fit.
    pub history_context_size: Option<u32>,
}

impl ContextSettings {
    /// The sources of an agent, each once.
    pub(crate) fn sources(&self) -> Vec<ContextSource> {
        let mut sources: Vec<ContextSource> = Vec::new();
        for name in &self.modules {
            if sources.iter().all(|source| source.name != *name) {
                sources.push(ContextSource {
                    name: name.clone(),
                    max_tokens: MAX_TOKENS,
                });
            }
        }
        sources
    }

    /// Returns whether a service says who the agent is.
    pub(crate) fn has_persona(&self) -> bool {
        self.modules.iter().any(|name| name == PERSONA)
    }
}

/// The settings of all layers.
pub(crate) fn settings(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) -> ContextSettings {
    let file = |name: &str| {
        let path = SettingPath::dotted("context").child(&format!("{name}_file"));
        Some((name.to_owned(), get.path_at(&path)?))
    };
    let size = get.count("context.history_context_size");
    ContextSettings {
        modules: get.name_list("context.modules"),
        files: WITH_TEXT.into_iter().filter_map(file).collect(),
        time_zone: time_zone(get, mistakes),
        history_context_size: size.map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
    }
}

/// The time zone, if it exists.
fn time_zone(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) -> Option<String> {
    const KEY: &str = "context.time_zone";
    let name = get.text(KEY)?;
    if TimeZone::get(&name).is_ok() {
        return Some(name);
    }
    let origin = get.merged.origin(&SettingPath::dotted(KEY));
    let what = format!("there is no time zone {name:?}; use a name such as Europe/Berlin");
    mistakes.push(mistake(
        origin.unwrap_or(&SettingOrigin::Default),
        KEY,
        what,
        None,
    ));
    None
}
