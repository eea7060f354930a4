//! What model calls cost: the run's, and the agent's.
//!
//! Each call is paid once, where its usage is known: at the end of a stream, or when an attempt is set aside. Prices are those of
//! the model that was asked, in nano-dollars for each token; a model without prices costs nothing.

use agentx_types::{EffectBill, ModelFellBack, ModelSpec, NanoUsd, StateOutput, Usage};
use serde::{Deserialize, Serialize};

use super::{Course, Step};

/// What all runs have cost.
/// Of this agent and of all below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) usage: Usage,
    pub(crate) cost: NanoUsd,
    pub(crate) context_tokens: u64,
}

impl Course {
    /// A model call of this agent's own has cost `usage`, at the prices of the model that was asked (`otherwise` where that is
    /// not known). `false` where it cost nothing.
    pub(crate) fn pay(&mut self, usage: Usage, otherwise: &ModelSpec, step: &mut Step<'_>) -> bool {
        if usage == Usage::default() {
            return false;
        }
        let asked = self.run.as_ref().and_then(|run| run.pending.model.as_ref());
        let model = asked.unwrap_or(otherwise);
        let cost = model.prices.cost(&usage);
        let model = model.id.clone();
        self.share(usage, cost, step);
        self.totals.context_tokens = usage.context_tokens();
        step.state(StateOutput::Spent { model, usage, cost });
        true
    }

    /// The provider lets another model go on with the answer: that one is paid.
    pub(crate) fn fell_back(&mut self, fallback: &ModelFellBack) {
        let asked = self.run.as_mut().and_then(|run| run.pending.model.as_mut());
        let Some(model) = asked else { return };
        model.id.clone_from(&fallback.model);
        if let Some(prices) = &fallback.prices {
            model.prices = **prices;
        }
    }

    /// A tool of this agent has asked a model.
    pub(crate) fn pay_for_tool(&mut self, bill: &EffectBill, step: &mut Step<'_>) {
        self.share(bill.usage, bill.cost, step);
        step.state(StateOutput::Spent {
            model: bill.model.clone(),
            usage: bill.usage,
            cost: bill.cost,
        });
        if let Some(run) = self.active() {
            run.bill.model_calls += 1;
        }
    }

    /// What was spent for this agent counts as its own: its tools' and its children's too. What children spend when its run is
    /// over is on no bill, but counts against the limits of that run.
    pub(crate) fn share(&mut self, usage: Usage, cost: NanoUsd, step: &mut Step<'_>) {
        self.totals.usage += usage;
        self.totals.cost += cost;
        step.spend(usage, cost);
        let Some(run) = &mut self.run else { return };
        let bill = if run.status.is_final() {
            &mut run.beside
        } else {
            &mut run.bill
        };
        bill.usage += usage;
        bill.cost += cost;
    }
}
