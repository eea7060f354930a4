//! Amazon Bedrock's Converse, as strict as its published types and the refusals that people have reported.
//! Who asks is checked by [`BedrockServer`](super::BedrockServer) alone.

mod answer;
mod blocks;
mod rules;
mod settings;

pub use rules::RULES;

use serde_json::{Value, json};

use super::count::{PromptCache, tokens};
use super::{CountedTokens, VendorRefusal, VendorRule, fingerprint};

/// The fields of a body.
const FIELDS: &[&str] = &[
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "guardrailConfig",
    "inferenceConfig",
    "messages",
    "outputConfig",
    "performanceConfig",
    "promptVariables",
    "requestMetadata",
    "serviceTier",
    "system",
    "toolConfig",
];

/// A server.
#[derive(Clone, Debug)]
pub struct ConverseServer {
    window: u64,
    cache: PromptCache,
    answers: u64,
}

impl Default for ConverseServer {
    fn default() -> Self {
        Self::new()
    }
}

/// A request that was accepted.
#[derive(Clone, Debug)]
pub struct AcceptedConversation {
    /// The counted tokens.
    pub counted: CountedTokens,
    model: String,
    answer: u64,
}

impl ConverseServer {
    /// Creates a server with a window of 300,000 tokens.
    pub fn new() -> Self {
        Self {
            window: 300_000,
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

    /// Checks the body of a request to a model.
    ///
    /// # Errors
    /// Returns the first rule that the request breaks.
    pub fn check(&mut self, model: &str, body: &[u8]) -> Result<AcceptedConversation, VendorRefusal> {
        let message = "The request body is not valid JSON.";
        let body: Value = serde_json::from_slice(body).map_err(|_| refuse(rules::JSON, message))?;
        form(&body)?;
        blocks::check(&body, model)?;
        settings::check(&body, model)?;
        let counted = self.count(&body, model)?;
        self.answers += 1;
        Ok(AcceptedConversation {
            counted,
            model: model.to_owned(),
            answer: self.answers,
        })
    }

    fn count(&mut self, body: &Value, model: &str) -> Result<CountedTokens, VendorRefusal> {
        let blocks = marked_blocks(body);
        let sizes = blocks.iter().map(|(block, _)| tokens(block.to_string().len()));
        if sizes.sum::<u64>() > self.window {
            return Err(refuse(rules::WINDOW, "Input is too long for requested model."));
        }
        Ok(self.cache.count(model, &blocks))
    }
}

/// Returns tools, instructions and the blocks of messages in order, each with a flag for a cache point behind
/// it.
fn marked_blocks(body: &Value) -> Vec<(Value, bool)> {
    let mut blocks: Vec<(Value, bool)> = Vec::new();
    let mut add = |role: &Value, list: &Value| {
        for block in list.as_array().into_iter().flatten() {
            match blocks.last_mut() {
                Some(last) if block.get("cachePoint").is_some() => last.1 = true,
                _ => blocks.push((json!([role, block]), false)),
            }
        }
    };
    add(&Value::Null, &body["toolConfig"]["tools"]);
    add(&Value::Null, &body["system"]);
    for message in body["messages"].as_array().into_iter().flatten() {
        add(&message["role"], &message["content"]);
    }
    blocks
}

fn form(body: &Value) -> Result<(), VendorRefusal> {
    if body["messages"].as_array().is_none_or(Vec::is_empty) {
        return Err(refuse(
            rules::JSON,
            "messages: a list that is not empty is required.",
        ));
    }
    let mut keys = body.as_object().into_iter().flat_map(|object| object.keys());
    if let Some(key) = keys.find(|key| !FIELDS.contains(&key.as_str())) {
        let message = format!("Malformed input request: extraneous key [{key}] is not permitted.");
        return Err(refuse(rules::FIELD, &message));
    }
    let config = &body["inferenceConfig"];
    let fits_tokens = config["maxTokens"].is_null() || config["maxTokens"].as_u64() > Some(0);
    let temperature = config["temperature"].as_f64().unwrap_or_default();
    if !fits_tokens || !(0.0..=1.0).contains(&temperature) {
        let message = format!("Invalid inferenceConfig: {config}.");
        return Err(refuse(rules::CONFIG, &message));
    }
    let tools = body["toolConfig"]["tools"].as_array().into_iter().flatten();
    for tool in tools.filter(|tool| tool.get("cachePoint").is_none()) {
        let spec = &tool["toolSpec"];
        let has_words = spec["description"].as_str().is_none_or(|words| !words.is_empty());
        let is_object = spec["inputSchema"]["json"]["type"] == "object";
        if !is_name(spec["name"].as_str().unwrap_or_default()) || !has_words || !is_object {
            return Err(refuse(rules::TOOL, &format!("Invalid toolSpec: {tool}")));
        }
    }
    Ok(())
}

/// Returns whether a name of a tool or an id of a call has its form.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// Returns whether the model is Amazon's or Anthropic's.
fn is_of_amazon_or_anthropic(model: &str) -> bool {
    model.contains("amazon.") || model.contains("anthropic.")
}

/// A refusal in the form of AWS.
fn refuse(rule: &'static VendorRule, message: &str) -> VendorRefusal {
    VendorRefusal {
        rule,
        status: 400,
        message: message.to_owned(),
        body: json!({ "message": message }),
    }
}

/// Returns the prefix of a model's signatures: nobody else can check them.
fn signature(model: &str) -> String {
    format!("c2ln{:016x}", fingerprint(0, model))
}
