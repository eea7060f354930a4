//! Checks the parts of a request outside of its messages: fields, numbers, thinking, tools.

use std::collections::BTreeSet;

use serde_json::Value;

use super::model::VendorModel;
use super::{blocks, refuse, rules};
use crate::vendors::answer_schema::refused_as_grammar;
use crate::vendors::{VendorRefusal, VendorRule};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "stream",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "temperature",
    "top_p",
    "top_k",
    "metadata",
    "stop_sequences",
    "service_tier",
    "cache_control",
    "container",
    "context_management",
    "mcp_servers",
    "speed",
    "inference_geo",
    "diagnostics",
];
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// The requested thinking.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThinkingForm {
    /// Whether it thinks.
    pub(super) thinks: bool,
    /// Whether it was given a budget.
    pub(super) by_budget: bool,
    /// Whether the thinking is shown as text.
    pub(super) shown: bool,
    /// Whether a block whose prefix changed is dropped, if the request requires that.
    pub(super) drops: Option<bool>,
}

pub(super) fn check(body: &Value, beta: &str, model: &VendorModel) -> Result<ThinkingForm, VendorRefusal> {
    let fields = body.as_object().into_iter().flat_map(|fields| fields.keys());
    known_fields(fields, FIELDS, "", rules::FIELD)?;
    let most = body["max_tokens"]
        .as_u64()
        .ok_or_else(|| refuse(rules::MAX_TOKENS, "max_tokens: Field required"))?;
    if most < 1 || most > model.max_output() {
        let message = format!(
            "max_tokens: {most} > {}, which is the maximum allowed number of output tokens for {}",
            model.max_output(),
            model.name
        );
        return Err(refuse(rules::MAX_TOKENS, message));
    }
    let thinking = thinking(body, beta, model, most)?;
    sampling(body, model, thinking)?;
    let effort = &body["output_config"]["effort"];
    if !effort.is_null() && !effort.as_str().is_some_and(|effort| EFFORTS.contains(&effort)) {
        return Err(refuse(
            rules::EFFORT,
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        ));
    }
    let schema = &body["output_config"]["format"]["schema"];
    output_schema(schema)?;
    if let Some(message) = refused_as_grammar(schema) {
        return Err(refuse(rules::OUTPUT_GRAMMAR, message));
    }
    tools(body)?;
    breakpoints(body)?;
    Ok(thinking)
}

/// Keywords that the schema of an answer may not have.
const BOUNDS: &[&str] = &[
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "propertyNames",
    "contains",
    "dependentRequired",
];

fn output_schema(schema: &Value) -> Result<(), VendorRefusal> {
    let no = |message: String| Err(refuse(rules::OUTPUT_SCHEMA, message));
    if schema["type"] == "object" && schema["additionalProperties"] != false {
        let message = "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
        return no(message.to_owned());
    }
    if let Some(bound) = BOUNDS
        .iter()
        .find(|bound| schema["type"].is_string() && !schema[**bound].is_null())
    {
        let kind = &schema["type"];
        return no(format!(
            "output_config.format.schema: For {kind} type, property '{bound}' is not supported"
        ));
    }
    match schema {
        Value::Object(fields) => fields.values().try_for_each(output_schema),
        Value::Array(items) => items.iter().try_for_each(output_schema),
        _ => Ok(()),
    }
}

/// Refuses a field that is not among `known`.
pub(super) fn known_fields<'a>(
    fields: impl Iterator<Item = &'a String>,
    known: &[&str],
    place: &str,
    rule: &'static VendorRule,
) -> Result<(), VendorRefusal> {
    for field in fields {
        if !known.contains(&field.as_str()) {
            return Err(refuse(
                rule,
                format!("{place}{field}: Extra inputs are not permitted"),
            ));
        }
    }
    Ok(())
}

