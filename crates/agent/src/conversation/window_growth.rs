//! Raises a window that was guessed from a refusal without a size.
//!
//! Such a guess may be far too small: the refusal was about something else, or the server was started anew
//! with a larger window. So it grows carefully, until a refusal shows that it grew too far:
//!
//! | a request | the guessed window |
//! | --- | --- |
//! | fills two thirds of the room or more, and is answered, for the second time | grows by a quarter, up to the window that was assumed before the guess |
//! | is refused after that, without a size | is what it was before it last grew, and grows no more |
//! | is refused later, without a size | is so small that the refused request does not fit |
//! | is refused with the size of the window | is that size, and grows no more |
//!
//! Another model, or the same one chosen again, begins anew.

use agentx_types::{AgentConfig, ModelSpec, Overflow, since};
use serde::{Deserialize, Serialize};

use super::Conversation;
use super::window_limit::LEAST_WINDOW;

/// Number of answered requests near the bound after which it is raised.
const ENOUGH: u32 = 2;

/// A window that was guessed from a refusal without a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GuessedWindow {
    /// The window before the first guess, in tokens: it grows no further.
    context_window: u64,
    /// The longest answer before the first guess, in tokens.
    max_output_tokens: u64,
    /// The window before it last grew; `None` if it has not grown since a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_growth: Option<u64>,
    /// The number of answered requests near the bound, since it last changed.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    answered: u32,
    /// Whether it grows no more, because a larger one was refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_final: bool,
}

impl Conversation {
    /// Records, before a smaller window is assumed, whether it is a guess. From version 9 of the rules on.
    pub(super) fn note_learned(&mut self, overflow: &Overflow, config: &AgentConfig) {
        if config.rules_version < since::GUESSED_WINDOWS_GROW {
            return;
        }
        if overflow.window.is_some() {
            self.guessed = None;
            return;
        }
        let model = &config.model;
        let guessed = self.guessed.get_or_insert(GuessedWindow {
            context_window: model.context_window,
            max_output_tokens: model.max_output_tokens,
            before_growth: None,
            answered: 0,
            is_final: false,
        });
        guessed.answered = 0;
    }

    /// The window to assume after a request is refused without a size although the guess has grown: the one
    /// before it grew. From then on the window grows no more, and after a further refusal it is so small that
    /// the refused request does not fit. `None` if neither helps.
    ///
    /// The window that would have let the refused request pass does not matter: the space that is kept free
    /// for the answer may be constant, so no proportion helps. `is_again` says that no request was answered
    /// since the last refusal.
    pub(super) fn smaller_guess(
        &mut self,
        overflow: &Overflow,
        is_again: bool,
        config: &AgentConfig,
    ) -> Option<u64> {
        let mut guessed = self.guessed.filter(|_| overflow.window.is_none())?;
        let window = match guessed.before_growth.take() {
            Some(before) => before,
            // If only the latest exchanges are sent, a smaller window changes nothing.
            None if guessed.is_final && !is_again && self.units(self.window_start).len() > 2 => {
                let size = self.corrected(self.asked_tokens);
                let unused = self.room(config).saturating_sub(size);
                let now = config.model.context_window;
                now.saturating_sub(unused.saturating_add(size / 16))
                    .max(LEAST_WINDOW)
            }
            None => return None,
        };
        guessed.is_final = true;
        guessed.answered = 0;
        self.guessed = Some(guessed);
        (window < config.model.context_window).then_some(window)
    }

    /// The window that was assumed before a guess that no answer has confirmed yet, if the guess is smaller.
    pub(crate) fn window_before_guess(&self, config: &AgentConfig) -> Option<u64> {
        self.guessed?;
        let before = self.before_guess.as_ref()?.window();
        (before > config.model.context_window).then_some(before)
    }

    /// Whether the guessed window grows no more.
    pub(crate) fn is_guess_final(&self) -> bool {
        self.guessed.is_some_and(|guessed| guessed.is_final)
    }

    /// Counts an answered request, and returns the model with a larger window once enough of them were near
    /// the bound.
    pub(crate) fn grown_window(&mut self, config: &AgentConfig) -> Option<ModelSpec> {
        let guessed = self.guessed?;
        let now = config.model.context_window;
        if guessed.is_final || now >= guessed.context_window {
            return None;
        }
        let size = self.corrected(self.asked_tokens);
        let is_near = size.saturating_mul(3) >= self.room(config).saturating_mul(2);
        let answered = guessed.answered + u32::from(is_near);
        if answered < ENOUGH {
            self.guessed = Some(GuessedWindow { answered, ..guessed });
            return None;
        }
        let window = now.saturating_add((now / 4).max(1)).min(guessed.context_window);
        let is_whole = window == guessed.context_window;
        let longest_answer = if is_whole {
            guessed.max_output_tokens
        } else {
            guessed.max_output_tokens.min(window / 2).max(1)
        };
        self.longest_result = (!is_whole).then_some(window / 4);
        self.guessed = Some(GuessedWindow {
            before_growth: Some(now),
            answered: 0,
            ..guessed
        });
        Some(ModelSpec {
            context_window: window,
            max_output_tokens: longest_answer,
            ..config.model.clone()
        })
    }
}
