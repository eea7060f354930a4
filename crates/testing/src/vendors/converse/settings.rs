//! The settings of a request that not every model takes: cache points, reasoning, and the schema of the
//! answer.

use serde_json::Value;

use super::{refuse, rules};
use crate::vendors::VendorRefusal;
use crate::vendors::answer_schema::refused_as_grammar;

/// The most cache points in a request.
const MOST_POINTS: usize = 4;

pub(super) fn check(body: &Value, model: &str) -> Result<(), VendorRefusal> {
    check_points(body, model)?;
    check_reasoning(body, model)?;
    check_schema(body, model)
}

/// Checks the places of cache points, and their number.
fn check_points(body: &Value, model: &str) -> Result<(), VendorRefusal> {
    let (is_claude, is_nova) = (model.contains("anthropic."), model.contains("amazon.nova-"));
    let mut points = 0;
    let mut take = |list: &Value, place: &str, is_taken: bool| {
        for (at, block) in list.as_array().into_iter().flatten().enumerate() {
            let Some(point) = block.get("cachePoint") else {
                continue;
            };
            points += 1;
            let ttl = &point["ttl"];
            let has_time = ttl.is_null() || (is_claude && (*ttl == "5m" || *ttl == "1h"));
            if point["type"] != "default" || !is_taken || !has_time || at == 0 {
                let message = format!(
                    "The model returned the following errors: Malformed input request: {place}/{at}: extraneous \
                     key [cachePoint] is not permitted, please reformat your input and try again."
                );
                return Err(refuse(rules::CACHE, &message));
            }
        }
        Ok(())
    };
    take(&body["toolConfig"]["tools"], "#/toolConfig/tools", is_claude)?;
    take(&body["system"], "#/system", is_claude || is_nova)?;
    for (at, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        let mut blocks = message["content"].as_array().into_iter().flatten();
        let is_text = blocks.all(|block| block.get("text").is_some() || block.get("cachePoint").is_some());
        let is_taken = is_claude || (is_nova && is_text);
        take(&message["content"], &format!("#/messages/{at}/content"), is_taken)?;
    }
    if points > MOST_POINTS {
        let message = format!("A maximum of {MOST_POINTS} cache points is allowed. Found {points}.");
        return Err(refuse(rules::CACHE, &message));
    }
    Ok(())
}

/// Checks the setting of reasoning, which each family of models has under its own name.
fn check_reasoning(body: &Value, model: &str) -> Result<(), VendorRefusal> {
    let fields = &body["additionalModelRequestFields"];
    let wrong = |message: &str| {
        let message = format!("The model returned the following errors: {message}");
        Err(refuse(rules::REASONING_FIELD, &message))
    };
    for key in fields.as_object().into_iter().flat_map(|fields| fields.keys()) {
        let is_known = match key.as_str() {
            "thinking" | "output_config" => model.contains("anthropic."),
            "reasoningConfig" => model.contains("amazon.nova-2-"),
            "reasoning_effort" => model.contains("openai.gpt-oss"),
            "reasoning" => model.contains("openai.") && !model.contains("gpt-oss"),
            _ => false,
        };
        if !is_known {
            return wrong(&format!(
                "Malformed input request: #: extraneous key [{key}] is not permitted."
            ));
        }
    }
    let config = &body["inferenceConfig"];
    let effort = &fields["reasoningConfig"]["maxReasoningEffort"];
    if fields["reasoningConfig"].is_object() {
        let is_enabled = fields["reasoningConfig"]["type"] == "enabled";
        if !is_enabled || !["low", "medium", "high"].iter().any(|word| effort == word) {
            return wrong("Malformed input request: the provided reasoning config value is invalid");
        }
        if effort == "high" && (!config["maxTokens"].is_null() || !config["temperature"].is_null()) {
            return wrong(
                "`maxTokens` must be unset when reasoningConfig type is 'enabled' and maxReasoningEffort is 'high'.",
            );
        }
    }
    let budget = fields["thinking"]["budget_tokens"].as_u64();
    let most = config["maxTokens"].as_u64().unwrap_or(u64::MAX);
    if budget.is_some_and(|budget| budget < 1_024 || budget >= most) {
        return wrong("`max_tokens` must be greater than `thinking.budget_tokens`.");
    }
    Ok(())
}

/// Checks the schema of the answer, which is a text.
fn check_schema(body: &Value, model: &str) -> Result<(), VendorRefusal> {
    let Some(output) = body.get("outputConfig") else {
        return Ok(());
    };
    let wrong = |message: &str| Err(refuse(rules::OUTPUT, message));
    let schema = output["textFormat"]["structure"]["jsonSchema"]["schema"].as_str();
    let schema: Option<Value> = schema.and_then(|schema| serde_json::from_str(schema).ok());
    let Some(schema) = schema.filter(|_| output["textFormat"]["type"] == "json_schema") else {
        return wrong("outputConfig.textFormat: a JSON schema as a text is required.");
    };
    if model.contains("amazon.") {
        return wrong("outputConfig.textFormat: this model doesn't support structured output.");
    }
    match refused_as_grammar(&schema) {
        Some(why) => wrong(&format!("outputConfig.textFormat: {why}")),
        None => Ok(()),
    }
}