fn thinking(body: &Value, beta: &str, model: &VendorModel, most: u64) -> Result<ThinkingForm, VendorRefusal> {
    let asked = &body["thinking"];
    let mut thinking = ThinkingForm {
        thinks: model.thinks_by_default(),
        shown: !model.omits_thinking(),
        ..ThinkingForm::default()
    };
    if asked.is_null() {
        return Ok(thinking);
    }
    let kind = asked["type"].as_str().unwrap_or_default();
    let supported = match kind {
        "enabled" => model.takes_budget(),
        "adaptive" => model.takes_adaptive(),
        "disabled" => !model.always_thinks(),
        "between_tools" => model.binds(),
        _ => false,
    };
    if !supported {
        let message = format!("\"thinking.type.{kind}\" is not supported for this model.");
        return Err(refuse(rules::THINKING_TYPE, message));
    }
    thinking.by_budget = kind == "enabled";
    thinking.thinks = kind != "disabled";
    if let Some(display) = asked["display"].as_str() {
        thinking.shown = display == "summarized";
    }
    let budget = asked["budget_tokens"].as_u64().unwrap_or_default();
    if thinking.by_budget && !(1_024..most).contains(&budget) {
        let message = "`max_tokens` must be greater than `thinking.budget_tokens`, and that at least 1024";
        return Err(refuse(rules::BUDGET, message));
    }
    if !asked["block_binding"].is_null() {
        if !beta.contains("thinking-binding-controls-2026-08-01") {
            let message = format!("thinking.{kind}.block_binding: Extra inputs are not permitted");
            return Err(refuse(rules::BETA, message));
        }
        thinking.drops = Some(asked["block_binding"]["prefix_mismatch_behavior"] == "drop_block");
    }
    Ok(thinking)
}

fn sampling(body: &Value, model: &VendorModel, thinking: ThinkingForm) -> Result<(), VendorRefusal> {
    if !thinking.thinks && model.takes_temperature() {
        return Ok(());
    }
    let temperature = body["temperature"].as_f64().unwrap_or(1.0);
    if (temperature - 1.0).abs() > f64::EPSILON {
        return Err(refuse(
            rules::SAMPLING,
            "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode",
        ));
    }
    if !body["top_k"].is_null() || body["top_p"].as_f64().is_some_and(|top_p| top_p < 0.95) {
        return Err(refuse(
            rules::SAMPLING,
            "`top_k` and `top_p` must be unset when thinking is enabled",
        ));
    }
    Ok(())
}

/// Returns whether a name matches `^[a-zA-Z0-9_-]{1,most}$`.
pub(super) fn is_name(name: &str, most: usize) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= most && name.bytes().all(fits)
}

/// Returns whether the name of a parameter matches `^[a-zA-Z0-9_.-]{1,64}$`
/// (<https://github.com/beautyfree/appstore-connect-mcp/issues/2>).
fn is_property_key(key: &str) -> bool {
    is_name(&key.replace('.', "_"), 64)
}

fn tools(body: &Value) -> Result<(), VendorRefusal> {
    let mut names = BTreeSet::new();
    for (at, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_name(name, 128) {
            let message =
                format!("tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'");
            return Err(refuse(rules::TOOL_NAME, message));
        }
        if !names.insert(name) {
            return Err(refuse(rules::TOOL_NAME, "tools: Tool names must be unique."));
        }
        if tool["type"].as_str().is_some_and(|kind| kind != "custom") {
            continue;
        }
        let schema = &tool["input_schema"];
        if schema["type"] != "object" {
            return Err(refuse(
                rules::TOOL_SCHEMA,
                format!("tools.{at}.custom.input_schema.type: Input should be 'object'"),
            ));
        }
        let keys = schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(|all| all.keys());
        if keys.into_iter().any(|key| !is_property_key(key)) {
            let message = format!(
                "tools.{at}.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"
            );
            return Err(refuse(rules::TOOL_SCHEMA, message));
        }
        if ["oneOf", "anyOf", "allOf"]
            .iter()
            .any(|key| !schema[*key].is_null())
        {
            let message = format!(
                "tools.{at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            );
            return Err(refuse(rules::TOOL_SCHEMA, message));
        }
    }
    Ok(())
}

fn breakpoints(body: &Value) -> Result<(), VendorRefusal> {
    let marked = blocks::in_order(body)
        .iter()
        .filter(|(_, marked)| *marked)
        .count();
    let all = marked + usize::from(!body["cache_control"].is_null());
    if all > 4 {
        let message = format!("A maximum of 4 blocks with cache_control may be provided. Found {all}.");
        return Err(refuse(rules::CACHE, message));
    }
    lifetimes(body)
}

/// The time for which each marked block is kept: 5 minutes or an hour, and no hour behind 5 minutes.
fn lifetimes(body: &Value) -> Result<(), VendorRefusal> {
    let mut ended = false;
    for mark in blocks::marks(body) {
        match mark.get("ttl").and_then(Value::as_str) {
            Some("1h") if ended => {
                let message = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control \
                               block. Note that blocks are processed in the following order: `tools`, \
                               `system`, `messages`.";
                return Err(refuse(rules::CACHE_TTL, message));
            }
            Some("1h") => {}
            Some("5m") => ended = true,
            None if mark.get("ttl").is_none() => ended = true,
            _ => {
                let message = "cache_control.ephemeral.ttl: Input should be '5m' or '1h'";
                return Err(refuse(rules::CACHE_TTL, message));
            }
        }
    }
    Ok(())
}
