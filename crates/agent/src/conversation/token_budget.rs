//! The division of the window between the request and the room that is kept free for the answer.
//!
//! ```text
//! window = prefix (instructions, tools) + budget (messages) + kept free for the answer
//!          └────────────── room ─────┘
//! ```
//!
//! `in_use` is the size of a request, and `size` is only its estimate. All are tokens; sizes that are
//! compared with the window are corrected to the provider's counts.

use agentx_types::{AgentConfig, ModelParams, since};

use super::Conversation;
use crate::token_estimate::room as beside_the_longest_answer;

/// The minimum length of a requested answer: a shorter one would be useless.
pub(super) const LEAST_ANSWER: u64 = 256;

impl Conversation {
    /// Tokens of a request with everything in the window, as the provider counts: its last count, and the
    /// estimate of later messages.
    ///
    /// A count below half of the estimate is ignored, because some servers report arbitrary numbers.
    pub(crate) fn in_use(&mut self, config: &AgentConfig) -> u64 {
        let size = self.size(config);
        let estimated = self.corrected(size);
        let counted = self.counted.map(|(tokens, entries)| {
            let since = self.tokens(entries.min(self.entries.len()), self.entries.len());
            tokens.saturating_add(self.corrected(since))
        });
        counted
            .filter(|counted| counted.saturating_mul(2) >= estimated)
            .unwrap_or(estimated)
    }

    /// An estimate as the provider would count it. Never less than the estimate: if a provider counts less,
    /// some room stays unused, which does no harm.
    pub(super) fn corrected(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(100 + self.extra_percent) / 100
    }

    /// The number of tokens of a request that fit beside the answer, as the provider counts.
    ///
    /// The answer gets at most half of the window that instructions and tools leave: otherwise a small window
    /// would leave nothing for the conversation.
    pub(super) fn room(&mut self, config: &AgentConfig) -> u64 {
        let room = beside_the_longest_answer(config);
        if config.rules_version < since::ANSWERS_FIT {
            return room;
        }
        let window = config.model.context_window;
        let prefix = self.prefix(config).tokens;
        let left = window.saturating_sub(self.corrected(prefix));
        window - (window - room).min(left / 2)
    }

    /// The number of tokens of the room that are left for messages, as the provider counts: without
    /// instructions and tools.
    pub(super) fn budget(&mut self, config: &AgentConfig) -> u64 {
        let prefix = self.prefix(config).tokens;
        let prefix = match config.rules_version {
            since::ANSWERS_FIT.. => self.corrected(prefix),
            _ => prefix,
        };
        self.room(config).saturating_sub(prefix)
    }

    /// The maximum number of tokens of the latest units that stay: a quarter of the window, and a third of
    /// the part that instructions and tools leave.
    ///
    /// In a small window that they fill by half, a quarter would be most of the rest, and every few exchanges
    /// would be condensed.
    pub(super) fn longest_tail(&mut self, config: &AgentConfig) -> u64 {
        let quarter = config.model.context_window / 4;
        if config.rules_version < since::KEPT_EXCHANGES_BOUNDED {
            return quarter;
        }
        quarter.min(self.budget(config) / 3)
    }

    /// Estimates the tokens of a request with the whole window.
    pub(super) fn size(&mut self, config: &AgentConfig) -> u64 {
        let prefix = self.prefix(config).tokens;
        prefix.saturating_add(self.tokens_in_window())
    }

    /// Settings of the next call, with a maximum answer length that fits beside the input.
    ///
    /// vLLM (<https://github.com/vllm-project/vllm/issues/42474>) and others refuse a request whose maximum
    /// answer length does not fit. It is at least 256 tokens.
    pub(super) fn fitting(&mut self, config: &AgentConfig) -> ModelParams {
        let mut params = self.limited(&config.params);
        if let Some(longest) = self.longest_answer(config) {
            let left = self.answer_budget(config);
            if left < longest {
                params.max_output_tokens = Some(left.max(LEAST_ANSWER));
            }
        }
        params
    }

    /// Returns the maximum length of the answer that the next request asks for, in tokens; `None` if the
    /// server is to decide.
    pub(crate) fn requested_length(&mut self, config: &AgentConfig) -> Option<u64> {
        let wished = self.fitting(config).max_output_tokens;
        let is_requested = wished.is_some() || config.model.api.speaks_messages();
        is_requested.then(|| config.model.longest_answer(wished))
    }

    /// Returns whether a request with a shorter answer may fit, after the last one did not. With `most` only
    /// if at least half of the wanted length is left.
    pub(super) fn fits_with_a_shorter_answer(&mut self, config: &AgentConfig, most: bool) -> bool {
        let Some(longest) = self.longest_answer(config) else {
            return false;
        };
        let least = if most { longest / 2 } else { LEAST_ANSWER };
        self.answer_budget(config) >= least.max(LEAST_ANSWER)
    }

    /// The requested maximum answer length in tokens: the configured one, within the model's maximum;
    /// Anthropic's API always requires a number. `None` if none is requested.
    fn longest_answer(&self, config: &AgentConfig) -> Option<u64> {
        let model = &config.model;
        if config.rules_version < since::ANSWERS_FIT {
            return None;
        }
        let wished = self.limited(&config.params).max_output_tokens;
        let always = model.api.speaks_messages().then_some(model.max_output_tokens);
        wished.or(always)?;
        Some(model.longest_answer(wished))
    }

    /// Tokens that the next request leaves of the window. Two percent of the input are reserved for errors of
    /// the count.
    fn answer_budget(&mut self, config: &AgentConfig) -> u64 {
        let read = self.in_use(config);
        let window = config.model.context_window;
        window.saturating_sub(read.saturating_add(read / 50))
    }
}
