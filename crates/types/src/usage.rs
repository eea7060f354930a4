//! Tokens and money. Money is counted in whole nano-dollars, so that sums are exact and equal everywhere.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens of one model call, as the provider counts them. The four kinds do not overlap; `reasoning` is part
/// of `output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Read at the full price.
    pub input_tokens: u64,
    /// Written by the model, reasoning included.
    pub output_tokens: u64,
    /// Read from the provider's cache.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cache_read_tokens: u64,
    /// Written into the provider's cache.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cache_write_tokens: u64,
    /// The part of the tokens written into the cache that the provider keeps for an hour instead of 5
    /// minutes.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cache_write_1h_tokens: u64,
    /// The part of the output that was reasoning.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub reasoning_tokens: u64,
    /// The number of these tokens that are estimated, because the answer was cut off or the server reports no
    /// usage.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub estimated_tokens: u64,
    /// The cost that the provider reports; 0 if it reports none. It counts if the model's prices are unknown.
    #[serde(default, skip_serializing_if = "NanoUsd::is_nothing")]
    pub reported_cost: NanoUsd,
    /// The number of these tokens whose price is not fully known, so that the cost is incomplete.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub unpriced_tokens: u64,
}

impl Usage {
    /// All tokens that the model read in this call.
    pub fn read_tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_write_tokens)
    }

    /// Returns whether any of these tokens are an estimate.
    pub fn is_estimated(&self) -> bool {
        self.estimated_tokens > 0
    }

    /// Returns whether the cost is incomplete, because the price of some of these tokens is unknown.
    pub fn is_unpriced(&self) -> bool {
        self.unpriced_tokens > 0
    }

    /// All tokens that filled the context window in this call.
    pub fn context_tokens(&self) -> u64 {
        self.read_tokens().saturating_add(self.output_tokens)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.cache_write_1h_tokens = self
            .cache_write_1h_tokens
            .saturating_add(other.cache_write_1h_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.estimated_tokens = self.estimated_tokens.saturating_add(other.estimated_tokens);
        self.reported_cost += other.reported_cost;
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
    }
}

/// Money: billionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct NanoUsd(pub u64);

impl NanoUsd {
    fn is_nothing(&self) -> bool {
        self.0 == 0
    }

    /// From dollars; negative and non-finite amounts become 0.
    pub fn from_usd(usd: f64) -> Self {
        Self((usd * 1e9).round() as u64)
    }

    /// In dollars, for people.
    pub fn as_usd(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl AddAssign for NanoUsd {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// Prices of a model in nano-dollars per token (dollars per million tokens × 1,000).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Prices {
    /// Per token read at the full price.
    pub input: u64,
    /// The price per token written.
    pub output: u64,
    /// Per token read from the cache.
    pub cache_read: u64,
    /// Per token written into the cache.
    pub cache_write: u64,
    /// Per token written into the cache for an hour; `None` means twice `input`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// The prices of a call that reads more than a number of tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrices>,
    /// Whether the model is known to cost nothing. Prices of 0 without this are unknown prices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
}

/// The prices of a call that reads a lot, in nano-dollars per token: some vendors charge more for every token
/// of such a call. A token that is written into the cache for an hour costs twice `input`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongPrices {
    /// A call is long that reads more tokens than this, those of the cache included.
    pub over_tokens: u64,
    /// Per token read at the full price.
    pub input: u64,
    /// The price per token written.
    pub output: u64,
    /// Per token read from the cache.
    pub cache_read: u64,
    /// Per token written into the cache.
    pub cache_write: u64,
}

impl Prices {
    /// Returns the price of a token that is written into the cache for an hour.
    ///
    /// ```
    /// use agentx_types::Prices;
    /// let prices = Prices { input: 3_000, ..Prices::default() };
    /// assert_eq!(prices.hour_write(), 6_000);
    /// ```
    pub fn hour_write(&self) -> u64 {
        self.cache_write_1h.unwrap_or(self.input.saturating_mul(2))
    }

