//! Checks the parts of a request outside of its input.

use serde_json::Value;

use super::{refuse, rules};
use crate::vendors::VendorRefusal;
use crate::vendors::answer_schema::refused_by_strict;

const FIELDS: &[&str] = &[
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

pub(super) fn check(body: &Value, verified: bool) -> Result<(), VendorRefusal> {
    let Some(fields) = body.as_object() else {
        return Err(refuse(rules::JSON, None, "The body is not an object"));
    };
    if let Some(field) = fields.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return Err(refuse(
            rules::FIELD,
            Some(field),
            &format!("Unknown parameter: '{field}'."),
        ));
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(refuse(
            rules::JSON,
            Some("model"),
            "Missing required parameter: 'model'.",
        ));
    }
    if body["max_output_tokens"].as_u64().is_some_and(|most| most < 16) {
        let message = format!(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {} instead.",
            body["max_output_tokens"]
        );
        return Err(refuse(rules::SHORT, Some("max_output_tokens"), &message));
    }
    reasoning(body, verified)?;
    answer(&body["text"]["format"])?;
    tools(body)
}

fn answer(format: &Value) -> Result<(), VendorRefusal> {
    let refused = refused_by_strict(&format["schema"]).filter(|_| format["strict"] == true);
    refused.map_or(Ok(()), |what| {
        let name = format["name"].as_str().unwrap_or_default();
        let message = format!("Invalid schema for response_format '{name}': {what}");
        Err(refuse(rules::ANSWER, Some("text.format.schema"), &message))
    })
}

/// Returns the version of a model that reasons: 61 for gpt-6.1, 0 for the o models; `None` for others.
pub(super) fn reasoning_version(model: &str) -> Option<u32> {
    if model.contains("-chat") {
        return None;
    }
    if let Some(rest) = model.strip_prefix("gpt-") {
        let mut numbers = rest.split(['.', '-']).map(|part| part.parse::<u32>().ok());
        let major = numbers.next().flatten()?;
        let minor = rest.contains('.').then(|| numbers.next().flatten()).flatten();
        return (major >= 5).then_some(major * 10 + minor.unwrap_or(0));
    }
    let rest = model.strip_prefix('o')?;
    rest.starts_with(|c: char| c.is_ascii_digit()).then_some(0)
}

fn reasoning(body: &Value, verified: bool) -> Result<(), VendorRefusal> {
    let asked = &body["reasoning"];
    let Some(version) = reasoning_version(body["model"].as_str().unwrap_or_default()) else {
        if asked.is_object() {
            let message = "Unsupported parameter: 'reasoning.effort' is not supported with this model.";
            return Err(refuse(rules::NO_REASONING, Some("reasoning.effort"), message));
        }
        if body["include"].to_string().contains("encrypted_content") {
            let message = "Encrypted content is not supported with this model.";
            return Err(refuse(rules::NO_REASONING, Some("include"), message));
        }
        return Ok(());
    };
    if !body["temperature"].is_null() {
        let message = "Unsupported parameter: 'temperature' is not supported with this model.";
        return Err(refuse(rules::TEMPERATURE, Some("temperature"), message));
    }
    let effort = asked["effort"].as_str().unwrap_or("medium");
    if version >= 61 && ["none", "minimal"].contains(&effort) {
        let message = format!(
            "Unsupported value: 'reasoning.effort' does not support '{effort}' with this model. Supported values are: 'low', 'medium', 'high', 'xhigh', and 'max'."
        );
        return Err(refuse(rules::EFFORT, Some("reasoning.effort"), &message));
    }
    if asked["summary"].is_string() && !verified {
        let message = "Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.";
        return Err(refuse(rules::UNVERIFIED, Some("reasoning.summary"), message));
    }
    Ok(())
}

/// Returns whether a name matches `^[a-zA-Z0-9_-]{1,64}$`.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn tools(body: &Value) -> Result<(), VendorRefusal> {
    for (at, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_name(name) {
            let message = format!(
                "Invalid 'tools[{at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            );
            return Err(refuse(rules::NAME, Some("tools"), &message));
        }
        let schema = &tool["parameters"];
        if schema["type"] != "object" || !schema["properties"].is_object() {
            let message = format!(
                "Invalid schema for function '{name}': In context=(), object schema missing properties."
            );
            return Err(refuse(rules::SCHEMA, Some("tools"), &message));
        }
        // Without a word, a function is strict.
        let is_strict = tool["strict"] != false;
        if is_strict && schema["additionalProperties"] != false {
            let message = format!(
                "Invalid schema for function '{name}': In context=(), 'additionalProperties' is required to be supplied and to be false."
            );
            return Err(refuse(rules::SCHEMA, Some("tools"), &message));
        }
    }
    Ok(())
}
