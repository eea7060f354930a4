//! Calls the model again, in a plainer form, after a provider has refused a request for its form.
//!
//! The agent leaves out the part that a refusal names, or one part after another if it names none.
//! `crates/llm` reads the refused part from known messages of providers and puts it into `attempt_failed`;
//! `crate::conversation` defines what each form leaves out. A replay derives the repairs again from those
//! facts.
//!
//! Invariant: a repair is reported (`context_changed`), calls the model exactly once more, and is undone if
//! no repair helped. Each form is tried once between two answers, so the attempts end.

use std::sync::Arc;

use agentx_types::{ContextChange, ErrorOccurred, Overflow, RequestPart, StateOutput, since};

use super::ReactAgent;
use crate::conversation::Refusal;
use crate::run_lifecycle::RunStep;

impl ReactAgent {
    /// Records that a request with only text was refused for its size in bytes. `false` if it was refused for
    /// another reason.
    ///
    /// Another form of the text would be as long, so there has to be less of it, as with a full window.
    /// Proxies accept about a megabyte: a small refused request would be refused with less too, and does not
    /// count. From version 5 of the rules on, the window is guessed from it.
    pub(super) fn note_too_large_text(&mut self, error: &ErrorOccurred) -> bool {
        let is_it = error.code == "too_large"
            && self.config.rules_version >= since::LARGE_TEXT_IS_TOO_MUCH
            && !self.conversation.sends_media();
        if is_it && let Some(run) = self.lifecycle.active() {
            run.pending.refused = None;
        }
        if is_it && self.conversation.asked_little(&self.config) {
            return false;
        }
        if is_it && self.config.rules_version >= since::BYTES_TEACH_THE_WINDOW {
            // The provider does not name the number of bytes that fit. A request of the refused size or more
            // is too large.
            self.learn_of_overflow(&Overflow::default());
        }
        is_it
    }

    /// Drops a guess of the window from the run that ends, if no answer has confirmed it.
    pub(super) fn take_guess_back(&mut self) {
        if let Some(model) = self.conversation.take_guess_back(&self.config.model) {
            Arc::make_mut(&mut self.config).model = model;
        }
    }

    /// Returns whether the call in progress is for a model that is no longer the chosen one: its refusal does
    /// not concern its successor. From version 9 of the rules on.
    pub(super) fn refused_by_other_model(&self) -> bool {
        self.config.rules_version >= since::REFUSALS_OF_OTHERS_CHANGE_NOTHING
            && self.lifecycle.asks_other_than(&self.config.model)
    }

    /// Asks the model that was chosen while its predecessor refused the request for its form or its length.
    /// `false` if there is none, or if the run is being stopped.
    pub(super) fn ask_the_chosen_model(&mut self, error: &ErrorOccurred, step: &mut RunStep<'_>) -> bool {
        let of_other = self.refused_by_other_model();
        let is_condensing = self.condensing().is_some();
        let Some(run) = self.lifecycle.active().filter(|_| of_other) else {
            return false;
        };
        let is_full = ["context_window", "too_large"].contains(&error.code.as_str());
        let is_refused = run.pending.refused.take().is_some() || is_full;
        if !is_refused || run.pending.stop.is_some() || is_condensing || !self.ledger.is_empty() {
            return false;
        }
        self.call_model(step);
        true
    }

    /// Calls the model again after a call has ended with an error, if its form was refused and can be
    /// changed. `false` if the run has to end.
    ///
    /// No model is called while the run is being stopped, a summary is awaited or calls are open.
    pub(super) fn ask_in_another_form(&mut self, step: &mut RunStep<'_>) -> bool {
        let Some(run) = self.lifecycle.active() else {
            return false;
        };
        let Some(refused) = run.pending.refused.take() else {
            return false;
        };
        if run.pending.stop.is_some() || self.condensing().is_some() || !self.ledger.is_empty() {
            return false;
        }
        if refused.part == RequestPart::Tools {
            return self.ask_without_tools(&refused.tools, step);
        }
        if refused.repeated {
            self.conversation.note_repeated();
        }
        let refusal = Refusal {
            part: refused.part,
            most: refused.most(),
            is_repeated: refused.repeated,
            no_thinking: refused.no_thinking,
            place: refused.place.map(|place| *place),
        };
        let repaired = self.conversation.repair(refusal, &self.config);
        let Some(part) = repaired else {
            return false;
        };
        let change = ContextChange::Repaired(part);
        step.state(StateOutput::Context { change });
        self.call_model(step);
        true
    }

    /// Calls the model again at once with a shorter maximum answer, if the conversation does not fit together
    /// with the maximum answer but with at least half of it. Nothing else is shortened; from version 8 of the
    /// rules on.
    pub(super) fn retry_with_shorter_answer(&mut self, step: &mut RunStep<'_>) -> bool {
        let goes_on =
            self.config.rules_version >= since::ANSWERS_FIT && self.ask_for_shorter_answer(true, step);
        if goes_on {
            self.condenser.learned = None;
        }
        goes_on
    }

    /// Calls the model again with a shorter maximum answer, if the conversation does not fit together with
    /// the maximum answer and cannot become shorter.
    ///
    /// With `most` only if at least half of the wanted length is left: see `shorten_answer` in
    /// `crate::conversation`.
    pub(super) fn ask_for_shorter_answer(&mut self, most: bool, step: &mut RunStep<'_>) -> bool {
        let stops = self
            .lifecycle
            .active()
            .is_none_or(|run| run.pending.stop.is_some());
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

    /// Calls the model again without the tools whose description was refused. They stay off until their
    /// description or the model changes.
    fn ask_without_tools(&mut self, tools: &[String], step: &mut RunStep<'_>) -> bool {
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
