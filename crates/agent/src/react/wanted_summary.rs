//! A person's request to condense the conversation: now, or before the next model call.

use agentx_types::{CondenseRequested, since};

use super::ReactAgent;
use super::condense::{SummaryWish, Why, failed};
use crate::run_lifecycle::RunStep;

/// Number of latest exchanges kept when a person requests condensing.
const TAIL_WHEN_WANTED: u32 = 2;
/// Least number of tokens that a person's request condenses. A summary takes about 64 tokens beside its
/// words, and in fewer than 16 nothing is said: the condenser would refuse what the model wrote, after it was
/// paid.
const LEAST_WHEN_WANTED: u64 = 80;

impl ReactAgent {
    /// Requests the summary that a person wants, if none is in progress. `false` if nothing was requested.
    ///
    /// If nothing can be condensed, or too little for any summary to be shorter, this is reported without
    /// asking a model, and the person's request is done.
    pub(super) fn condense_as_wanted(&mut self, step: &mut RunStep<'_>) -> bool {
        if self.condenser.under_way.is_some() {
            return false;
        }
        let Some(wanted) = self.condenser.wanted.take() else {
            return false;
        };
        let input = self.lifecycle.active().map(|run| run.input_id.clone());
        let part = self
            .conversation
            .part(&self.config, TAIL_WHEN_WANTED, input.as_ref());
        let knows_too_little = self.config.rules_version >= since::TOO_LITTLE_IS_SAID;
        match part {
            Some(part) if knows_too_little && part.range.tokens < LEAST_WHEN_WANTED => {
                let message = format!(
                    "the part that a summary could stand for has about {} tokens, and no summary would be shorter: everything stays as it is",
                    part.range.tokens
                );
                failed("nothing_to_condense", &message, step);
                false
            }
            Some(part) => {
                self.ask_for_summary(&part, Why::Wanted(wanted), step);
                true
            }
            None => {
                let message = "there is nothing yet that a summary could stand for: the latest exchanges stay as they are";
                failed("nothing_to_condense", message, step);
                false
            }
        }
    }

    /// A person wants the conversation condensed: now, if no run is in progress, otherwise before its next
    /// model call. A second request while a summary is written gets that summary.
    pub(super) fn on_condense_requested(&mut self, wish: &CondenseRequested, step: &mut RunStep<'_>) {
        if self.condenser.under_way.is_some() {
            return;
        }
        let names_others = self.config.rules_version >= since::REFUSALS_NAME_OTHERS;
        self.condenser.wanted = Some(SummaryWish {
            instructions: wish.instructions.clone(),
            by: wish.by.clone().filter(|_| names_others),
        });
        if self.lifecycle.is_free() {
            self.condense_as_wanted(step);
        }
    }
}
