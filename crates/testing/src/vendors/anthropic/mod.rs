//! Anthropic Messages, with its own strictness.

mod answer;
mod blocks;
mod form;
mod messages;
mod model;
mod rules;
mod thinking;

pub use rules::RULES;

use std::collections::BTreeMap;

use serde_json::Value;

use super::count::{PromptCache, tokens};
use super::{CountedTokens, VendorRefusal};
use model::VendorModel;
use thinking::ThinkingPosition;

/// The most bytes of a request.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The API. It remembers the contents of its cache; signatures of thinking contain everything that is needed
/// to check them.
#[derive(Clone, Debug)]
pub struct Anthropic {
    enforces_prefixes: bool,
    window: Option<u64>,
    names: BTreeMap<String, String>,
    others: Option<String>,
    cache: PromptCache,
    answers: u64,
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub struct AcceptedMessages {
    /// The counted tokens.
    pub counted: CountedTokens,
    /// Whether the tokens written into the cache are kept for an hour.
    pub for_an_hour: bool,
    /// The thinking blocks that were dropped, as `messages.1.content.0: reason`.
    pub dropped: Vec<String>,
    /// Whether the model thinks.
    pub thinks: bool,
    shows_thinking: bool,
    model: VendorModel,
    place: ThinkingPosition,
    answer: u64,
}

impl AcceptedMessages {
    /// Returns the thinking that was dropped because the text before it had changed.
    pub fn changed_prefixes(&self) -> impl Iterator<Item = String> {
        let changed = self
            .dropped
            .iter()
            .filter(|name| name.ends_with("prefix_mismatch"));
        changed.cloned()
    }
}

impl Default for Anthropic {
    fn default() -> Self {
        Self::new()
    }
}

impl Anthropic {
    /// Creates the API for an account that was made after August 2026: prefixes are checked, and a mismatch
    /// is a 400.
    pub fn new() -> Self {
        Self {
            enforces_prefixes: true,
            window: None,
            names: BTreeMap::new(),
            others: None,
            cache: PromptCache::default(),
            answers: 0,
        }
    }

    /// Applies the rules for an older account: prefixes are checked only if the request sets the action for a
    /// mismatch.
    #[must_use]
    pub fn of_an_older_account(mut self) -> Self {
        self.enforces_prefixes = false;
        self
    }

    /// Sets a window of this many tokens for every model.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Adds a made-up model `name` that behaves like `like`.
    #[must_use]
    pub fn knowing(mut self, name: &str, like: &str) -> Self {
        self.names.insert(name.to_owned(), like.to_owned());
        self
    }

    /// Models that do not exist behave like `like`, instead of being refused.
    #[must_use]
    pub fn knowing_all_as(mut self, like: &str) -> Self {
        self.others = Some(like.to_owned());
        self
    }

    /// Looks at the body of a request and the value of its header `anthropic-beta`.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn check(&mut self, body: &[u8], beta: &str) -> Result<AcceptedMessages, VendorRefusal> {
        if body.len() > MAX_BYTES {
            let message = "Request exceeds the maximum size";
            return Err(VendorRefusal::anthropic(rules::SIZE, 413, message));
        }
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            VendorRefusal::anthropic(
                rules::JSON,
                400,
                format!("The request body is not valid JSON: {error}"),
            )
        })?;
        if !body.is_object() {
            return Err(refuse(rules::JSON, "The request body is not an object"));
        }
        let name = body["model"].as_str().unwrap_or_default();
        let like = self.names.get(name).map_or(name, String::as_str);
        let other = || VendorModel::named(name, self.others.as_deref()?);
        let Some(mut model) = VendorModel::named(name, like).or_else(other) else {
            return Err(VendorRefusal::anthropic(
                rules::MODEL,
                404,
                format!("model: {name}"),
            ));
        };
        model.window = self.window.unwrap_or(model.window);
        let thinking = form::check(&body, beta, &model)?;
        messages::check(&body, &model, &thinking)?;
        let (place, dropped) = thinking::check(&body, &model, &thinking, self.enforces_prefixes)?;
        let counted = self.count(&body, &model)?;
        self.answers += 1;
        Ok(AcceptedMessages {
            counted,
            for_an_hour: blocks::marks(&body).iter().any(|mark| mark["ttl"] == "1h"),
            dropped,
            thinks: thinking.thinks,
            shows_thinking: thinking.shown,
            model,
            place,
            answer: self.answers,
        })
    }

    fn count(&mut self, body: &Value, model: &VendorModel) -> Result<CountedTokens, VendorRefusal> {
        let blocks = blocks::in_order(body);
        let total: u64 = blocks
            .iter()
            .map(|(block, _)| tokens(block.to_string().len()))
            .sum();
        if total > model.window {
            let message = format!("prompt is too long: {total} tokens > {} maximum", model.window);
            return Err(VendorRefusal::anthropic(rules::WINDOW, 400, message));
        }
        Ok(self.cache.count(&model.name, &blocks))
    }
}

fn refuse(rule: &'static super::VendorRule, message: impl Into<String>) -> VendorRefusal {
    VendorRefusal::anthropic(rule, 400, message)
}
