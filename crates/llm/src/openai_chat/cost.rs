//! Reads the cost of a call that a gateway reports. OpenRouter reports dollars in `usage.cost` with every
//! answer; with a person's own key of a vendor (`is_byok`), that is its fee, and the vendor's charge is in
//! `cost_details.upstream_inference_cost` (<https://openrouter.ai/docs/use-cases/usage-accounting>).
//! Perplexity has an object with `total_cost` (its schema:
//! <https://github.com/api-evangelist/perplexity/blob/main/json-schema/perplexity-cost-schema.json>).
//! xAI counts in ticks, of which a dollar has 10,000,000,000 (<https://docs.x.ai/developers/cost-tracking>).

use agentx_types::NanoUsd;

use super::wire::UsageWire;

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
