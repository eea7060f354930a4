//! OpenAI's Responses, as strict as OpenAI is.

mod answer;
mod form;
mod input;
mod rules;

pub use rules::RULES;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::count::{PromptCache, tokens};
use super::{CountedTokens, VendorRefusal, VendorRule};

/// A server.
#[derive(Clone, Debug)]
pub struct ResponsesServer {
    window: u64,
    verified: bool,
    cache: PromptCache,
    answers: u64,
}

impl Default for ResponsesServer {
    fn default() -> Self {
        Self::new()
    }
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub struct AcceptedResponse {
    /// The counted tokens.
    pub counted: CountedTokens,
    model: String,
    answer: u64,
    /// Whether the model reasons, and the request asked for reasoning that can be sent back.
    encrypts: bool,
    reasons: bool,
    summarizes: bool,
}

impl ResponsesServer {
    /// Creates a server with a window of 400,000 tokens, for an organization that has been verified.
    pub fn new() -> Self {
        Self {
            window: 400_000,
            verified: true,
            cache: PromptCache::default(),
            answers: 0,
        }
    }

    /// Sets a window of this many tokens.
    #[must_use]
    pub fn with_window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// For an organization that has not been verified: it is refused summaries of reasoning.
    #[must_use]
    pub fn unverified(mut self) -> Self {
        self.verified = false;
        self
    }

    /// Checks the body of a request.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn check(&mut self, body: &[u8]) -> Result<AcceptedResponse, VendorRefusal> {
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            refuse(
                rules::JSON,
                None,
                &format!("We could not parse the JSON body: {error}"),
            )
        })?;
        form::check(&body, self.verified)?;
        input::check(&body)?;
        let counted = self.count(&body)?;
        self.answers += 1;
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        let includes = body["include"].to_string();
        Ok(AcceptedResponse {
            counted,
            answer: self.answers,
            encrypts: includes.contains("reasoning.encrypted_content"),
            reasons: form::reasoning_version(&model).is_some(),
            summarizes: body["reasoning"]["summary"].is_string(),
            model,
        })
    }

    fn count(&mut self, body: &Value) -> Result<CountedTokens, VendorRefusal> {
        let lists = [&body["tools"], &body["input"]];
        let items = lists.into_iter().filter_map(Value::as_array).flatten();
        let first = std::iter::once(&body["instructions"]);
        let blocks: Vec<(Value, bool)> = first.chain(items).map(|item| (item.clone(), true)).collect();
        let sizes = blocks.iter().map(|(block, _)| tokens(block.to_string().len()));
        if sizes.sum::<u64>() > self.window {
            let message = "Your input exceeds the context window of this model. Please adjust your input and try again.";
            let mut refusal = refuse(rules::WINDOW, Some("input"), message);
            refusal.body["error"]["code"] = json!("context_length_exceeded");
            return Err(refusal);
        }
        Ok(self
            .cache
            .count(body["model"].as_str().unwrap_or_default(), &blocks))
    }
}

/// A refusal in the form of OpenAI.
fn refuse(rule: &'static VendorRule, param: Option<&str>, message: &str) -> VendorRefusal {
    let error = json!({ "message": message, "type": "invalid_request_error", "param": param, "code": null });
    VendorRefusal {
        rule,
        status: 400,
        message: message.to_owned(),
        body: json!({ "error": error }),
    }
}

/// The reasoning that the server encrypts for a model: nobody else can read it.
fn encrypted(model: &str, words: &str) -> String {
    format!("gAAAA{:016x}-{words}", super::fingerprint(0, model))
}

/// The ids of the calls in an input that have no output yet.
type UnansweredCalls<'a> = BTreeSet<&'a str>;
