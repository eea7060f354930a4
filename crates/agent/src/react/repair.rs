//! A request that a provider refuses for its form is made plainer, and asked again: without what the refusal names, else part by
//! part. What was refused is on record with the attempt that failed; what follows from it is worked out from that.
//!
//! Which part of a request a provider refuses is read out of its words where they are known (`crates/llm`); what each form leaves out is
//! in [`crate::conversation`]. A repair is told (`context_changed`), asks once more, and is taken back where all was in vain.

use std::sync::Arc;

use agentx_types::{ContextChange, ErrorOccurred, Overflow, RequestPart, StateOutput};

use super::ReactAgent;
use crate::course::Step;

impl ReactAgent {
    /// Whether a request has too many bytes that has nothing but text left: the same text in another form is as long, so it has to
    /// become less, as where the window is full. Proxies take a megabyte or so: where a small request is refused, less would be refused too.
    pub(super) fn is_too_large_as_text(&mut self, error: &ErrorOccurred) -> bool {
        let is_it =
            error.code == "too_large" && self.config.rules_version >= 2 && !self.conversation.sends_media();
        if is_it && let Some(run) = self.course.active() {
            run.pending.refused = None;
        }
        if is_it && self.conversation.asked_little(&self.config) {
            return false;
        }
        if is_it && self.config.rules_version >= 5 {
            // How many bytes fit is not said. What was refused is too much, and so is any request as large.
            self.learn_of_overflow(&Overflow::default());
        }
        is_it
    }

    /// A run ends: a window that was guessed in it, and that no answer has confirmed, is forgotten.
    pub(super) fn take_guess_back(&mut self) {
        if let Some(model) = self.conversation.take_guess_back(&self.config.model) {
            Arc::make_mut(&mut self.config).model = model;
        }
    }

    /// The model call has ended with an error: asks again where its form was refused and can be changed. `false` where the run has
    /// to end.
    /// Each form is tried once between two answers, so this ends.
    pub(super) fn asks_in_another_form(&mut self, step: &mut Step<'_>) -> bool {
        let Some(run) = self.course.active() else {
            return false;
        };
        let Some(refused) = run.pending.refused.take() else {
            return false;
        };
        let longest_answer = run.pending.longest_answer.take();
        let tools = std::mem::take(&mut run.pending.refused_tools);
        if run.pending.stop.is_some() || self.condensing().is_some() || !self.ledger.is_empty() {
            return false;
        }
        if refused == RequestPart::Tools {
            return self.asks_without_tools(&tools, step);
        }
        let Some(part) = self.conversation.repair(refused, longest_answer, &self.config) else {
            return false;
        };
        let change = ContextChange::Repaired(part);
        step.state(StateOutput::Context { change });
        self.call_model(step);
        true
    }

    /// The conversation and the longest answer do not fit together, and most of that answer would fit: asks for it at once.
    pub(super) fn asks_within_what_is_left(&mut self, step: &mut Step<'_>) -> bool {
        let goes_on = self.config.rules_version >= 8 && self.asks_for_a_shorter_answer(true, step);
        if goes_on {
            self.condenser.learned = None;
        }
        goes_on
    }

    /// The conversation and the longest answer do not fit together, and the conversation cannot become shorter: asks for a shorter answer.
    /// `most` as in [`crate::conversation::Conversation::shorten_answer`].
    pub(super) fn asks_for_a_shorter_answer(&mut self, most: bool, step: &mut Step<'_>) -> bool {
        let stops = self.course.active().is_none_or(|run| run.pending.stop.is_some());
        if stops || self.condensing().is_some() || !self.ledger.is_empty() {
            return false;
        }
        let goes_on = self.conversation.shorten_answer(&self.config, most);
        if goes_on {
            let change = ContextChange::Repaired(RequestPart::LongestAnswer);
            step.state(StateOutput::Context { change });
            self.call_model(step);
        }
        goes_on
    }

    /// Asks again without the tools that were refused as they are described.
    /// They stay off until they are described otherwise or another model is asked.
    fn asks_without_tools(&mut self, tools: &[String], step: &mut Step<'_>) -> bool {
        let goes_on = self.conversation.leave_out_tools(tools, &self.config);
        if goes_on {
            let tools = tools.to_vec();
            let change = ContextChange::ToolsLeftOut { tools };
            step.state(StateOutput::Context { change });
            self.call_model(step);
        }
        goes_on
    }
}
