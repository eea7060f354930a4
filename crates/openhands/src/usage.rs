//! Tokens and cost. Logs have running totals (`accumulated_cost`, `accumulated_token_usage`), so an answer
//! gets the difference from the previous totals.

use std::collections::BTreeMap;

use agentx_types::{NanoUsd, Usage};
use serde_json::{Value, json};

use crate::json;

/// The latest totals of each meter of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Meters {
    read: BTreeMap<String, MeterTotals>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct MeterTotals {
    cost: f64,
    prompt: u64,
    completion: u64,
    cache_read: u64,
    cache_write: u64,
    reasoning: u64,
}

impl Meters {
    /// Returns the usage since the last reading of this meter; `None` if there was none.
    pub(crate) fn since_last(&mut self, meter: &str, metrics: &Value) -> Option<Usage> {
        let tokens = &metrics["accumulated_token_usage"];
        let now = MeterTotals {
            cost: metrics["accumulated_cost"].as_f64().unwrap_or_default(),
            prompt: json::count(tokens, "prompt_tokens"),
            completion: json::count(tokens, "completion_tokens"),
            cache_read: json::count(tokens, "cache_read_tokens"),
            cache_write: json::count(tokens, "cache_write_tokens"),
            reasoning: json::count(tokens, "reasoning_tokens"),
        };
        let last = self.read.insert(meter.to_owned(), now).unwrap_or_default();
        let [cache_read, cache_write] = [
            now.cache_read.saturating_sub(last.cache_read),
            now.cache_write.saturating_sub(last.cache_write),
        ];
        let prompt = now.prompt.saturating_sub(last.prompt);
        let usage = Usage {
            // The prompt's tokens include those of the cache.
            input_tokens: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output_tokens: now.completion.saturating_sub(last.completion),
            cache_read_tokens: cache_read,
            cache_write_tokens: cache_write,
            reasoning_tokens: now.reasoning.saturating_sub(last.reasoning),
            reported_cost: NanoUsd::from_usd(now.cost - last.cost),
            ..Usage::default()
        };
        (usage != Usage::default()).then_some(usage)
    }
}

/// Returns the usage of each answer by its id, as the state of a V1 conversation lists it.
pub(crate) fn of_answers(stats: &Value) -> BTreeMap<String, Usage> {
    let mut found = BTreeMap::new();
    for metrics in stats["usage_to_metrics"]
        .as_object()
        .into_iter()
        .flat_map(|meters| meters.values())
    {
        let (usages, costs) = (json::list(metrics, "token_usages"), json::list(metrics, "costs"));
        for (index, tokens) in usages.iter().enumerate() {
            // Each usage has its own cost, unless some calls had no price.
            let cost = costs.get(index).filter(|_| costs.len() == usages.len());
            let cost = cost
                .and_then(|cost| cost.get("cost")?.as_f64())
                .unwrap_or_default();
            let metrics = json!({ "accumulated_token_usage": tokens, "accumulated_cost": cost });
            let used = Meters::default().since_last("", &metrics);
            if let (Some(used), Some(id)) = (used, json::id(tokens, "response_id")) {
                found.insert(id, used);
            }
        }
    }
    found
}

/// Reads the usage that a provider reports in its response.
pub(crate) fn of_response(usage: &Value) -> Option<Usage> {
    if !usage.is_object() {
        return None;
    }
    let details = &usage["prompt_tokens_details"];
    let cache_read = json::count(details, "cached_tokens").max(json::count(usage, "cache_read_input_tokens"));
    let cache_write = json::count(usage, "cache_creation_input_tokens");
    let prompt = json::count(usage, "prompt_tokens");
    Some(Usage {
        input_tokens: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
        output_tokens: json::count(usage, "completion_tokens"),
        cache_read_tokens: cache_read,
        cache_write_tokens: cache_write,
        reasoning_tokens: json::count(&usage["completion_tokens_details"], "reasoning_tokens"),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gets_what_was_added_to_the_totals() {
        let mut meters = Meters::default();
        let metrics = |cost: f64, prompt: u64, cached: u64, completion: u64| {
            json!({"accumulated_cost": cost, "accumulated_token_usage":
                {"prompt_tokens": prompt, "completion_tokens": completion, "cache_read_tokens": cached}})
        };
        let first = meters.since_last("default", &metrics(0.01, 100, 20, 7)).unwrap();
        assert_eq!(
            (first.input_tokens, first.cache_read_tokens, first.output_tokens),
            (80, 20, 7)
        );
        assert_eq!(first.reported_cost, NanoUsd(10_000_000));
        let second = meters.since_last("default", &metrics(0.03, 250, 120, 9)).unwrap();
        assert_eq!(
            (
                second.input_tokens,
                second.cache_read_tokens,
                second.output_tokens
            ),
            (50, 100, 2)
        );
        assert_eq!(second.reported_cost, NanoUsd(20_000_000));
        assert_eq!(meters.since_last("default", &metrics(0.03, 250, 120, 9)), None);
        assert_eq!(
            meters.since_last("other", &json!({"accumulated_cost": "much"})),
            None
        );
    }
}
