//! The cost of model calls: the run's bill, and the agent's totals.
//!
//! Each call is paid once, if its usage is known: at the end of a stream, or when an attempt is set aside.
//! Prices are those of the model that was asked, in nano-dollars for each token; a model without prices costs
//! nothing.
//!
//! An agent below reports its spending (`spent`), and the agent above adds it to its own, level by level: so
//! the totals of an agent contain all spending below it, and a limit applies to an agent together with its
//! children.

use agentx_types::{
    AgentConfig, Api, EffectBill, ModelFellBack, NanoUsd, StateOutput, Usage, UsageReport, since,
};
use serde::{Deserialize, Serialize};

use super::{Run, RunCost, RunLifecycle, RunStep};
use crate::limits::RunSpending;
use crate::token_estimate::estimate_message;

/// The cost of all runs of this agent, and of all agents below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Money of all model calls, in nano-dollars.
    pub cost: NanoUsd,
    /// The number of tokens that the agent's last own call filled the window with; summaries change it too.
    pub context_tokens: u64,
}

impl RunLifecycle {
    /// Pays a model call of this agent: `usage` at the prices of the called model, or of the configured one
    /// if no run knows it.
    ///
    /// `false` if the call cost nothing; then nothing is reported. From version 9 of the rules on, tokens
    /// without a known price are marked; a scripted model costs nothing.
    pub(crate) fn pay(&mut self, usage: Usage, config: &AgentConfig, step: &mut RunStep<'_>) -> bool {
        if usage == Usage::default() {
            return false;
        }
        let asked = self.run.as_ref().and_then(|run| run.pending.model.as_ref());
        let model = asked.unwrap_or(&config.model);
        let is_marked = config.rules_version >= since::UNPRICED_IS_COUNTED && model.api != Api::Scripted;
        let usage = if is_marked {
            model.prices.marked(usage)
        } else {
            usage
        };
        let cost = if config.rules_version >= since::REPORTED_COSTS_COUNT {
            model.prices.cost(&usage)
        } else {
            model.prices.listed_cost(&usage)
        };
        let model = if config.rules_version >= since::BOOKS_NAME_PROVIDERS {
            model.booked_as()
        } else {
            model.id.clone()
        };
        self.share(usage, cost, step);
        self.totals.context_tokens = usage.context_tokens();
        step.state(StateOutput::Spent { model, usage, cost });
        true
    }

    /// Estimates the usage of the answer that was in progress when the program died, if its provider had not
    /// reported it: `request` was read, and the arrived text was written. Vendors bill both. From version 9
    /// of the rules on.
    pub(crate) fn estimate_dead_answer(&mut self, request: u64, config: &AgentConfig) {
        if config.rules_version < since::DEAD_ANSWERS_ARE_ESTIMATED || !self.assembler.is_open() {
            return;
        }
        let mut usage = self.assembler.usage();
        if usage.read_tokens() == 0 {
            usage.input_tokens = request;
            usage.estimated_tokens = usage.estimated_tokens.saturating_add(request);
        }
        let message = self.assembler.clone().finish_verbatim().message;
        let written = message.map_or(0, |message| estimate_message(&message));
        let more = written.saturating_sub(usage.output_tokens);
        usage.output_tokens = usage.output_tokens.saturating_add(more);
        usage.estimated_tokens = usage.estimated_tokens.saturating_add(more);
        self.assembler.feed(&UsageReport { usage }.into());
    }

    /// The provider lets another model continue the answer: from now on the call is paid at that model's
    /// prices, if the fact names them.
    pub(crate) fn fell_back(&mut self, fallback: &ModelFellBack) {
        let asked = self.run.as_mut().and_then(|run| run.pending.model.as_mut());
        let Some(model) = asked else { return };
        model.id.clone_from(&fallback.model);
        if let Some(prices) = &fallback.prices {
            model.prices = **prices;
        }
    }

    /// Pays a model that was called on behalf of this agent: by a tool, or by the condenser for a summary.
    /// The bill states the cost, so no price is looked up.
    pub(crate) fn pay_for_tool(&mut self, bill: &EffectBill, step: &mut RunStep<'_>) {
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

    /// Counts spending for this agent: of its own calls, its tools and its children.
    ///
    /// While a run is in progress, it is added to that run's bill. Later spending of children is on no bill,
    /// because the bill was reported already, but it counts against the limits of that run and of one that
    /// continues it.
    pub(crate) fn share(&mut self, usage: Usage, cost: NanoUsd, step: &mut RunStep<'_>) {
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

impl Run {
    /// The spending that counts against its limits: its own bill and the shared one.
    pub(crate) fn spent(&self) -> RunSpending {
        let mut spent = RunSpending {
            iterations: self.iterations,
            usage: self.bill.usage,
            cost: self.bill.cost,
        };
        spent.usage += self.beside.usage;
        spent.cost += self.beside.cost;
        spent
    }

    /// Takes over the spent tokens and money of the run before, and what was added to their limits.
    /// Iterations begin again, because the new run has its own input.
    pub(super) fn inherit_usage(&mut self, before: &Self) {
        let RunSpending { usage, cost, .. } = before.spent();
        self.raised = before.raised.without_iterations();
        self.beside = RunCost {
            usage,
            cost,
            model_calls: 0,
        };
    }
}
