//! The cost of the model calls within one call at `/mcp`. Each model call counts from its beginning, by an estimate
//! of what its model reads, as in a session whose call a kill cuts off. Its bill replaces the estimate. If the server
//! is killed and the bill never comes, the estimate stays as the bill.

use std::collections::BTreeMap;

use agentx_types::{
    EffectBill, EffectEnded, EffectStarted, ModelSpec, NanoUsd, OwnerId, Timestamp, ToolCallId, Usage,
};
use serde_json::Value;

use crate::limits::size_limits::json_len;
use crate::quotas::QuotaGuard;
use crate::quotas::unlisted_costs::UnlistedCosts;

/// The beginning of the kinds of steps that call a model.
const MODEL_STEPS: &str = "generate";
/// The number of bytes of a request that count as a token.
const TOKEN_BYTES: u64 = 4;

/// The costs of one call.
pub(crate) struct ClientCallCosts<'a> {
    costs: &'a UnlistedCosts,
    person: &'a OwnerId,
    /// The model of the agent, for steps that name none.
    model: &'a ModelSpec,
    /// Returns the model of a name, as the server knows it.
    named: &'a (dyn Fn(&str) -> Option<ModelSpec> + Send + Sync),
    /// The estimates of the steps that have no end yet.
    open: BTreeMap<(ToolCallId, u64), NanoUsd>,
    /// Counts the call as one without a bill.
    unbilled: Option<QuotaGuard>,
}

impl<'a> ClientCallCosts<'a> {
    /// `unbilled` is kept until the first bill comes.
    pub(crate) fn new(
        costs: &'a UnlistedCosts,
        person: &'a OwnerId,
        model: &'a ModelSpec,
        named: &'a (dyn Fn(&str) -> Option<ModelSpec> + Send + Sync),
        unbilled: Option<QuotaGuard>,
    ) -> Self {
        Self {
            costs,
            person,
            model,
            named,
            open: BTreeMap::new(),
            unbilled,
        }
    }

    /// Counts a step that begins. Returns whether it calls a model: then the disk has to know soon.
    pub(crate) fn begun(&mut self, step: &EffectStarted, now: Timestamp) -> bool {
        if !step.kind.starts_with(MODEL_STEPS) {
            return false;
        }
        let usage = Usage {
            input_tokens: json_len(&step.input) / TOKEN_BYTES,
            ..Usage::default()
        };
        let name = step.input.get("model").and_then(Value::as_str);
        let named = name.filter(|name| !name.is_empty()).and_then(self.named);
        let estimate = EffectBill::of(named.as_ref().unwrap_or(self.model), usage).cost;
        self.costs.estimate(self.person, now, estimate);
        self.open.insert((step.tool_call_id.clone(), step.step), estimate);
        true
    }

    /// Counts the bill of a step that has ended, if it has one.
    pub(crate) fn ended(&mut self, step: &EffectEnded, now: Timestamp) {
        let estimate = self.open.remove(&(step.tool_call_id.clone(), step.step));
        let cost = step.bill.as_ref().map(|bill| bill.cost);
        self.unbilled = self.unbilled.take().filter(|_| cost.is_none());
        let (estimate, cost) = (estimate.unwrap_or_default(), cost.unwrap_or_default());
        self.costs.settle(self.person, now, estimate, cost);
    }
}

impl Drop for ClientCallCosts<'_> {
    /// What has no end by now never gets a bill.
    fn drop(&mut self) {
        for estimate in std::mem::take(&mut self.open).into_values() {
            self.costs.keep_estimate(self.person, estimate);
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::EffectOutcome;
    use serde_json::json;

    use super::*;

    fn priced(id: &str, input: u64) -> ModelSpec {
        let mut model: ModelSpec = serde_json::from_value(json!({
            "id": id, "provider": "mine", "api": "openai-chat", "context_window": 1000, "max_output_tokens": 100,
        }))
        .unwrap();
        model.prices.input = input;
        model
    }

    #[test]
    fn the_model_that_a_step_names_has_its_own_price() {
        let directory = tempfile::tempdir().unwrap();
        let costs = UnlistedCosts::read(directory.path());
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        let model = priced("m", 10);
        let named = |name: &str| (name == "dear").then(|| priced("dear", 1_000));
        let mut call = ClientCallCosts::new(&costs, &ada, &model, &named, None);
        let mut estimate = |number: u64, name: &str| {
            let before = costs.within_a_day(&ada, now).0;
            let started = EffectStarted {
                tool_call_id: ToolCallId::new("call_1"),
                step: number,
                kind: "generate".into(),
                input: json!({"model": name, "prompt": "x".repeat(400)}),
            };
            assert!(call.begun(&started, now));
            costs.within_a_day(&ada, now).0 - before
        };
        assert!((100_000..120_000).contains(&estimate(1, "dear")));
        for (number, name) in [(2, ""), (3, "unknown")] {
            assert!((1_000..1_200).contains(&estimate(number, name)), "{name}");
        }
        let (spent, estimated) = costs.spent(&ada, now);
        assert_eq!(spent, estimated, "nothing is on a bill");
        drop(call);
        let never_billed = (spent, NanoUsd(0));
        assert_eq!(costs.spent(&ada, now), never_billed);
    }

    #[test]
    fn every_kind_of_model_call_counts_before_and_after_its_bill() {
        let directory = tempfile::tempdir().unwrap();
        let costs = UnlistedCosts::read(directory.path());
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        let model = priced("m", 10);
        let none = |_: &str| None;
        let mut call = ClientCallCosts::new(&costs, &ada, &model, &none, None);
        let spent = || costs.within_a_day(&ada, now).0;
        for kind in ["generate", "generate_json", "generate_stream"] {
            let before = spent();
            let started = EffectStarted {
                tool_call_id: ToolCallId::new("call_1"),
                step: 1,
                kind: kind.into(),
                input: json!({"prompt": "x".repeat(400)}),
            };
            assert!(call.begun(&started, now));
            assert!((before + 1_000..before + 1_100).contains(&spent()), "{kind}");
            let bill = EffectBill {
                model: "m".into(),
                usage: Usage::default(),
                cost: NanoUsd(7),
            };
            let ended = EffectEnded {
                tool_call_id: ToolCallId::new("call_1"),
                step: 1,
                kind: kind.into(),
                input: None,
                outcome: Box::new(EffectOutcome::Done(Value::Null)),
                bill: Some(Box::new(bill)),
                details: None,
            };
            call.ended(&ended, now);
            assert_eq!(spent(), before + 7, "{kind}");
        }
        let other = EffectStarted {
            tool_call_id: ToolCallId::new("call_1"),
            step: 2,
            kind: "http".into(),
            input: Value::Null,
        };
        assert!(!call.begun(&other, now));
        assert_eq!(spent(), 21);
    }
}
