//! The cost of the model calls within one call at `/mcp`. Each model call counts from its beginning, by an
//! estimate of what its model reads, as in a session whose call a kill cuts off. Its bill replaces the
//! estimate. If the server is killed and the bill never comes, the estimate stays as the bill.
//!
//! One call may begin many model calls. One that would take the person beyond `quotas.daily_cost` does not
//! begin.

use std::collections::BTreeMap;

use agentx_types::{
    EffectBill, EffectEnded, EffectStarted, ModelSpec, NanoUsd, OwnerId, Timestamp, ToolCallId, Usage,
};
use serde_json::Value;

use crate::limits::size_limits::json_len;
use crate::quotas::QuotaGuard;
use crate::quotas::daily_cost::CallBudget;
use crate::quotas::dollars::too_dear_to_continue;
use crate::quotas::unlisted_costs::UnlistedCosts;

/// The beginning of the kinds of steps that call a model.
const MODEL_STEPS: &str = "generate";
/// The number of bytes of a request that count as a token.
const TOKEN_BYTES: u64 = 4;

/// The budget with which a call was admitted.
#[derive(Default)]
pub(crate) struct AdmittedCall {
    /// Counts the call as one without a bill, until the first bill comes.
    pub(crate) unbilled: Option<QuotaGuard>,
    /// `None` without a bound.
    pub(crate) budget: Option<CallBudget>,
}

/// A step without an end.
struct UnfinishedStep {
    estimate: NanoUsd,
    /// The reserve for costs beyond that.
    reserved: NanoUsd,
}

/// The costs of one call.
pub(crate) struct ClientCallCosts<'a> {
    costs: &'a UnlistedCosts,
    person: &'a OwnerId,
    /// The model of the agent, for steps that name none.
    model: &'a ModelSpec,
    /// Returns the model of a name, as the server knows it.
    named: &'a (dyn Fn(&str) -> Option<ModelSpec> + Send + Sync),
    open: BTreeMap<(ToolCallId, u64), UnfinishedStep>,
    admitted: AdmittedCall,
}

impl<'a> ClientCallCosts<'a> {
    /// Nothing has begun yet.
    pub(crate) fn new(
        costs: &'a UnlistedCosts,
        person: &'a OwnerId,
        model: &'a ModelSpec,
        named: &'a (dyn Fn(&str) -> Option<ModelSpec> + Send + Sync),
        admitted: AdmittedCall,
    ) -> Self {
        Self {
            costs,
            person,
            model,
            named,
            open: BTreeMap::new(),
            admitted,
        }
    }

    /// Counts a step that begins. Returns whether it calls a model: then the disk has to know soon.
    ///
    /// # Errors
    /// Returns the reason if the person has no money for it. Then it counts for nothing, and must not begin.
    pub(crate) fn begun(&mut self, step: &EffectStarted, now: Timestamp) -> Result<bool, String> {
        if !step.kind.starts_with(MODEL_STEPS) {
            return Ok(false);
        }
        let (estimate, at_most) = self.prices(step);
        let budget = self.admitted.budget;
        let reserved = budget.map(|budget| budget.reserved(estimate, at_most));
        let reserved = reserved.unwrap_or_default();
        let begun = self.costs.begin(self.person, now, budget, estimate, reserved);
        let most = budget.map(|budget| budget.most).unwrap_or_default();
        begun.map_err(|spent| too_dear_to_continue(spent, most))?;
        let open = UnfinishedStep { estimate, reserved };
        if let Some(before) = self.open.insert((step.tool_call_id.clone(), step.step), open) {
            self.costs.release(self.person, before.reserved);
        }
        Ok(true)
    }

    /// Returns the estimate of a step, and its cost with the longest answer of its model.
    fn prices(&self, step: &EffectStarted) -> (NanoUsd, NanoUsd) {
        let name = step.input.get("model").and_then(Value::as_str);
        let named = name.filter(|name| !name.is_empty()).and_then(self.named);
        let model = named.as_ref().unwrap_or(self.model);
        let reads = Usage {
            input_tokens: json_len(&step.input) / TOKEN_BYTES,
            ..Usage::default()
        };
        let writes = Usage {
            output_tokens: model.max_output_tokens,
            ..reads
        };
        (
            EffectBill::of(model, reads).cost,
            EffectBill::of(model, writes).cost,
        )
    }

    /// Counts the bill of a step that has ended, if it has one. Returns whether something was counted: then
    /// the disk has to know soon.
    pub(crate) fn ended(&mut self, step: &EffectEnded, now: Timestamp) -> bool {
        let open = self.open.remove(&(step.tool_call_id.clone(), step.step));
        let cost = step.bill.as_ref().map(|bill| bill.cost);
        let is_counted = open.is_some() || cost.is_some();
        self.admitted.unbilled = self.admitted.unbilled.take().filter(|_| cost.is_none());
        let (estimate, reserved) = open
            .map(|open| (open.estimate, open.reserved))
            .unwrap_or_default();
        let cost = cost.unwrap_or_default();
        self.costs.settle(self.person, now, estimate, cost);
        self.costs.release(self.person, reserved);
        is_counted
    }
}

