//! Checks the parts of a request outside of its messages.

use serde_json::Value;

use super::{Dialect, rules};
use crate::vendors::VendorRefusal;
use crate::vendors::answer_schema::refused_by_strict;

const OPENAI: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "reasoning_effort",
    "response_format",
    "seed",
    "stop",
    "n",
    "user",
    "store",
    "metadata",
    "service_tier",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "verbosity",
    "modalities",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "web_search_options",
];
const MISTRAL: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "max_tokens",
    "temperature",
    "top_p",
    "response_format",
    "random_seed",
    "stop",
    "n",
    "frequency_penalty",
    "presence_penalty",
    "safe_prompt",
    "prediction",
    // <https://docs.mistral.ai/inference/conversations/advanced/prompt-caching.md>
    "prompt_cache_key",
    "prompt_mode",
    "metadata",
    "stream_options",
    "reasoning_effort",
];

pub(super) fn check(body: &Value, dialect: Dialect) -> Result<(), VendorRefusal> {
    let Some(fields) = body.as_object() else {
        return Err(dialect.refuse(rules::JSON, "The body is not an object"));
    };
    let known = match dialect {
        Dialect::OpenAi => Some(OPENAI),
        Dialect::Mistral => Some(MISTRAL),
        _ => None,
    };
    if let Some(known) = known
        && let Some(field) = fields.keys().find(|field| !known.contains(&field.as_str()))
    {
        return Err(dialect.refuse(rules::FIELD, &format!("Unknown parameter: '{field}'.")));
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err(dialect.refuse(rules::JSON, "you must provide a model parameter"));
    }
    if !body["stream_options"].is_null() && body["stream"] != true {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(dialect.refuse(rules::STREAM_OPTIONS, message));
    }
    if dialect == Dialect::OpenAi {
        reasoning(body)?;
        answer(&body["response_format"]["json_schema"])?;
    }
    tools(body, dialect)
}

fn answer(format: &Value) -> Result<(), VendorRefusal> {
    let refused = refused_by_strict(&format["schema"]).filter(|_| format["strict"] == true);
    refused.map_or(Ok(()), |what| {
        let name = format["name"].as_str().unwrap_or_default();
        let message = format!("Invalid schema for response_format '{name}': {what}");
        Err(Dialect::OpenAi.refuse(rules::ANSWER_SCHEMA, &message))
    })
}

/// Returns the version of a reasoning model of OpenAI: 54 for gpt-5.4, 1 for the o models; `None` for models
/// that do not reason.
fn reasoning_version(model: &str) -> Option<u32> {
    if let Some(rest) = model.strip_prefix("gpt-") {
        let mut numbers = rest.split(['.', '-']).map(|part| part.parse::<u32>().ok());
        let major = numbers.next().flatten()?;
        let minor = rest.contains('.').then(|| numbers.next().flatten()).flatten();
        return (major >= 5).then_some(major * 10 + minor.unwrap_or(0));
    }
    let mut letters = model.chars();
    (letters.next() == Some('o') && letters.next().is_some_and(|digit| digit.is_ascii_digit())).then_some(1)
}

fn reasoning(body: &Value) -> Result<(), VendorRefusal> {
    let model = body["model"].as_str().unwrap_or_default();
    let no = |rule, message: &str| Err(Dialect::OpenAi.refuse(rule, message));
    let effort = body["reasoning_effort"].as_str();
    let Some(version) = reasoning_version(model) else {
        return match effort {
            Some(_) => no(
                rules::NO_EFFORT,
                "Unrecognized request argument supplied: reasoning_effort",
            ),
            None => Ok(()),
        };
    };
    if !body["max_tokens"].is_null() {
        return no(
            rules::MAX_TOKENS,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        );
    }
    let temperature = body["temperature"].as_f64().unwrap_or(1.0);
    if (temperature - 1.0).abs() > f64::EPSILON || !body["top_p"].is_null() {
        return no(
            rules::TEMPERATURE,
            "Unsupported value: 'temperature' does not support this value with this model. Only the default (1) value is supported.",
        );
    }
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let only_responses = version >= 61 || model.starts_with("gpt-6-astra");
    let works = match version {
        _ if !has_tools => true,
        0..=53 => true,
        54 => effort.is_none_or(|effort| effort == "none"),
        _ if only_responses => false,
        _ => effort == Some("none"),
    };
    if !works {
        let instead = if only_responses {
            "Please use /v1/responses instead."
        } else {
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        };
        let message = format!(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. {instead}"
        );
        return no(rules::EFFORT, &message);
    }
    Ok(())
}

/// Returns whether a name matches `^[a-zA-Z0-9_-]{1,64}$`.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn tools(body: &Value, dialect: Dialect) -> Result<(), VendorRefusal> {
    let Some(tools) = body["tools"].as_array() else {
        return Ok(());
    };
    if tools.is_empty() || tools.len() > 128 {
        let message = format!(
            "Invalid 'tools': an array with 1 to 128 items is expected, not {}.",
            tools.len()
        );
        return Err(dialect.refuse(rules::TOOLS, &message));
    }
    for (at, tool) in tools.iter().enumerate() {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or_default();
        if !is_name(name) {
            let message = format!(
                "Invalid 'tools[{at}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            );
            return Err(dialect.refuse(rules::TOOLS, &message));
        }
        let schema = &function["parameters"];
        if schema.is_null() {
            continue;
        }
        if schema["type"] != "object" {
            let message = format!(
                "Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'.",
                schema["type"]
            );
            return Err(dialect.refuse(rules::SCHEMA, &message));
        }
        if !schema["properties"].is_object() && dialect == Dialect::OpenAi {
            let message = format!(
                "Invalid schema for function '{name}': In context=(), object schema missing properties."
            );
            return Err(dialect.refuse(rules::SCHEMA, &message));
        }
        part_of_schema(schema, name, function["strict"] == true, dialect)?;
    }
    Ok(())
}

fn part_of_schema(schema: &Value, name: &str, strict: bool, dialect: Dialect) -> Result<(), VendorRefusal> {
    if schema["type"] == "array" && schema["items"].is_null() {
        let message = format!("Invalid schema for function '{name}': array schema missing items.");
        return Err(dialect.refuse(rules::SCHEMA, &message));
    }
    let properties = schema["properties"].as_object();
    if strict && (schema["type"] == "object" || properties.is_some()) {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let all = properties.is_none_or(|all| {
            all.keys()
                .all(|key| required.contains(&Value::from(key.as_str())))
        });
        if schema["additionalProperties"] != false || !all {
            let message = format!(
                "Invalid schema for function '{name}': 'additionalProperties' is required to be supplied and to be false, and 'required' to include every key in properties."
            );
            return Err(dialect.refuse(rules::STRICT, &message));
        }
    }
    let inner = properties.into_iter().flat_map(|all| all.values());
    for part in inner.chain([&schema["items"]]).filter(|part| part.is_object()) {
        part_of_schema(part, name, strict, dialect)?;
    }
    Ok(())
}
