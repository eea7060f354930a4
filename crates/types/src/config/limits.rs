//! The limits of a run, and the stricter of two.

use serde::{Deserialize, Serialize};

use crate::NanoUsd;

/// The limits of a run. `None` is not a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limits {
    /// Maximum number of times in one run that the model is answered with tool results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Tokens in one run, read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Money in one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<NanoUsd>,
    /// Milliseconds from the start of a run to its end, without times in which no program was running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_wall_ms: Option<u64>,
}

impl Limits {
    /// The stricter limit of each pair.
    #[must_use]
    pub fn stricter_limits(self, other: Self) -> Self {
        Self {
            max_iterations: stricter_limit(self.max_iterations, other.max_iterations),
            max_tokens: stricter_limit(self.max_tokens, other.max_tokens),
            max_cost: stricter_limit(self.max_cost, other.max_cost),
            max_wall_ms: stricter_limit(self.max_wall_ms, other.max_wall_ms),
        }
    }
}

/// The smaller of two limits; `None` is not a limit.
pub fn stricter_limit<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