impl Drop for ClientCallCosts<'_> {
    /// A model call that has not ended by now never gets a bill.
    fn drop(&mut self) {
        for open in std::mem::take(&mut self.open).into_values() {
            self.costs.keep_estimate(self.person, open.estimate);
            self.costs.release(self.person, open.reserved);
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
        let mut call = ClientCallCosts::new(&costs, &ada, &model, &named, AdmittedCall::default());
        let mut estimate = |number: u64, name: &str| {
            let before = costs.within_a_day(&ada, now).0;
            let started = EffectStarted {
                tool_call_id: ToolCallId::new("call_1"),
                step: number,
                kind: "generate".into(),
                input: json!({"model": name, "prompt": "x".repeat(400)}),
            };
            assert_eq!(call.begun(&started, now), Ok(true));
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
        let mut call = ClientCallCosts::new(&costs, &ada, &model, &none, AdmittedCall::default());
        let spent = || costs.within_a_day(&ada, now).0;
        for kind in ["generate", "generate_json", "generate_stream"] {
            let before = spent();
            let started = EffectStarted {
                tool_call_id: ToolCallId::new("call_1"),
                step: 1,
                kind: kind.into(),
                input: json!({"prompt": "x".repeat(400)}),
            };
            assert_eq!(call.begun(&started, now), Ok(true));
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
            assert!(call.ended(&ended, now), "the disk has to know");
            assert_eq!(spent(), before + 7, "{kind}");
        }
        let other = EffectStarted {
            tool_call_id: ToolCallId::new("call_1"),
            step: 2,
            kind: "http".into(),
            input: Value::Null,
        };
        assert_eq!(call.begun(&other, now), Ok(false));
        assert_eq!(spent(), 21);
    }

    /// Each of these calls looks at the same money at the same instant.
    #[test]
    fn of_model_calls_that_begin_at_once_only_those_begin_that_there_is_money_for() {
        const CALLS: usize = 8;
        let directory = tempfile::tempdir().unwrap();
        let costs = UnlistedCosts::read(directory.path());
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        let mut model = priced("m", 0);
        model.prices.output = 1_000;
        let none = |_: &str| None;
        for round in 0..200 {
            let start = std::sync::Barrier::new(CALLS);
            // An answer reserves a sixteenth at most, and there is money for four.
            let budget = CallBudget {
                most: NanoUsd(16_000),
                listed: NanoUsd(12_000),
            };
            let begins = |_: usize| {
                let admitted = AdmittedCall {
                    unbilled: None,
                    budget: Some(budget),
                };
                let mut call = ClientCallCosts::new(&costs, &ada, &model, &none, admitted);
                let step = EffectStarted {
                    tool_call_id: ToolCallId::new("call_1"),
                    step: 1,
                    kind: "generate".into(),
                    input: Value::Null,
                };
                start.wait();
                let begun = call.begun(&step, now).is_ok();
                start.wait();
                begun
            };
            let begun = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..CALLS)
                    .map(|number| scope.spawn(move || begins(number)))
                    .collect();
                let begun = threads.into_iter().map(|thread| thread.join().unwrap());
                begun.filter(|begun| *begun).count()
            });
            assert_eq!(begun, 4, "round {round}");
            assert_eq!(costs.reserved(&ada), NanoUsd(0));
        }
    }

    #[test]
    fn a_model_call_begins_only_if_there_is_money_beside_those_under_way() {
        let directory = tempfile::tempdir().unwrap();
        let costs = UnlistedCosts::read(directory.path());
        let (ada, now) = (OwnerId::new("own_ada"), Timestamp(5));
        let mut model = priced("m", 10);
        let none = |_: &str| None;
        let started = |number: u64| EffectStarted {
            tool_call_id: ToolCallId::new("call_1"),
            step: number,
            kind: "generate".into(),
            input: Value::Null,
        };
        let admitted = |most: u64, listed: u64| AdmittedCall {
            unbilled: None,
            budget: Some(CallBudget {
                most: NanoUsd(most),
                listed: NanoUsd(listed),
            }),
        };
        let begun = |model: &ModelSpec, most: u64, listed: u64| {
            let mut call = ClientCallCosts::new(&costs, &ada, model, &none, admitted(most, listed));
            (1..=60)
                .take_while(|number| call.begun(&started(*number), now).is_ok())
                .count()
        };
        // `null` has one token, and an answer at most 100. These have no price.
        model.prices.output = 0;
        assert_eq!(begun(&model, 1_000_000, 0), 60);
        costs.settle(&ada, now, NanoUsd(600), NanoUsd(0));
        // An answer may cost more than a sixteenth of the quota.
        model.prices.input = 0;
        model.prices.output = 1_000;
        assert_eq!(begun(&model, 16_000, 0), 16);
        assert_eq!(begun(&model, 16_000, 12_000), 4);
        assert_eq!(begun(&model, 16_000, 16_000), 0);
        // An answer costs at most a hundredth.
        assert_eq!(begun(&model, 10_000_000, 4_000_000), 60);
        // Calls of the same person share the budget.
        let mut other = ClientCallCosts::new(&costs, &ada, &model, &none, admitted(16_000, 0));
        for number in 1..=6 {
            assert_eq!(other.begun(&started(number), now), Ok(true));
        }
        assert_eq!(begun(&model, 16_000, 0), 10);
        drop(other);
        assert_eq!(costs.reserved(&ada), NanoUsd(0));
        // The next one alone costs more than there is.
        model.prices.input = 1_000;
        assert_eq!(begun(&model, 999, 0), 0);
    }
}
