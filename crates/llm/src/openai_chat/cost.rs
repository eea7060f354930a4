//! Reads the cost of a call that a gateway reports. OpenRouter reports dollars in `usage.cost` with every
//! answer; with a person's own key of a vendor (`is_byok`), that is its fee, and the vendor's charge is in
//! `cost_details.upstream_inference_cost` (<https://openrouter.ai/docs/use-cases/usage-accounting>).
//! Perplexity has an object with `total_cost` (its schema:
//! <https://github.com/api-evangelist/perplexity/blob/main/json-schema/perplexity-cost-schema.json>).
//! xAI counts in ticks, of which a dollar has 10,000,000,000 (<https://docs.x.ai/developers/cost-tracking>).

use agentx_types::NanoUsd;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::wire::UsageWire;

/// Maximum plausible cost of a call in dollars; a larger amount is not a cost.
const MOST: f64 = 1e6;

/// An amount: a number, or an object that has one. `None` for anything else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dollars(NanoUsd);

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let amount = ["total_cost", "upstream_inference_cost"]
            .iter()
            .find_map(|key| value.get(key))
            .unwrap_or(&value);
        let dollars = amount.as_f64().filter(|dollars| (0.0..MOST).contains(dollars));
        Ok(Self(NanoUsd((dollars.unwrap_or_default() * 1e9).round() as u64)))
    }
}

/// An amount in ticks of xAI. `None` if the number is implausible.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ticks(NanoUsd);

/// The ticks in a nanodollar.
const TICKS_PER_NANO_USD: f64 = 10.0;

impl<'de> Deserialize<'de> for Ticks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ticks = Value::deserialize(deserializer)?.as_f64().unwrap_or_default();
        let nano = ticks / TICKS_PER_NANO_USD;
        let plausible = (0.0..MOST * 1e9).contains(&nano);
        Ok(Self(NanoUsd(if plausible { nano.round() as u64 } else { 0 })))
    }
}

/// A yes; anything but `true` is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LenientFlag(bool);

impl<'de> Deserialize<'de> for LenientFlag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Value::deserialize(deserializer)? == Value::Bool(true)))
    }
}

/// Returns the cost of the call that the server reports.
pub(super) fn reported(wire: &UsageWire) -> NanoUsd {
    if let Some(ticks) = wire.cost_in_usd_ticks {
        return ticks.0;
    }
    let mut cost = wire.cost.unwrap_or_default().0;
    if wire.is_byok.unwrap_or_default().0 {
        cost += wire.cost_details.unwrap_or_default().0;
    }
    cost
}
