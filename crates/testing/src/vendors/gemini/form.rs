//! Checks the parts of a request outside of its contents.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{refuse, rules, version};
use crate::vendors::VendorRefusal;

const FIELDS: &[&str] = &[
    "cachedContent",
    "contents",
    "generationConfig",
    "labels",
    "safetySettings",
    "serviceTier",
    "systemInstruction",
    "toolConfig",
    "tools",
];
const GENERATION: &[&str] = &[
    "candidateCount",
    "frequencyPenalty",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseJsonSchema",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "seed",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];
const THINKING: &[&str] = &["includeThoughts", "thinkingBudget", "thinkingLevel"];
const FUNCTION: &[&str] = &[
    "behavior",
    "description",
    "name",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
];
/// Keywords of `parameters`: the fields of `Schema`.
const OPEN_API: &[&str] = &[
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
];

pub(super) fn check(body: &Value, model: &str) -> Result<(), VendorRefusal> {
    known(body, FIELDS, "")?;
    if body["contents"].as_array().is_none_or(Vec::is_empty) {
        let message = "* GenerateContentRequest.contents: contents is not specified\n";
        return Err(refuse(rules::JSON, message));
    }
    let config = &body["generationConfig"];
    if !config.is_null() {
        known(config, GENERATION, "generation_config")?;
    }
    thinking(&config["thinkingConfig"], model)?;
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    if has_tools && config["responseMimeType"] == "application/json" && model.contains("gemini-2") {
        let message = "Function calling with a response mime type: 'application/json' is unsupported";
        return Err(refuse(rules::JSON_WITH_TOOLS, message));
    }
    tools(body)
}

/// Refuses fields that are not among these.
pub(super) fn known(value: &Value, fields: &[&str], place: &str) -> Result<(), VendorRefusal> {
    let Some(object) = value.as_object() else {
        return Err(refuse(
            rules::JSON,
            &format!("Invalid value at '{place}': it is not an object"),
        ));
    };
    match object.keys().find(|key| !fields.contains(&key.as_str())) {
        None => Ok(()),
        Some(field) => Err(unknown(rules::FIELD, field, place)),
    }
}

pub(super) fn unknown(rule: &'static crate::vendors::VendorRule, field: &str, place: &str) -> VendorRefusal {
    let message =
        format!("Invalid JSON payload received. Unknown name \"{field}\" at '{place}': Cannot find field.");
    refuse(rule, &message)
}

fn thinking(config: &Value, model: &str) -> Result<(), VendorRefusal> {
    if config.is_null() {
        return Ok(());
    }
    known(config, THINKING, "generation_config.thinking_config")?;
    let (version, is_pro) = (version(model), model.contains("-pro"));
    if let Some(level) = config["thinkingLevel"].as_str() {
        let is_level = ["minimal", "low", "medium", "high"].contains(&level.to_lowercase().as_str());
        let is_minimal = level.eq_ignore_ascii_case("minimal");
        if version < 30 {
            return Err(refuse(
                rules::LEVEL,
                "Thinking level is not supported for this model.",
            ));
        }
        if !is_level || (is_minimal && (is_pro || version >= 37)) {
            let message = format!("Thinking level {level} is not supported for this model.");
            return Err(refuse(rules::LEVEL, &message));
        }
    }
    if let Some(budget) = config["thinkingBudget"].as_i64() {
        let most = if is_pro { 32_768 } else { 24_576 };
        let least = match (is_pro, model.contains("-lite")) {
            (true, _) => 128,
            (false, true) => 512,
            (false, false) => 1,
        };
        let is_off = budget == 0 && !is_pro;
        if version >= 40 || !(is_off || budget == -1 || (least..=most).contains(&budget)) {
            return Err(refuse(
                rules::BUDGET,
                &format!("The thinking budget ({budget}) is invalid."),
            ));
        }
    }
    Ok(())
}

/// Whether a name is one of a function.
pub(in crate::vendors) fn is_name(name: &str) -> bool {
    let begins = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let fits = |byte: u8| begins(byte) || byte.is_ascii_digit() || b".:-".contains(&byte);
    (1..=128).contains(&name.len()) && name.bytes().next().is_some_and(begins) && name.bytes().all(fits)
}

fn tools(body: &Value) -> Result<(), VendorRefusal> {
    let mut names = BTreeSet::new();
    for (at, tool) in body["tools"].as_array().into_iter().flatten().enumerate() {
        let functions = tool["functionDeclarations"].as_array().into_iter().flatten();
        for (number, function) in functions.enumerate() {
            let place = format!("tools[{at}].function_declarations[{number}]");
            known(function, FUNCTION, &place)?;
            let name = function["name"].as_str().unwrap_or_default();
            if !is_name(name) || !names.insert(name) {
                let message = format!(
                    "* GenerateContentRequest.{place}.name: Invalid function name. Must start with a letter or an underscore."
                );
                return Err(refuse(rules::NAME, &message));
            }
            schema(function, &place)?;
        }
    }
    Ok(())
}

fn schema(function: &Value, place: &str) -> Result<(), VendorRefusal> {
    let (open_api, json) = (&function["parameters"], &function["parametersJsonSchema"]);
    if !open_api.is_null() {
        if let Some(field) = foreign(open_api) {
            return Err(unknown(rules::SCHEMA, field, &format!("{place}.parameters")));
        }
        if !json.is_null() {
            let message = format!("{place}: parameters and parameters_json_schema are mutually exclusive.");
            return Err(refuse(rules::SCHEMA, &message));
        }
    }
    if !json.is_null() && json["type"] != "object" {
        let message =
            format!("* GenerateContentRequest.{place}.parameters_json_schema: schema must be an object.");
        return Err(refuse(rules::SCHEMA, &message));
    }
    match crowded_ref(json) {
        None => Ok(()),
        Some(target) => {
            let message = format!(
                "* GenerateContentRequest.{place}: reference to '{target}' was set alongside unsupported fields. If a schema node has $ref set, then only description and default can be set alongside it."
            );
            Err(refuse(rules::REF, &message))
        }
    }
}

/// Returns the first keyword that `parameters` does not know. Names of properties are not keywords.
fn foreign(schema: &Value) -> Option<&str> {
    let fields = schema.as_object()?;
    if let Some(key) = fields.keys().find(|key| !OPEN_API.contains(&key.as_str())) {
        return Some(key);
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    let any = fields.get("anyOf").and_then(Value::as_array);
    let below = properties
        .into_iter()
        .flat_map(Map::values)
        .chain(fields.get("items"))
        .chain(any.into_iter().flatten());
    below.filter_map(foreign).next()
}

/// Returns a reference with fields next to it.
fn crowded_ref(value: &Value) -> Option<&str> {
    match value {
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str);
            let is_crowded = fields
                .keys()
                .any(|key| !["$ref", "description", "default"].contains(&key.as_str()));
            target
                .filter(|_| is_crowded)
                .or_else(|| fields.values().filter_map(crowded_ref).next())
        }
        Value::Array(items) => items.iter().filter_map(crowded_ref).next(),
        _ => None,
    }
}
