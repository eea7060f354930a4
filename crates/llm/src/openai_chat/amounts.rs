//! Amounts of money as gateways write them: dollars, ticks, and the flag beside them. Values that are not an
//! amount are ignored.

use agentx_types::NanoUsd;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Maximum plausible cost of a call in dollars; a larger amount is not a cost.
const MOST: f64 = 1e6;

/// An amount: a number, or an object that has one. `None` for anything else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dollars(pub(super) NanoUsd);

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
pub(super) struct Ticks(pub(super) NanoUsd);

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
pub(super) struct LenientFlag(pub(super) bool);

impl<'de> Deserialize<'de> for LenientFlag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Value::deserialize(deserializer)? == Value::Bool(true)))
    }
}
