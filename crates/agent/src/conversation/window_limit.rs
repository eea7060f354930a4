//! Learns a model's real window from a server that refuses a conversation as too long.
//!
//! Many servers are started with a smaller window than their model has (llama.cpp's `-c`, Ollama's `num_ctx`,
//! vLLM's `--max-model-len`), and the catalog does not know every model. Two numbers are learned: the window,
//! which goes into the configuration so that all code sees it, and `extra_percent`, by which the provider
//! counts more than the estimate.
//!
//! | the server names | learned |
//! | --- | --- |
//! | its window | that window, if it is less than nine tenths of the assumed one |
//! | the size of the request | how it counts |
//! | neither | a guess: less than the refused request, see `window_guess` and `window_growth` |

use std::sync::Arc;

use agentx_types::{AgentConfig, Message, Overflow, Role, since};

use super::shorten::with_short_results;
use super::token_budget::LEAST_ANSWER;
use super::{Conversation, MAX_EXTRA_PERCENT};
use crate::token_estimate::estimate_message;

/// No window is taken for smaller than this.
pub(super) const LEAST_WINDOW: u64 = 1_024;
/// The estimate was too low by this many percent, at least, if a request is refused that should have fitted.
///
/// The size that a server names may be too small: vLLM stops counting once the request does not fit ("at
/// least 4193 input tokens").
const TOO_LOW_PERCENT: u64 = 15;

impl Conversation {
    /// Learns from a refusal of the last request how much fits: the size that the server names, otherwise
    /// less than the refused size.
    ///
    /// Returns the window to assume from now on, if it is notably smaller than the assumed one (less than
    /// nine tenths, and never under 1,024 tokens). From then on a single tool result takes up at most a
    /// quarter of it, because the latest exchanges are always sent and have to fit.
    pub(crate) fn learn_window(&mut self, overflow: &Overflow, config: &AgentConfig) -> Option<u64> {
        let is_again = self.before_guess.is_some();
        if overflow.window.is_none() {
            self.remember_before_guess(config);
        }
        if let Some(window) = self.smaller_guess(overflow, is_again, config) {
            self.counted = None;
            self.assume_window(window, config);
            return Some(window);
        }
        let size = self.corrected(self.asked_tokens);
        self.counted = None;
        let before = self.extra_percent;
        if let Some(asked) = overflow.asked.filter(|_| self.asked_tokens > 0) {
            let percent = asked.saturating_mul(100) / self.asked_tokens;
            self.extra_percent = percent.saturating_sub(100).min(MAX_EXTRA_PERCENT);
            if config.rules_version >= since::ANSWERS_FIT {
                self.extra_percent = self.extra_percent.max(before);
            }
        }
        let room = self.room(config);
        // A request that was nearly as large as allowed shows nothing about the window: the estimate was too
        // low.
        let too_large = (size.saturating_mul(4) < room.saturating_mul(3)).then_some(size);
        // The server names its whole window, while a refused request is at most the room beside the answer.
        let assumed = match overflow.window {
            Some(_) if config.rules_version >= since::WINDOWS_ARE_COMPARED_WHOLE => {
                config.model.context_window
            }
            _ => room,
        };
        let window = overflow.window.or(too_large).map(|fits| fits.max(LEAST_WINDOW));
        let window = window.filter(|window| window.saturating_mul(10) < assumed.saturating_mul(9));
        if let Some(window) = window {
            self.note_learned(overflow, config);
            self.assume_window(window, config);
        } else if overflow.asked.is_none() {
            self.extra_percent = (self.extra_percent + 50).min(MAX_EXTRA_PERCENT);
        } else if config.rules_version >= since::ANSWERS_FIT {
            let least = (before + TOO_LOW_PERCENT).min(MAX_EXTRA_PERCENT);
            self.extra_percent = self.extra_percent.max(least);
        }
        window
    }

    /// Bounds results by a quarter of this window, shortens existing ones, and remembers the window that was
    /// assumed before.
    pub(super) fn assume_window(&mut self, window: u64, config: &AgentConfig) {
        self.longest_result = Some(window / 4);
        self.assumed_window.get_or_insert(config.model.context_window);
        self.shorten_all();
    }

