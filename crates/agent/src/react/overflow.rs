//! Handles a conversation that does not fit into the model: learns the window, sends less, or ends the run.
//!
//! There are three signs:
//!
//! | sign | function | learned |
//! | --- | --- | --- |
//! | the provider refuses a request (`overflow`) | `learn_of_overflow` | its window, if it names it; otherwise that less fits |
//! | it stops an answer because the window is full | `on_full_window` | input and answer together are the window |
//! | its counts show that it dropped the beginning | `on_cut` | its count is the window |
//!
//! Then the machine tries remedies: a summary, once until a model has answered; fewer exchanges and shorter
//! tool results, repeatedly while a refusal shrinks the window or raises the estimate, both of which are
//! bounded. Sizes are tokens as the provider counts them.

use std::sync::Arc;

use agentx_types::{ContextChange, ModelSpec, Overflow, RunStatus, StateOutput, StopReason, Usage, since};

use super::ReactAgent;
use super::condense::Why;
use crate::run_lifecycle::{RunStep, StopCause};

impl ReactAgent {
    /// The window was full before the answer was complete: the tokens read and written fill it.
    ///
    /// If half an answer came, the run ends with it and later requests are shorter; else this one is repeated
    /// with less. From version 6 of the rules on the window is learned from the count, if the provider
    /// counted.
    pub(super) fn on_full_window(&mut self, said_something: bool, usage: Usage, step: &mut RunStep<'_>) {
        let message = "the context window of the model is full";
        let cause = StopCause::error(RunStatus::Failed, "context_window", message);
        let counted = usage.read_tokens().saturating_add(usage.output_tokens);
        let learns = self.config.rules_version >= since::FULL_WINDOWS_TEACH
            && usage.read_tokens() > 0
            && !usage.is_estimated();
        let goes_on = if learns {
            self.learn_of_overflow(&Overflow {
                window: Some(counted),
                asked: Some(usage.read_tokens()),
            });
            if said_something {
                self.condenser.learned = None;
            }
            !said_something && self.continue_after_overflow(&cause, step)
        } else {
            self.conversation.overflowed();
            !said_something && self.condense_after_overflow(&cause, step)
        };
        if self.config.rules_version >= since::FULL_IS_KNOWN && !goes_on {
            let size = if learns {
                counted
            } else {
                self.config.model.context_window
            };
            self.conversation.set_counted_tokens(size);
        }
        if !goes_on {
            self.begin_stop(cause, step);
        }
    }

    /// Asks for a summary after an overflow, once until a model has answered. `false` if none is requested:
    /// the run is being stopped, calls are open, or a summary would make too little free.
    pub(super) fn condense_after_overflow(&mut self, cause: &StopCause, step: &mut RunStep<'_>) -> bool {
        let Some(run) = self.lifecycle.active() else {
            return false;
        };
        let input = run.input_id.clone();
        if run.pending.stop.is_some()
            || self.condenser.after_overflow
            || self.condenser.under_way.is_some()
            || !self.ledger.is_empty()
        {
            return false;
        }
        let Some(part) = self.conversation.useful_part(&self.config, Some(&input)) else {
            return false;
        };
        self.condenser.after_overflow = true;
        self.lifecycle.set_status(RunStatus::BuildingContext, step);
        self.ask_for_summary(&part, Why::Overflow(cause.clone()), step);
        true
    }

    /// The count of the server shows that it cut the beginning of the last request: assumes the counted
    /// window, and reports that.
    pub(super) fn on_cut(&mut self, window: u64, step: &mut RunStep<'_>) {
        let assumed = self.config.model.context_window;
        self.assume_window(window);
        let change = ContextChange::Cut { window, assumed };
        step.state(StateOutput::Context { change });
    }

