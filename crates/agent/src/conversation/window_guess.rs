//! A guessed window.
//!
//! After a refusal that names no size, the conversation is made shorter than the refused request. That guess
//! is confirmed when a model answers the shorter request. If the run ends before that, the guess is undone:
//! the refusal had another cause, such as a proxy that refuses every request, and this must not cost
//! messages.
//!
//! ```text
//! refused, no size ──▶ remember_before_guess ──▶ shorter ─┬─ answered ──▶ note_accepted: the guess stays
//!                                                         └─ run ends ──▶ take_guess_back: all as before
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_types::{AgentConfig, Message, ModelSpec, Role, since};
use serde::{Deserialize, Serialize};

use super::window_growth::GuessedWindow;
use super::{Conversation, Entry};
use crate::token_estimate::estimate_message;

/// A refusal of fewer tokens for their bytes, about 32 kB, is not one of a full window.
///
/// The smallest limits known of proxies and servers are 100 kB
/// (<https://expressjs.com/en/api.html#express.json>) and 1 MB
/// (<https://nginx.org/en/docs/http/ngx_http_core_module.html#client_max_body_size>).
const SMALL_TOKENS: u64 = 8_192;

/// The state of the conversation and of the model before a guess: each field is the value that its namesake
/// had then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BeforeGuess {
    /// The window of the model in the configuration, in tokens.
    context_window: u64,
    /// The longest answer in the configuration, in tokens.
    max_output_tokens: u64,
    window_start: usize,
    /// The messages that were sent although the window had moved past them.
    stays: Vec<(Arc<Message>, u64)>,
    /// The bound on the length of results, if there was one.
    longest_result: Option<u64>,
    /// The window before one was learned, if one was.
    assumed_window: Option<u64>,
    /// The growth of the window, if it was already a guess.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guessed: Option<GuessedWindow>,
    /// The percentage by which the provider counted more.
    extra_percent: u64,
    /// The end of the messages whose thinking was left out.
    thinking: u64,
    /// The number of summaries: if one came meanwhile, indexes mean other messages.
    condensed: usize,
    /// Messages with results of tools as they were before they were shortened, each with its event. All
    /// results of a round share one event.
    results: Vec<(u64, Arc<Message>)>,
}

impl BeforeGuess {
    /// The window of the model before the guess, in tokens.
    pub(super) fn window(&self) -> u64 {
        self.context_window
    }
}

impl Conversation {
    /// Remembers the current window, unless an earlier guess is still open.
    pub(super) fn remember_before_guess(&mut self, config: &AgentConfig) {
        if config.rules_version < since::GUESSES_ARE_TAKEN_BACK || self.before_guess.is_some() {
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
            guessed: self.guessed,
            extra_percent: self.extra_percent,
            thinking: self.repairs.thinking,
            condensed: self.condensed.len(),
            results: results.map(|entry| (entry.seq, entry.message.clone())).collect(),
        }));
    }

    /// Undoes a guess of the ending run that did not help. Returns the model with its former window, if there
    /// was a guess.
    ///
    /// A guess that an answer has confirmed stays: [`Conversation::note_accepted`] has dropped the remembered
    /// window.
    pub(crate) fn take_guess_back(&mut self, model: &ModelSpec) -> Option<ModelSpec> {
        let before = self.before_guess.take()?;
        let model = ModelSpec {
            context_window: before.context_window,
            max_output_tokens: before.max_output_tokens,
            ..model.clone()
        };
        self.longest_result = before.longest_result;
        self.assumed_window = before.assumed_window;
        self.guessed = before.guessed;
        self.extra_percent = before.extra_percent;
        self.repairs.thinking = before.thinking;
        // If a summary was added meanwhile, positions have changed, and the messages that it replaces are not
        // sent anyway.
        if self.condensed.len() == before.condensed {
            self.window_start = before.window_start;
            self.stays = before.stays;
        }
        let results = before.results.iter();
        let results: BTreeMap<_, _> = results
            .map(|(seq, message)| ((*seq, &message.message_id), message))
            .collect();
        for entry in &mut self.entries {
            if let Some(message) = results
                .get(&(entry.seq, &entry.message.message_id))
                .filter(|message| ***message != entry.message && entry.message.role == Role::Tool)
            {
                entry.tokens = estimate_message(message);
                entry.message = Arc::clone(message);
            }
        }
        self.window_tokens.clear();
        self.counted = None;
        Some(model)
    }

    /// Returns whether the last request was so small (8,192 tokens, about 32 kB) that its bytes fit anywhere:
    /// then it was refused for something else.
    pub(crate) fn asked_little(&self, config: &AgentConfig) -> bool {
        config.rules_version >= since::GUESSES_ARE_TAKEN_BACK
            && self.corrected(self.asked_tokens) < SMALL_TOKENS
    }

    /// Returns whether the conversation ends with something that no model has answered. A summary at the end
    /// awaits nothing.
    pub(crate) fn awaits_answer(&self) -> bool {
        let last = self.entries.last().filter(|entry| !entry.summary);
        last.is_some_and(|entry| entry.message.role != Role::Assistant)
    }
}
