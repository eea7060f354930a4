//! OpenAI Chat Completions, as strict as OpenAI is, and as servers that are compatible with it are in other
//! ways.

mod answer;
mod form;
mod messages;
mod rules;

pub use rules::RULES;

use serde_json::{Value, json};

use super::count::{PromptCache, tokens};
use super::{CountedTokens, VendorRefusal, VendorRule};

/// The vendor or program of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's own.
    OpenAi,
    /// Mistral's.
    Mistral,
    /// DeepSeek's: it requires reasoning with each answer.
    DeepSeek,
    /// Groq's: only its models that reason are sent reasoning back.
    Groq,
    /// Perplexity's: roles take turns.
    Perplexity,
    /// llama-cpp-python: no message without a text.
    LlamaCppPython,
    /// llama.cpp's own server: it names `n_ctx` if a request is too long.
    LlamaCpp,
    /// llama.cpp's own server with the template of Devstral, Mistral Small and Ministral: a person and the
    /// assistant take turns, calls and results aside.
    Devstral,
    /// vLLM with the template of Gemma 3: only `user` and `assistant`, which must alternate.
    Gemma,
    /// Ollama: it refuses nothing, and cuts off the beginning of a request that is too long (`num_ctx`).
    /// <https://github.com/ollama/ollama/issues/17889>
    Ollama,
}

/// A server.
#[derive(Clone, Debug)]
pub struct ChatServer {
    dialect: Dialect,
    window: u64,
    cache: PromptCache,
    answers: u64,
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub struct AcceptedCompletion {
    /// The counted tokens: those that the server read.
    pub counted: CountedTokens,
    /// The number of tokens that were cut off at the beginning.
    pub cut_off: u64,
    model: String,
    answer: u64,
    /// The field that reasoning comes in; `None` of a model that does not reason.
    reasoning: Option<&'static str>,
}

impl ChatServer {
    /// Creates a server of this kind.
    pub fn new(dialect: Dialect) -> Self {
        let window = match dialect {
            Dialect::Ollama => 4_096,
            Dialect::LlamaCpp | Dialect::LlamaCppPython | Dialect::Devstral | Dialect::Gemma => 32_768,
            Dialect::OpenAi | Dialect::Mistral | Dialect::DeepSeek | Dialect::Groq | Dialect::Perplexity => {
                128_000
            }
        };
        Self {
            dialect,
            window,
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

    /// Looks at the body of a request.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn check(&mut self, body: &[u8]) -> Result<AcceptedCompletion, VendorRefusal> {
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            self.dialect
                .refuse(rules::JSON, &format!("We could not parse the JSON body: {error}"))
        })?;
        form::check(&body, self.dialect)?;
        messages::check(&body, self.dialect)?;
        let (counted, cut_off) = self.count(&body)?;
        self.answers += 1;
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        Ok(AcceptedCompletion {
            counted,
            cut_off,
            reasoning: self.dialect.reasoning_of(&model),
            model,
            answer: self.answers,
        })
    }

    fn count(&mut self, body: &Value) -> Result<(CountedTokens, u64), VendorRefusal> {
        let lists = [&body["tools"], &body["messages"]];
        let items = lists.into_iter().filter_map(Value::as_array).flatten();
        let blocks: Vec<(Value, bool)> = items.map(|item| (item.clone(), true)).collect();
        let total: u64 = blocks
            .iter()
            .map(|(block, _)| tokens(block.to_string().len()))
            .sum();
        let over = total.saturating_sub(self.window);
        if self.dialect == Dialect::Ollama {
            let counted = CountedTokens {
                input: total - over,
                ..CountedTokens::default()
            };
            return Ok((counted, over));
        }
        if over > 0 {
            return Err(self.dialect.full(total, self.window));
        }
        if self.dialect == Dialect::Gemma {
            self.counts_the_answer(body, total)?;
        }
        let counted = self
            .cache
            .count(body["model"].as_str().unwrap_or_default(), &blocks);
        Ok((counted, 0))
    }
}

