//! The request options of models of the Messages API.

use serde::{Deserialize, Serialize};

/// Options of a model of this API, which the catalog or a person's configuration sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnthropicOptions {
    /// The way to request reasoning. The default is [`ThinkingMode::Budget`].
    pub thinking: ThinkingMode,
    /// Whether the model accepts a temperature. The default is `true`.
    pub temperature: bool,
    /// Whether requests mark the ends of the parts that the provider may cache (`cache_control`). The default
    /// is `true`.
    pub cache: bool,
    /// The time for which the provider keeps a marked part after its last use. The default is
    /// [`CacheTtl::FiveMinutes`].
    #[serde(skip_serializing_if = "CacheTtl::is_usual")]
    pub cache_ttl: CacheTtl,
    /// Whether the model reasons without being asked. Its reasoning, and its text between tool calls, come as
    /// empty blocks unless the request asks for the text. The default is `false`.
    pub thinks_by_default: bool,
    /// Whether the model refuses its own thinking once anything before it has changed. The request then asks
    /// it to drop that thinking instead. The default is `false`.
    pub binds_thinking: bool,
    /// Whether the model wants its thinking back although it is not signed, and an empty block with answers
    /// that have none, as DeepSeek and Moonshot do at their servers of this API. The default is `false`.
    pub unsigned_thinking: bool,
}

impl Default for AnthropicOptions {
    fn default() -> Self {
        Self {
            thinking: ThinkingMode::Budget,
            temperature: true,
            cache: true,
            cache_ttl: CacheTtl::FiveMinutes,
            thinks_by_default: false,
            binds_thinking: false,
            unsigned_thinking: false,
        }
    }
}

/// The time after its last use for which a provider keeps the beginning of a request in its cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheTtl {
    /// 5 minutes; writing costs a quarter more than reading without a cache.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour; writing costs twice as much as reading without a cache.
    #[serde(rename = "1h")]
    Hour,
}

impl CacheTtl {
    fn is_usual(&self) -> bool {
        *self == Self::FiveMinutes
    }
}

/// The way to request reasoning from a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingMode {
    /// The request names a budget of tokens. Models up to 4.6 take one.
    #[default]
    Budget,
    /// The model decides how much it thinks; the requested number of tokens becomes an effort. Models from
    /// 4.6 on take it, and models from 4.7 on take nothing else.
    Adaptive,
    /// The model cannot reason, so the request has no setting for it.
    None,
}
