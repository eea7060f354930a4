//! The division of the window between the request and the room that is kept free for the answer.
//!
//! ```text
//! window = prefix (instructions, tools) + budget (messages) + kept free for the answer
//!          └────────────── room ─────┘
//! ```
//!
//! `in_use` is what a request holds, and `size` is the same by estimate alone. All are tokens; what is
//! compared with the window is corrected to how the provider counts.

use agentx_types::{AgentConfig, Api, ModelParams, since};

use super::Conversation;
use super::estimate::room as beside_the_longest_answer;

/// No answer is asked for that may have fewer tokens than this: it would be none.
pub(super) const LEAST_ANSWER: u64 = 256;

impl Conversation {
    /// Tokens of a request with all that is in the window, as the provider counts: what it counted last, and
    /// the estimate of what has come since.
    ///
    /// A provider that counts less than half of the estimate is not believed: there are servers that report
    /// anything.
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

    /// An estimate as the provider would count it. Never less than the estimate: a provider that counts less
    /// leaves room unused, which harms nobody.
    pub(super) fn corrected(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(100 + self.extra_percent) / 100
    }

    /// The number of tokens of a request that fit beside the answer, as the provider counts.
    ///
    /// The answer gets at most half of what instructions and tools leave: in a small window nothing would be
    /// left for the conversation otherwise.
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

    /// The most tokens that the latest units may keep: a quarter of the window, and a third of what
    /// instructions and tools leave of it. In a small window that they fill by half, a quarter would be most
    /// of what is left, and every few exchanges would be condensed.
    pub(super) fn longest_tail(&mut self, config: &AgentConfig) -> u64 {
        let quarter = config.model.context_window / 4;
        if config.rules_version < since::TAILS_LEAVE_ROOM {
            return quarter;
        }
        quarter.min(self.budget(config) / 3)
    }

    /// Estimates the tokens of a request with the whole window.
    pub(super) fn size(&mut self, config: &AgentConfig) -> u64 {
        let prefix = self.prefix(config).tokens;
        prefix.saturating_add(self.tokens_in_window())
    }

    /// Settings of the next call, with no longer answer than fits beside what is read.
    ///
    /// vLLM (<https://github.com/vllm-project/vllm/issues/42474>) and others refuse a request whose longest
    /// answer does not. At least 256 tokens are asked for.
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

    /// Returns the maximum length of the answer that the next request asks for, in tokens; `None` if the server is to
    /// decide.
    pub(crate) fn requested_length(&mut self, config: &AgentConfig) -> Option<u64> {
        let wished = self.fitting(config).max_output_tokens;
        let is_requested = wished.is_some() || config.model.api == Api::Anthropic;
        is_requested.then(|| config.model.longest_answer(wished))
    }

    /// Returns whether a request with a shorter answer may fit, after the last one did not. With `most` only
    /// where at least half of the answer that is wanted is left.
    pub(super) fn fits_with_a_shorter_answer(&mut self, config: &AgentConfig, most: bool) -> bool {
        let Some(longest) = self.longest_answer(config) else {
            return false;
        };
        let least = if most { longest / 2 } else { LEAST_ANSWER };
        self.answer_budget(config) >= least.max(LEAST_ANSWER)
    }

    /// The longest answer that is asked for, in tokens: the one that is wished for, within what the model
    /// can; Anthropic's API always wants a number. `None` if none is asked for.
    fn longest_answer(&self, config: &AgentConfig) -> Option<u64> {
        let model = &config.model;
        if config.rules_version < since::ANSWERS_FIT {
            return None;
        }
        let wished = self.limited(&config.params).max_output_tokens;
        let always = (model.api == Api::Anthropic).then_some(model.max_output_tokens);
        wished.or(always)?;
        Some(model.longest_answer(wished))
    }

    /// Tokens that the next request leaves of the window. Two percent of what is read are kept for what the
    /// count may be wrong by.
    fn answer_budget(&mut self, config: &AgentConfig) -> u64 {
        let read = self.in_use(config);
        let window = config.model.context_window;
        window.saturating_sub(read.saturating_add(read / 50))
    }
}