    /// Learns from a server's message that the conversation does not fit into the model.
    ///
    /// If the window is smaller than assumed, the configuration gets the smaller one until somebody chooses a
    /// model again, and condensing is tried again even if it was tried before. A failed attempt calls this
    /// before it is known whether another one follows; the lesson is used when the call has ended.
    pub(super) fn learn_of_overflow(&mut self, overflow: &Overflow) {
        let estimate = self.conversation.extra_percent();
        let window = self.conversation.learn_window(overflow, &self.config);
        let guessed = self.config.rules_version >= since::GUESSES_CONTINUE
            && self.conversation.extra_percent() > estimate;
        let learned = window.map(|window| self.assume_window(window)).is_some();
        let shortened = !learned && self.conversation.shorten_results(&self.config);
        self.condenser.learned = Some(learned || guessed || shortened);
    }

    /// Assumes this window for the model from now on. The maximum length of its answers is at most half of
    /// that.
    fn assume_window(&mut self, window: u64) {
        self.conversation.beginning_changed(&self.config);
        let model = &mut Arc::make_mut(&mut self.config).model;
        model.context_window = window;
        model.max_output_tokens = model.max_output_tokens.min(window / 2).max(1);
        self.condenser.after_overflow = false;
    }

    /// Returns this model with its learned window, if it is the current one and its window was not set since.
    ///
    /// A program that opens a session sets the model again, with the window of its catalog; that must not
    /// discard the learned window.
    pub fn as_learned(&self, mut model: ModelSpec) -> ModelSpec {
        let known = &self.config.model;
        let is_same = (&model.id, &model.provider, model.api) == (&known.id, &known.provider, known.api);
        if is_same && self.conversation.assumed_window() == Some(model.context_window) {
            model.context_window = known.context_window;
            model.max_output_tokens = model.max_output_tokens.min(known.max_output_tokens);
        }
        model
    }

    /// Continues with less after an overflow, if that may help: with a summary, or with the smaller window.
    /// Returns `false` if the run has to end with `cause`.
    pub(super) fn continue_after_overflow(&mut self, cause: &StopCause, step: &mut RunStep<'_>) -> bool {
        let learned = self.condenser.learned.take();
        if learned.is_none() {
            self.conversation.overflowed();
        }
        self.condense_after_overflow(cause, step) || (learned == Some(true) && self.send_less(step))
    }

    /// Calls the model again with fewer exchanges and shorter tool results, after a smaller window was
    /// learned and if a summary would not help. `false` if nothing shorter can be sent.
    pub(super) fn send_less(&mut self, step: &mut RunStep<'_>) -> bool {
        let stops = self
            .lifecycle
            .active()
            .is_none_or(|run| run.pending.stop.is_some());
        if stops || !self.ledger.is_empty() || !self.conversation.can_send_less(&self.config) {
            return false;
        }
        if self.config.rules_version >= since::LESS_IS_SAID {
            let window = self.config.model.context_window;
            let change = ContextChange::Shortened { window };
            step.state(StateOutput::Context { change });
        }
        self.call_model(step);
        true
    }

    /// Records that the model took the last request: repairs and guesses stay, and a guessed window may grow.
    /// Both are reported from version 9 of the rules on.
    pub(super) fn note_answered(&mut self, reason: StopReason, step: &mut RunStep<'_>) {
        let now = self.config.model.context_window;
        let before_guess = self.conversation.window_before_guess(&self.config);
        self.conversation.note_accepted();
        if reason == StopReason::ContextWindow || self.lifecycle.asks_other_than(&self.config.model) {
            return;
        }
        let (before, window) = if let Some(before) = before_guess {
            (before, now)
        } else if let Some(model) = self.conversation.grown_window(&self.config) {
            let window = model.context_window;
            Arc::make_mut(&mut self.config).model = model;
            (now, window)
        } else {
            return;
        };
        let fixed = self.conversation.is_guess_final();
        let change = ContextChange::WindowGuessed {
            window,
            before,
            fixed,
        };
        step.state(StateOutput::Context { change });
    }

    /// Records that a model has answered, so that the request did fit: after the next overflow the agent may
    /// try a summary again.
    pub(super) fn note_fitting_request(&mut self) {
        self.condenser.after_overflow = false;
    }
}