    /// Shortens tool results to a quarter of the window, if the window is as large as assumed and the
    /// conversation still does not fit, because the latest exchanges are always sent. If only these were
    /// refused, to a quarter of their size.
    ///
    /// `false` if that was done before, or the session is older than version 4 of the rules.
    pub(crate) fn shorten_results(&mut self, config: &AgentConfig) -> bool {
        let mut longest = config.model.context_window / 4;
        if config.rules_version >= since::GUESSES_CONTINUE && self.units(self.window_start).len() <= 2 {
            let refused = (self.asked_tokens / 4).max(LEAST_WINDOW / 4);
            longest = longest.min(refused).min(self.longest_result.unwrap_or(u64::MAX));
        }
        if config.rules_version < since::RESULTS_ARE_SHORTENED || self.longest_result == Some(longest) {
            return false;
        }
        self.beginning_changed(config);
        self.longest_result = Some(longest);
        self.shorten_all();
        true
    }

    /// Limits the answer length to what fits beside the input: vLLM and others refuse a request whose maximum
    /// answer length does not fit.
    ///
    /// `false` if no limit is sent, or too little is left; with `most`, if that is less than half of the
    /// wanted length.
    pub(crate) fn shorten_answer(&mut self, config: &AgentConfig, most: bool) -> bool {
        if config.rules_version >= since::ANSWERS_FIT {
            // Each refusal has raised the estimate, so this ends.
            return self.extra_percent < MAX_EXTRA_PERCENT && self.fits_with_a_shorter_answer(config, most);
        }
        let asked = self.limited(&config.params).max_output_tokens;
        let read = self.corrected(self.asked_tokens);
        let left = config
            .model
            .context_window
            .saturating_sub(read.saturating_mul(11) / 10);
        let helps = asked.is_some_and(|asked| (LEAST_ANSWER..asked).contains(&left));
        if helps && config.rules_version >= since::SHORTER_ANSWERS {
            self.before_repairs.get_or_insert_with(|| self.repairs.clone());
            self.repairs.answer = Some(left);
            return true;
        }
        false
    }

    /// Returns whether the next request would be smaller than the refused one, or could be: more than two
    /// units are in the window.
    pub(crate) fn can_send_less(&mut self, config: &AgentConfig) -> bool {
        self.units(self.window_start).len() > 2 || self.size(config) < self.asked_tokens
    }

    /// Returns whether the latest message of a person, to which the model has said nothing yet, takes more
    /// than half of the window: a summary of what comes before it would not help.
    pub(crate) fn has_oversized_input(&self, config: &AgentConfig) -> bool {
        let latest = self.entries.iter().rev();
        let mut inputs = latest.take_while(|entry| entry.message.role == Role::User);
        inputs.any(|entry| self.corrected(entry.tokens) > config.model.context_window / 2)
    }

    /// Forgets the learned window, because another model answers from now on.
    pub(crate) fn forget_window(&mut self) {
        self.longest_result = None;
        self.assumed_window = None;
        self.guessed = None;
        self.before_guess = None;
    }

    /// The window that was assumed before a smaller one was learned; `None` if none was learned.
    pub(crate) fn assumed_window(&self) -> Option<u64> {
        self.assumed_window
    }

    /// Shortens every result that is longer than the bound, at any position.
    fn shorten_all(&mut self) {
        for index in 0..self.entries.len() {
            let message = self.shortened(self.entries[index].message.clone());
            self.entries[index].tokens = estimate_message(&message);
            self.entries[index].message = message;
        }
        self.window_tokens.clear();
    }

    /// The message with its tool results shortened to the bound, if there is one.
    pub(super) fn shortened(&self, message: Arc<Message>) -> Arc<Message> {
        match self.longest_result.filter(|_| message.role == Role::Tool) {
            Some(longest) => with_short_results(message, longest),
            None => message,
        }
    }
}
