//! The approval mode that counts for the words of people other than the owner: at least the one of the time
//! at which they came.
//!
//! A person who drives may switch questions off for their own inputs (`auto`). An input of somebody else that
//! waited in the queue, or joins the run, must not profit from that. So such an input keeps the mode of its
//! time, the run that takes it up is at least as strict until it ends, and so are the runs of the agents that
//! the run makes or writes to.
//!
//! | words of another person | the run is at least as strict as |
//! | --- | --- |
//! | an input | the mode when it came, at most `ask` |
//! | a command that they ran | the mode when it ended, at most `ask` |
//! | a note with a decision, or an answer | `ask`: they steer a run whose mode somebody else set |
//!
//! Before version 9 of the rules, only the mode at the time of the call counted.

use std::sync::Arc;

use agentx_types::{AgentConfig, ApprovalMode, OwnerId, since};

use super::{RunLifecycle, RunStep};
use crate::limits::ancestor_budgets::{AncestorBudgets, stricter_of};

/// Returns the mode that a run with words of this person is at least as strict as; `None` if they bind
/// nothing.
/// A run above that is bound binds the words that it sends.
pub(crate) fn mode_of_words(
    by: Option<&OwnerId>,
    config: &AgentConfig,
    step: &RunStep<'_>,
) -> Option<ApprovalMode> {
    if config.rules_version < since::WORDS_KEEP_THEIR_MODE {
        return None;
    }
    let own = by.map(|_| if_asking(config.approval));
    stricter_of(own, step.context.above.and_then(AncestorBudgets::mode_of_words))
}

/// The mode, or `ask` if it asks nobody and refuses: a later mode that asks may ask.
fn if_asking(mode: ApprovalMode) -> ApprovalMode {
    match mode {
        ApprovalMode::Deny => ApprovalMode::Ask,
        mode => mode,
    }
}

impl RunLifecycle {
    /// Makes the run in progress at least as strict as this mode, until it ends.
    pub(crate) fn bind_run(&mut self, mode: Option<ApprovalMode>) {
        if let Some(run) = self.active() {
            run.mode_of_words = stricter_of(run.mode_of_words, mode);
        }
    }

    /// The configuration by which calls of the run are decided: `config`, with the mode of words that the run
    /// has taken up if that is stricter.
    pub(crate) fn deciding(&self, config: &Arc<AgentConfig>) -> Arc<AgentConfig> {
        let bound = self.run.as_ref().and_then(|run| run.mode_of_words);
        let mode = bound.map_or(config.approval, |bound| config.approval.stricter(bound));
        if mode == config.approval {
            return Arc::clone(config);
        }
        Arc::new(AgentConfig {
            approval: mode,
            ..AgentConfig::clone(config)
        })
    }
}