    /// Returns whether the prices are unknown: then only the cost that the provider reports is counted.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the usage of a call, marked as unpriced if neither these prices nor the provider give its
    /// cost.
    pub fn marked(&self, usage: Usage) -> Usage {
        let is_unpriced = self.is_unknown() && usage.reported_cost == NanoUsd(0);
        Usage {
            unpriced_tokens: if is_unpriced {
                usage.context_tokens()
            } else {
                usage.unpriced_tokens
            },
            ..usage
        }
    }

    /// Returns the cost of one call with this usage: at these prices or as the provider reports it, whichever
    /// is more. A person's limit of costs must hold although a price has risen, and what a server reports
    /// makes no call cheaper. (Several calls are summed one by one: each has its own prices.)
    ///
    /// ```
    /// use agentx_types::{NanoUsd, Prices, Usage};
    /// let prices = Prices { input: 3_000, output: 15_000, ..Prices::default() };
    /// let mut usage = Usage { input_tokens: 1_000, output_tokens: 100, ..Usage::default() };
    /// assert_eq!(prices.cost(&usage), NanoUsd(4_500_000)); // 0.0045 dollars
    /// usage.reported_cost = NanoUsd(5_000_000);
    /// assert_eq!(prices.cost(&usage), NanoUsd(5_000_000));
    /// ```
    pub fn cost(&self, usage: &Usage) -> NanoUsd {
        self.listed_cost(usage).max(usage.reported_cost)
    }

    /// Returns the cost of one call with this usage at these prices, or, if there are none, as the provider
    /// reports it: the cost in sessions with rules before
    /// [`since::REPORTED_COSTS_COUNT`](crate::since::REPORTED_COSTS_COUNT).
    pub fn listed_cost(&self, usage: &Usage) -> NanoUsd {
        if self.is_unknown() {
            return usage.reported_cost;
        }
        let long = self.long.filter(|long| usage.read_tokens() > long.over_tokens);
        let [input, output, cache_read, cache_write] = match long {
            Some(long) => [long.input, long.output, long.cache_read, long.cache_write],
            None => [self.input, self.output, self.cache_read, self.cache_write],
        };
        let hour_write = long.map_or(self.hour_write(), |long| long.input.saturating_mul(2));
        let for_an_hour = usage.cache_write_1h_tokens.min(usage.cache_write_tokens);
        let parts = [
            (usage.input_tokens, input),
            (usage.output_tokens, output),
            (usage.cache_read_tokens, cache_read),
            (usage.cache_write_tokens - for_an_hour, cache_write),
            (for_an_hour, hour_write),
        ];
        NanoUsd(parts.iter().fold(0u64, |sum, (tokens, price)| {
            sum.saturating_add(tokens.saturating_mul(*price))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_for_an_hour_has_its_own_price() {
        let usage = Usage {
            input_tokens: 1,
            cache_write_tokens: 10,
            cache_write_1h_tokens: 4,
            ..Usage::default()
        };
        let mut prices = Prices {
            input: 100,
            cache_write: 125,
            ..Prices::default()
        };
        assert_eq!(
            prices.cost(&usage),
            NanoUsd(100 + 6 * 125 + 4 * 200),
            "twice the input"
        );
        prices.cache_write_1h = Some(300);
        assert_eq!(prices.cost(&usage), NanoUsd(100 + 6 * 125 + 4 * 300));
        prices.long = Some(LongPrices {
            over_tokens: 5,
            input: 1_000,
            cache_write: 1_250,
            ..LongPrices::default()
        });
        assert_eq!(prices.cost(&usage), NanoUsd(1_000 + 6 * 1_250 + 4 * 2_000));
        let claim = Usage {
            cache_write_1h_tokens: u64::MAX,
            ..usage
        };
        assert_eq!(
            prices.cost(&claim),
            NanoUsd(1_000 + 10 * 2_000),
            "at most those that were written"
        );
    }
}
