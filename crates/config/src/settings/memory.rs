//! The settings of memory: their values, and the choice of the stricter of two. Any folder may turn memory
//! off, even an untrusted one; only the person decides what is remembered about them.

use agentx_types::{ContextSource, LearningSettings, MAX_LEARNED_INPUTS};

use crate::layers::getter::SettingsGetter;
use crate::settings::{MemoryAccept, MemorySettings};

/// The name of the source of context that gives memories.
const SOURCE: &str = "memory";
/// The maximum size of the memories for one run, in tokens, if the settings do not name another.
const MAX_TOKENS: u32 = 500;
/// The number of inputs after which a model is asked what to remember, if the settings do not name another.
const THRESHOLD_TURNS: u32 = 20;
/// The number of inputs after which it also reflects, if the settings do not name another.
const REFLECT_TURNS: u32 = 60;

impl MemorySettings {
    /// Returns the source of context of an agent; none while memory is off.
    pub(crate) fn context_sources(&self) -> Vec<ContextSource> {
        let source = ContextSource {
            name: SOURCE.into(),
            max_tokens: self.max_tokens,
        };
        self.enabled.then_some(source).into_iter().collect()
    }

    /// Returns the times at which an agent has memories proposed; `None` while memory is off, or if it never
    /// does.
    pub(crate) fn learning(&self) -> Option<LearningSettings> {
        let LearningSettings {
            threshold_turns,
            reflect_turns,
        } = self.learning;
        (self.enabled && (threshold_turns > 0 || reflect_turns > 0)).then_some(self.learning)
    }
}

/// The settings of all layers.
pub(crate) fn settings(get: &SettingsGetter<'_>) -> MemorySettings {
    let max_tokens = get.count("memory.max_tokens");
    let most = u32::try_from(MAX_LEARNED_INPUTS).unwrap_or(u32::MAX);
    let turns = |key: &str, default: u32| {
        let count = get.count(key);
        count.map_or(default, |count| u32::try_from(count).unwrap_or(most).min(most))
    };
    MemorySettings {
        enabled: get.text("memory.enabled").as_deref() == Some("true"),
        accept: match get.text("memory.accept").as_deref() {
            Some("always") => MemoryAccept::Always,
            _ => MemoryAccept::Ask,
        },
        max_tokens: max_tokens.map_or(MAX_TOKENS, |tokens| u32::try_from(tokens).unwrap_or(u32::MAX)),
        learning: LearningSettings {
            threshold_turns: turns("memory.learning.threshold_turns", THRESHOLD_TURNS),
            reflect_turns: turns("memory.learning.reflect_turns", REFLECT_TURNS),
        },
    }
}
