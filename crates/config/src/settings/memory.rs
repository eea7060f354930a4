//! The settings of memory: their values, and the choice of the stricter of two. Any folder may turn memory
//! off, even an untrusted one; only the person decides what is remembered about them.

use agentx_types::ContextSource;

use crate::layers::getter::SettingsGetter;
use crate::settings::{MemoryAccept, MemorySettings};

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
