//! A window that was only guessed: a refusal named no size, so what was refused is taken for too much. The guess holds once a model has
//! answered what was made shorter for it. A run that ends before that takes it back: its cause was something else, such as a proxy that
//! refuses every request, and a conversation must not be forgotten for that.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_types::{AgentConfig, Message, ModelSpec, Role};
use serde::{Deserialize, Serialize};

use super::estimate::estimate_message;
use super::{Conversation, Entry};

/// The rules of agents of this version and later take guesses back.
const SINCE_RULES: u32 = 6;
/// A refusal of fewer tokens for their bytes, about 32 kB, is not one of a full window: the smallest limits known of proxies and servers
/// are 100 kB (<https://expressjs.com/en/api.html#express.json>) and 1 MB (<https://nginx.org/en/docs/http/ngx_http_core_module.html#client_max_body_size>).
const SMALL_TOKENS: u64 = 8_192;

/// What was sent, and what was assumed of the model, before a guess.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BeforeGuess {
    /// Of the model, in the configuration.
    context_window: u64,
    max_output_tokens: u64,
    window_start: usize,
    stays: Vec<(Arc<Message>, u64)>,
    longest_result: Option<u64>,
    assumed_window: Option<u64>,
    extra_percent: u64,
    /// Up to where thinking was left out.
    thinking: u64,
    /// How many summaries there were.
    condensed: usize,
    /// Results of tools, which may have been shortened, by their events.
    /// By event, as they were before they were shortened.
    results: BTreeMap<u64, Arc<Message>>,
}

impl Conversation {
    /// Remembers what is sent now, unless an earlier guess is still open.
    pub(super) fn remember_before_guess(&mut self, config: &AgentConfig) {
        if config.rules_version < SINCE_RULES || self.before_guess.is_some() {
            return;
        }
        let is_result = |entry: &&Entry| entry.message.role == Role::Tool;
        let results = self.entries.iter().filter(is_result);
        self.before_guess = Some(Box::new(BeforeGuess {
            context_window: config.model.context_window,
            max_output_tokens: config.model.max_output_tokens,
            window_start: self.window_start,
            stays: self.stays.clone(),
            longest_result: self.longest_result,
            assumed_window: self.assumed_window,
            extra_percent: self.extra_percent,
            thinking: self.repairs.thinking,
            condensed: self.condensed.len(),
            results: results.map(|entry| (entry.seq, entry.message.clone())).collect(),
        }));
    }

    /// A run ends: takes back what was guessed in it and did not help. Returns the model with the window that it had, if it changes.
    /// Once an answer has confirmed a guess, it stays: [`was_taken`](Conversation::was_taken) drops the saved window.
    pub(crate) fn take_guess_back(&mut self, model: &ModelSpec) -> Option<ModelSpec> {
        let before = self.before_guess.take()?;
        let model = ModelSpec {
            context_window: before.context_window,
            max_output_tokens: before.max_output_tokens,
            ..model.clone()
        };
        self.longest_result = before.longest_result;
        self.assumed_window = before.assumed_window;
        self.extra_percent = before.extra_percent;
        self.repairs.thinking = before.thinking;
        // Where a summary was put in meanwhile, places are other ones, and what it stands for is not sent anyway.
        if self.condensed.len() == before.condensed {
            self.window_start = before.window_start;
            self.stays = before.stays;
        }
        for entry in &mut self.entries {
            if let Some(message) = before
                .results
                .get(&entry.seq)
                .filter(|message| **message != entry.message && entry.message.role == Role::Tool)
            {
                entry.tokens = estimate_message(message);
                entry.message = message.clone();
            }
        }
        self.window_tokens.clear();
        self.counted = None;
        Some(model)
    }

    /// Whether the last request was so small that its bytes fit anywhere.
    pub(crate) fn asked_little(&self, config: &AgentConfig) -> bool {
        config.rules_version >= SINCE_RULES && self.corrected(self.asked_tokens) < SMALL_TOKENS
    }

    /// Whether the conversation ends with something that no model has answered.
    /// A summary at the end awaits nothing.
    pub(crate) fn awaits_answer(&self) -> bool {
        let last = self.entries.last().filter(|entry| !entry.summary);
        last.is_some_and(|entry| entry.message.role != Role::Assistant)
    }
}
