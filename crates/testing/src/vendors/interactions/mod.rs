//! Gemini's Interactions API with `store: false`, as strict as its published types. Few of its refusals are
//! publicly known: a violation of its types counts as refused, with made-up messages.

mod answer;
mod rules;
mod steps;

pub use rules::RULES;

use serde_json::{Value, json};

use super::count::{PromptCache, tokens};
use super::{CountedTokens, VendorRefusal, VendorRule, fingerprint};

const FIELDS: &[&str] = &[
    "background",
    "environment",
    "generation_config",
    "input",
    "labels",
    "model",
    "previous_interaction_id",
    "response_format",
    "response_mime_type",
    "response_modalities",
    "safety_settings",
    "service_tier",
    "store",
    "stream",
    "system_instruction",
    "tools",
    "webhook_config",
];
const GENERATION: &[&str] = &[
    "image_config",
    "max_output_tokens",
    "seed",
    "speech_config",
    "stop_sequences",
    "thinking_level",
    "thinking_summaries",
    "tool_choice",
    "transcription_config",
    "video_config",
];

/// A server.
#[derive(Clone, Debug)]
pub struct InteractionsServer {
    window: u64,
    cache: PromptCache,
    answers: u64,
}

impl Default for InteractionsServer {
    fn default() -> Self {
        Self::new()
    }
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub struct AcceptedInteraction {
    /// The counted tokens.
    pub counted: CountedTokens,
    model: String,
    answer: u64,
    summarizes: bool,
}

impl InteractionsServer {
    /// Creates a server with a window of 1,048,576 tokens.
    pub fn new() -> Self {
        Self {
            window: 1_048_576,
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

    /// Checks the body of a request.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn check(&mut self, body: &[u8]) -> Result<AcceptedInteraction, VendorRefusal> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| refuse(rules::JSON, &format!("Invalid JSON payload received. {error}")))?;
        form(&body)?;
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        steps::check(&body, &model)?;
        let counted = self.count(&body, &model)?;
        self.answers += 1;
        Ok(AcceptedInteraction {
            counted,
            answer: self.answers,
            summarizes: body["generation_config"]["thinking_summaries"] == "auto",
            model,
        })
    }

    fn count(&mut self, body: &Value, model: &str) -> Result<CountedTokens, VendorRefusal> {
        let lists = [&body["tools"], &body["input"]];
        let items = lists.into_iter().filter_map(Value::as_array).flatten();
        let first = std::iter::once(&body["system_instruction"]);
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

fn form(body: &Value) -> Result<(), VendorRefusal> {
    let is_asked = body["model"].as_str().is_some_and(|model| !model.is_empty());
    if !is_asked || body["input"].as_array().is_none_or(Vec::is_empty) {
        return Err(refuse(rules::JSON, "model and input are required."));
    }
    known(body, FIELDS)?;
    let config = &body["generation_config"];
    if !config.is_null() {
        known(config, GENERATION)?;
    }
    let version = super::gemini_version(body["model"].as_str().unwrap_or_default());
    if config["thinking_level"].is_string() && version < 30 {
        return Err(refuse(
            rules::LEVEL,
            "Thinking level is not supported for this model.",
        ));
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        let name = tool["name"].as_str().unwrap_or_default();
        let parameters = &tool["parameters"];
        let is_object = parameters.is_null() || parameters["type"] == "object";
        if tool["type"] != "function" || !super::is_gemini_name(name) || !is_object {
            return Err(refuse(rules::TOOL, &format!("Invalid tool: {tool}")));
        }
    }
    Ok(())
}

/// Refuses fields that are not among these.
fn known(value: &Value, fields: &[&str]) -> Result<(), VendorRefusal> {
    let mut keys = value.as_object().into_iter().flat_map(|object| object.keys());
    match keys.find(|key| !fields.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(refuse(rules::FIELD, &format!("Unknown parameter '{key}'."))),
    }
}

/// A refusal in the form of Google.
fn refuse(rule: &'static VendorRule, message: &str) -> VendorRefusal {
    let error = json!({ "code": "invalid_request", "message": message });
    VendorRefusal {
        rule,
        status: 400,
        message: message.to_owned(),
        body: json!({ "error": error }),
    }
}

/// Returns the prefix of a model's signatures: nobody else can check them.
fn signature(model: &str) -> String {
    format!("CiIB{:016x}", fingerprint(0, model))
}