impl ChatServer {
    /// Applies vLLM's rule: it reads the prompt only up to where the requested answer no longer fits.
    fn counts_the_answer(&self, body: &Value, total: u64) -> Result<(), VendorRefusal> {
        let answer = body["max_tokens"].as_u64().unwrap_or_default();
        let window = self.window;
        if total + answer <= window {
            return Ok(());
        }
        let read = total.min(window.saturating_sub(answer) + 1);
        let sum = read + answer;
        let message = format!(
            "This model's maximum context length is {window} tokens. However, you requested {answer} output tokens and your prompt contains at least {read} input tokens, for a total of at least {sum} tokens. Please reduce the length of the input prompt or the number of requested output tokens."
        );
        Err(self.dialect.refuse(rules::ANSWER, &message))
    }
}

impl Dialect {
    /// Returns the field in which this model's reasoning comes; of Groq's models, `gpt-oss` and Qwen reason.
    fn reasoning_of(self, model: &str) -> Option<&'static str> {
        match self {
            Self::Groq if ["gpt-oss", "qwen"].iter().any(|family| model.contains(family)) => {
                Some("reasoning")
            }
            Self::Groq => None,
            _ => Some("reasoning_content"),
        }
    }

    /// Returns a refusal in the form of this server.
    fn refuse(self, rule: &'static VendorRule, message: &str) -> VendorRefusal {
        let (status, body) = match self {
            Self::Mistral if rule == rules::FIELD => (
                422,
                json!({ "object": "error", "message": { "detail": [{ "type": "extra_forbidden", "msg": message }] }, "type": "invalid_request_error", "code": "422" }),
            ),
            Self::Mistral => (
                400,
                json!({ "object": "error", "message": message, "type": "invalid_request_message_order", "param": null, "code": "3230" }),
            ),
            Self::Perplexity => (
                400,
                json!({ "error": { "message": message, "type": "invalid_message", "code": 400 } }),
            ),
            Self::LlamaCppPython => (
                500,
                json!({ "error": { "message": message, "type": "internal_server_error", "param": null, "code": null } }),
            ),
            Self::LlamaCpp | Self::Devstral => (
                500,
                json!({ "error": { "code": 500, "message": message, "type": "server_error" } }),
            ),
            Self::Gemma => (
                400,
                json!({ "error": { "message": message, "type": "BadRequestError", "param": null, "code": 400 } }),
            ),
            Self::OpenAi | Self::Ollama | Self::DeepSeek | Self::Groq => (
                400,
                json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": null } }),
            ),
        };
        VendorRefusal {
            rule,
            status,
            message: message.to_owned(),
            body,
        }
    }

    /// Returns the refusal of a request that is too long.
    fn full(self, total: u64, window: u64) -> VendorRefusal {
        let message = format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {total} tokens."
        );
        let mut refusal = self.refuse(rules::WINDOW, &message);
        match self {
            Self::OpenAi => refusal.body["error"]["code"] = json!("context_length_exceeded"),
            Self::Mistral => {
                refusal.message = format!(
                    "Prompt contains {total} tokens, too large for model with {window} maximum context length"
                );
                refusal.body["message"] = json!(refusal.message);
            }
            Self::LlamaCpp | Self::Devstral => {
                let message = "the request exceeds the available context size, try increasing it";
                let error = json!({ "code": 400, "message": message, "type": "exceed_context_size_error", "n_prompt_tokens": total, "n_ctx": window });
                message.clone_into(&mut refusal.message);
                (refusal.status, refusal.body) = (400, json!({ "error": error }));
            }
            Self::LlamaCppPython => {
                refusal.status = 400;
                refusal.body["error"]["code"] = json!("context_length_exceeded");
            }
            Self::Perplexity | Self::Ollama | Self::Gemma | Self::DeepSeek | Self::Groq => {}
        }
        refusal
    }

    /// Returns whether system messages are allowed only at the beginning.
    fn wants_system_first(self) -> bool {
        !matches!(self, Self::OpenAi | Self::Ollama | Self::DeepSeek | Self::Groq)
    }
}
