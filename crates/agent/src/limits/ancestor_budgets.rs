//! The budgets that the agents above leave to an agent.
//!
//! A child's spending counts for its ancestors, so it makes no model call once an ancestor's budget is used
//! up. A session also limits the number of agents. The session's fold, which steps the agents, passes both
//! with each step ([`StepContext::above`](crate::StepContext), [`StepContext::census`](crate::StepContext)):
//! they follow from the agents themselves, so they are equal in every replay, and a raised limit counts at
//! once.
//!
//! ```text
//! main          max_tokens 100,000, spent 90,000 ─┐  AncestorBudgets of the grandchild: two, the nearest first;
//! └ child       max_cost $1, spent $0.20          ├─ used_up names the first limit that is reached,
//!   └ grandchild  asks a model                    ┘  and the agent whose limit it is
//! ```
//!
//! Invariant: no model is called if a limit of any agent above is reached (invariant 18).

use std::sync::Arc;

use agentx_types::{AgentConfig, ApprovalMode, Limits, MAX_AGENTS_AT_ONCE, MAX_AGENTS_MADE, RunStatus};

use crate::limits::raise::LimitRaise;
use crate::limits::stop_cause::StopCause;
use crate::limits::{self, RunSpending};

/// The budgets that an agent shares, the nearest first.
///
/// Only limits of tokens and money are shared; rounds and time are each agent's own. An agent above that has
/// no run, or none of these limits, bounds nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AncestorBudgets {
    /// Agents above that have a run and a limit of tokens or money.
    budgets: Vec<AncestorBudget>,
    /// The limit for which an agent above is being stopped, if it is one.
    stopped: Option<StopCause>,
    /// The strictest mode to which words of people other than the owner bind the runs above.
    mode_of_words: Option<ApprovalMode>,
}

/// The limits of an agent above, and its spending until now.
#[derive(Clone, Debug, PartialEq)]
struct AncestorBudget {
    /// The agent's configuration; only the name matters.
    of: Arc<AgentConfig>,
    /// The limits of its run.
    limits: Limits,
    /// The spending of its run before this fact.
    spent: RunSpending,
}

impl AncestorBudgets {
    /// Counts in the run of the next agent above: its limits with what people `raised`, its spending, and the
    /// cause for which it is being stopped, if it is.
    pub(crate) fn add_run(
        &mut self,
        config: &Arc<AgentConfig>,
        raised: LimitRaise,
        spent: RunSpending,
        stop: Option<&StopCause>,
    ) {
        if config.limits.max_tokens.is_some() || config.limits.max_cost.is_some() {
            self.budgets.push(AncestorBudget {
                of: Arc::clone(config),
                limits: raised.raise_limits(config.limits),
                spent,
            });
        }
        if let Some(cause) =
            stop.filter(|cause| cause.status == RunStatus::TimedOut && self.stopped.is_none())
        {
            let message = format!("agent {} was stopped: {}", config.name, cause.message);
            self.stopped = Some(StopCause::error(cause.status, &cause.code, &message));
        }
    }

    /// Adds the mode to which the run of the next agent above is bound by words of other people.
    pub(crate) fn add_mode(&mut self, mode: Option<ApprovalMode>) {
        self.mode_of_words = stricter_of(self.mode_of_words, mode);
    }

    /// The strictest mode to which words of people other than the owner bind the runs above.
    pub(crate) fn mode_of_words(&self) -> Option<ApprovalMode> {
        self.mode_of_words
    }

    /// The limit above that forbids another model call; `None` if none does.
    ///
    /// The agents above do not know yet what the agent has `spent` in the current step, so that is added.
    pub(crate) fn used_up(&self, spent: &RunSpending) -> Option<StopCause> {
        let reached = |budget: &AncestorBudget| {
            let mut with_this_step = budget.spent;
            with_this_step.usage += spent.usage;
            with_this_step.cost += spent.cost;
            limits::used_up(&budget.limits, &with_this_step, Some(budget.of.name.as_str()))
        };
        self.budgets
            .iter()
            .find_map(reached)
            .map(|limit| StopCause::limit(&limit))
    }

    /// The limit above for which the agent is stopped by another one, if one is the reason.
    pub(crate) fn stops(&self, spent: &RunSpending) -> Option<StopCause> {
        self.used_up(spent).or_else(|| self.stopped.clone())
    }
}

/// The stricter one of two bounds.
pub(crate) fn stricter_of(one: Option<ApprovalMode>, other: Option<ApprovalMode>) -> Option<ApprovalMode> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.stricter(other)),
        (one, other) => one.or(other),
    }
}

/// The number of agents in a session, besides the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// The number of agents that exist now.
    pub alive: u32,
    /// The number of agents that were created since the last input of a person.
    pub made: u32,
}

impl Census {
    /// Returns this census plus the `wanted` agents that the fact makes agents create.
    #[must_use]
    pub(crate) fn with(self, wanted: u32) -> Self {
        Self {
            alive: self.alive.saturating_add(wanted),
            made: self.made.saturating_add(wanted),
        }
    }

    /// The reason why no further agent may be made, with advice; `None` if there is room. There are two
    /// bounds: the number of agents at once, and the number made without a word of a person.
    ///
    /// ```
    /// use agentx_agent::Census;
    /// use agentx_types::{MAX_AGENTS_AT_ONCE, MAX_AGENTS_MADE};
    ///
    /// assert_eq!(Census { alive: 3, made: 12 }.full(), None);
    /// assert!(Census { alive: MAX_AGENTS_AT_ONCE, made: 0 }.full().is_some());
    /// assert!(Census { alive: 0, made: MAX_AGENTS_MADE }.full().is_some());
    /// ```
    pub fn full(&self) -> Option<String> {
        if self.alive >= MAX_AGENTS_AT_ONCE {
            return Some(format!(
                "this session has {MAX_AGENTS_AT_ONCE} agents, which is the most there may be at once; go on when some of them have \
                 ended, or do it yourself"
            ));
        }
        (self.made >= MAX_AGENTS_MADE).then(|| {
            format!(
                "{MAX_AGENTS_MADE} agents were made since a person last said something, which is the most; do the rest yourself, \
                 or say how far you have come"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_until_it_is_full() {
        let full = |alive, made| Census { alive, made }.full();
        assert_eq!(full(0, 0), None);
        assert_eq!(full(MAX_AGENTS_AT_ONCE - 1, MAX_AGENTS_MADE - 1), None);
        assert!(full(MAX_AGENTS_AT_ONCE, 0).is_some_and(|why| why.contains("at once")));
        assert!(full(0, MAX_AGENTS_MADE).is_some_and(|why| why.contains("were made")));
        assert!(Census::default().with(MAX_AGENTS_AT_ONCE).full().is_some());
    }
}
