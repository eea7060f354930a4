//! The number of tokens that an answer may have, if a provider has refused the requested number.

use agentx_types::{AgentConfig, ModelParams, since};

use super::Conversation;

impl Conversation {
    /// Settings of a call with the maximum answer length that the provider accepts; without a number if the
    /// provider decides.
    pub(super) fn limited(&self, params: &ModelParams) -> ModelParams {
        let max_output_tokens = match self.repairs.answer {
            None => params.max_output_tokens,
            Some(0) => None,
            Some(most) => Some(params.max_output_tokens.map_or(most, |wished| wished.min(most))),
        };
        ModelParams {
            max_output_tokens,
            ..params.clone()
        }
    }

    /// Returns whether the requested maximum answer length can be reduced: to `most` tokens, or to no number
    /// at all. Only once until the provider has accepted a request; Anthropic always requires a number.
    pub(super) fn can_shorten_answer(&self, most: Option<u64>, config: &AgentConfig) -> bool {
        let model = &config.model;
        let asked = self.limited(&config.params).max_output_tokens;
        let is_first = self
            .before_repairs
            .as_ref()
            .is_none_or(|before| before.answer == self.repairs.answer);
        let helps = match most {
            Some(most) => most > 0 && most < model.longest_answer(asked),
            None => asked.is_some() && !model.api.speaks_messages(),
        };
        is_first && helps && config.rules_version >= since::LONGEST_ANSWER_IS_REPAIRED
    }
}
