//! The amounts that people add to the limits of one run, when it has reached them and asks.
//!
//! They belong to the run: the limits of the configuration stay as they are, and so the next run has the
//! usual ones. All sums saturate.

use agentx_types::{Limits, NanoUsd};
use serde::{Deserialize, Serialize};

use super::RunSpending;

/// The amounts that people added to the limits of a run; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LimitRaise {
    /// Rounds of tools.
    iterations: u32,
    /// Tokens, read and written.
    tokens: u64,
    /// Money.
    cost: NanoUsd,
}

impl LimitRaise {
    /// The limits of the run, if those `set` in the configuration are its others. A limit that is not set
    /// stays so.
    pub(crate) fn raise_limits(self, set: Limits) -> Limits {
        Limits {
            max_iterations: set.max_iterations.map(|max| max.saturating_add(self.iterations)),
            max_tokens: set.max_tokens.map(|max| max.saturating_add(self.tokens)),
            max_cost: set.max_cost.map(|max| NanoUsd(max.0.saturating_add(self.cost.0))),
            max_wall_ms: set.max_wall_ms,
        }
    }

    /// Raises the limit with this code so that `amount` of it is left after what the run `spent`: rounds,
    /// tokens or billionths of a dollar.
    pub(crate) fn leave(&mut self, code: &str, amount: u64, set: &Limits, spent: &RunSpending) {
        match code {
            "iteration_limit" => {
                let rounds = u32::try_from(amount).unwrap_or(u32::MAX);
                let wanted = spent.iterations.saturating_add(rounds);
                self.iterations = wanted.saturating_sub(set.max_iterations.unwrap_or(0));
            }
            "token_limit" => {
                let wanted = spent.usage.context_tokens().saturating_add(amount);
                self.tokens = wanted.saturating_sub(set.max_tokens.unwrap_or(0));
            }
            _ => {
                let wanted = spent.cost.0.saturating_add(amount);
                self.cost = NanoUsd(wanted.saturating_sub(set.max_cost.unwrap_or_default().0));
            }
        }
    }

    /// The amounts for a run that continues this one. Its rounds are counted anew.
    pub(crate) fn without_iterations(self) -> Self {
        Self {
            iterations: 0,
            ..self
        }
    }
}
