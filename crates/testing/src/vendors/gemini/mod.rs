//! Gemini, as strict as Google is.

mod answer;
mod contents;
mod form;
mod rules;

pub(super) use form::is_name;
pub use rules::RULES;

use serde_json::{Value, json};

use super::count::{PromptCache, tokens};
use super::{CountedTokens, VendorRefusal, VendorRule, fingerprint};

/// A placeholder for a missing signature (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const UNCHECKED: &str = "skip_thought_signature_validator";

/// A server.
#[derive(Clone, Debug)]
pub struct GeminiServer {
    window: u64,
    is_vertex: bool,
    cache: PromptCache,
    answers: u64,
}

impl Default for GeminiServer {
    fn default() -> Self {
        Self::new()
    }
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub struct AcceptedContent {
    /// The counted tokens.
    pub counted: CountedTokens,
    model: String,
    answer: u64,
    is_vertex: bool,
    /// Whether thoughts were requested.
    thinks: bool,
}

impl GeminiServer {
    /// Creates a server of Google AI with a window of 1,048,576 tokens.
    pub fn new() -> Self {
        Self {
            window: 1_048_576,
            is_vertex: false,
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

    /// Behaves as a server of Vertex AI.
    #[must_use]
    pub fn vertex(mut self) -> Self {
        self.is_vertex = true;
        self
    }

    /// Checks the path and the body of a request.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn check(&mut self, path: &str, body: &[u8]) -> Result<AcceptedContent, VendorRefusal> {
        let model = model_of(path)?;
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| refuse(rules::JSON, &format!("Invalid JSON payload received. {error}")))?;
        form::check(&body, &model)?;
        contents::check(&body, &model, self.is_vertex)?;
        let counted = self.count(&body, &model)?;
        self.answers += 1;
        Ok(AcceptedContent {
            counted,
            answer: self.answers,
            is_vertex: self.is_vertex,
            thinks: body["generationConfig"]["thinkingConfig"]["includeThoughts"] == true,
            model,
        })
    }

    fn count(&mut self, body: &Value, model: &str) -> Result<CountedTokens, VendorRefusal> {
        let lists = [&body["tools"], &body["contents"]];
        let items = lists.into_iter().filter_map(Value::as_array).flatten();
        let first = std::iter::once(&body["systemInstruction"]);
        let blocks: Vec<(Value, bool)> = first.chain(items).map(|item| (item.clone(), true)).collect();
        let sizes = blocks.iter().map(|(block, _)| tokens(block.to_string().len()));
        let (sum, window) = (sizes.sum::<u64>(), self.window);
        if sum > window {
            let message = format!(
                "The input token count ({sum}) exceeds the maximum number of tokens allowed ({window})."
            );
            return Err(refuse(rules::WINDOW, &message));
        }
        Ok(self.cache.count(model, &blocks))
    }
}

/// The model that a path names.
fn model_of(path: &str) -> Result<String, VendorRefusal> {
    let path = path.split('?').next().unwrap_or_default();
    let named = path.split_once("/models/").map(|(_, rest)| rest);
    let model = named.and_then(|rest| rest.strip_suffix(":streamGenerateContent"));
    match model.filter(|model| !model.is_empty() && !model.contains('/')) {
        Some(model) => Ok(model.to_owned()),
        None => {
            let mut refusal = refuse(rules::PATH, "The requested URL was not found on this server.");
            refusal.status = 404;
            refusal.body["error"]["code"] = json!(404);
            refusal.body["error"]["status"] = json!("NOT_FOUND");
            Err(refusal)
        }
    }
}

/// The version of a model: 38 for `gemini-3.8-flash`, 25 for `gemini-2.5-pro`; 0 for others.
pub(super) fn version(model: &str) -> u32 {
    let rest = model.strip_prefix("gemini-").unwrap_or_default();
    let mut numbers = rest.split('-').next().unwrap_or_default().split('.');
    let mut next = || numbers.next().and_then(|part| part.parse::<u32>().ok());
    next().map_or(0, |major| major * 10 + next().unwrap_or(0))
}

/// A refusal in the form of Google.
fn refuse(rule: &'static VendorRule, message: &str) -> VendorRefusal {
    let error = json!({ "code": 400, "message": message, "status": "INVALID_ARGUMENT" });
    VendorRefusal {
        rule,
        status: 400,
        message: message.to_owned(),
        body: json!({ "error": error }),
    }
}

/// Returns the prefix of a model's signatures: nobody else can check them.
fn signature(model: &str) -> String {
    format!("EqsF{:016x}", fingerprint(0, model))
}
