//! The settings of memory: their values, and the choice of the stricter of two. Any folder may turn memory off, even
//! an untrusted one; only the person decides what is remembered about them.

use agentx_types::ContextSource;

use crate::folders::strictness;
use crate::layers::MergedSettings;
use crate::layers::keys::SettingPath;
use crate::layers::value::Value;
use crate::settings::getter::SettingsGetter;
use crate::settings::{MemoryAccept, MemorySettings};

const LOOSER: &str = "only your own settings may turn memory on or let it keep or use more";

/// The name of the source of context that gives memories.
const SOURCE: &str = "memory";
/// The maximum size of the memories for one run, in tokens, if the settings do not name another.
const MAX_TOKENS: u32 = 500;

impl MemorySettings {
    /// Returns the source of context of an agent; none while memory is off.
    pub(crate) fn context_sources(&self) -> Vec<ContextSource> {
        let source = ContextSource {
            name: SOURCE.into(),
            max_tokens: self.max_tokens,
        };
        self.enabled.then_some(source).into_iter().collect()
    }
}

/// The settings of all layers.
pub(crate) fn settings(get: &SettingsGetter<'_>) -> MemorySettings {
    let max_tokens = get.count("memory.max_tokens");
    MemorySettings {
        enabled: get.text("memory.enabled").as_deref() == Some("true"),
        accept: match get.text("memory.accept").as_deref() {
            Some("always") => MemoryAccept::Always,
            _ => MemoryAccept::Ask,
        },
        max_tokens: max_tokens.map_or(MAX_TOKENS, |tokens| u32::try_from(tokens).unwrap_or(u32::MAX)),
    }
}

/// Returns why a folder, trusted or not, may not set this; `None` if it may.
pub(crate) fn why_not(path: &SettingPath, value: &Value, own: &MergedSettings) -> Option<&'static str> {
    let why = why_never(path)?;
    (!strictness::is_stricter(path, value, own.get(path)?)).then_some(why)
}

/// Returns why trust in a folder does not cover a looser value of this key.
pub(crate) fn why_never(path: &SettingPath) -> Option<&'static str> {
    let is_of_memory = path.0.first().is_some_and(|first| first == "memory");
    is_of_memory.then_some(LOOSER)
}
