//! The messages of a request: roles and their order, content, calls and their results.

use std::collections::BTreeSet;

use serde_json::Value;

use super::form::is_name;
use super::{Dialect, rules};
use crate::vendors::picture::is_sent_well;
use crate::vendors::{VendorRefusal, VendorRule};

const FIELDS: &[&str] = &[
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
    "prefix",
];

pub(super) fn check(body: &Value, dialect: Dialect) -> Result<(), VendorRefusal> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if messages.is_empty() {
        return Err(dialect.refuse(
            rules::JSON,
            "Invalid 'messages': empty array. Expected an array with minimum length 1.",
        ));
    }
    let model = body["model"].as_str().unwrap_or_default();
    for (at, message) in messages.iter().enumerate() {
        fields(message, at, dialect)?;
        if dialect == Dialect::Groq {
            no_reasoning_of_others(message, at, model)?;
        }
        content(message, at, dialect)?;
        calls(message, at, dialect)?;
    }
    pairs(messages, dialect)?;
    order(messages, dialect)
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

fn fields(message: &Value, at: usize, dialect: Dialect) -> Result<(), VendorRefusal> {
    if !["system", "developer", "user", "assistant", "tool"].contains(&role(message)) {
        let message = format!("Invalid value: '{}' for messages[{at}].role.", role(message));
        return Err(dialect.refuse(rules::ROLE, &message));
    }
    let strict = matches!(dialect, Dialect::OpenAi | Dialect::Mistral);
    let unknown = message.as_object().into_iter().flat_map(|fields| fields.keys());
    match unknown.clone().find(|field| !FIELDS.contains(&field.as_str())) {
        Some(field) if strict => Err(dialect.refuse(
            rules::FIELD,
            &format!("Unknown parameter: 'messages[{at}].{field}'."),
        )),
        _ if dialect == Dialect::DeepSeek => echo(message),
        _ => Ok(()),
    }
}

fn echo(message: &Value) -> Result<(), VendorRefusal> {
    if role(message) != "assistant" || message["reasoning_content"].is_string() {
        return Ok(());
    }
    let words = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    Err(Dialect::DeepSeek.refuse(rules::ECHO, words))
}

fn no_reasoning_of_others(message: &Value, at: usize, model: &str) -> Result<(), VendorRefusal> {
    let reasons = Dialect::Groq.reasoning_of(model).is_some();
    let words = match (&message["reasoning"], &message["reasoning_content"]) {
        (_, Value::String(_)) => format!(
            "'messages.{at}' : for 'role:assistant' the following must be satisfied[('messages.{at}' : property 'reasoning_content' is unsupported)]"
        ),
        (Value::String(_), _) if !reasons => {
            format!("`messages[{at}].reasoning`: reasoning is not supported with this model")
        }
        _ => return Ok(()),
    };
    Err(Dialect::Groq.refuse(rules::REASONING, &words))
}

fn content(message: &Value, at: usize, dialect: Dialect) -> Result<(), VendorRefusal> {
    let content = &message["content"];
    let calls = message["tool_calls"].as_array();
    if dialect == Dialect::LlamaCppPython && content.is_null() {
        let message = "'NoneType' object is not iterable";
        return Err(dialect.refuse(rules::NULL, message));
    }
    let is_null_beside_calls = content.is_null() && role(message) == "assistant" && calls.is_some();
    if !(content.is_string() || content.is_array() || is_null_beside_calls) {
        let message = format!("Invalid value for 'messages[{at}].content': expected a string, got null.");
        return Err(dialect.refuse(rules::CONTENT, &message));
    }
    if calls.is_some_and(Vec::is_empty) {
        return Err(dialect.refuse(
            rules::CONTENT,
            &format!("[] is too short - 'messages.{at}.tool_calls'"),
        ));
    }
    let needs_something = matches!(dialect, Dialect::Mistral | Dialect::LlamaCpp | Dialect::Devstral)
        && role(message) == "assistant";
    if needs_something && calls.is_none() && content.as_str().is_some_and(str::is_empty) {
        let message = "Assistant message must have either content or tool_calls, but not none.";
        return Err(dialect.refuse(rules::CONTENT, message));
    }
    for part in content.as_array().into_iter().flatten() {
        checked_part(part, message, at, dialect)?;
    }
    Ok(())
}

fn checked_part(part: &Value, message: &Value, at: usize, dialect: Dialect) -> Result<(), VendorRefusal> {
    let no = |rule: &'static VendorRule, what: &str| {
        Err(dialect.refuse(rule, &format!("Invalid 'messages[{at}].content': {what}")))
    };
    match part["type"].as_str().unwrap_or_default() {
        "text" if part["text"].is_string() => Ok(()),
        "image_url" if role(message) != "user" => no(
            rules::PICTURE,
            "Image URLs are only allowed for messages with role 'user'.",
        ),
        "image_url" => {
            if is_sent_well(part["image_url"]["url"].as_str().unwrap_or_default()) {
                Ok(())
            } else {
                no(
                    rules::PICTURE,
                    "You uploaded an unsupported image. Please make sure your image is valid.",
                )
            }
        }
        "file" | "input_audio" | "refusal" => Ok(()),
        other => no(rules::CONTENT, &format!("'{other}' is not a type of a part")),
    }
}

fn calls(message: &Value, at: usize, dialect: Dialect) -> Result<(), VendorRefusal> {
    let no = |rule: &'static VendorRule, what: String| Err(dialect.refuse(rule, &what));
    let mut seen = BTreeSet::new();
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let place = format!("'messages[{at}].tool_calls[{index}]");
        let id = call["id"].as_str().unwrap_or_default();
        if id.is_empty() || id.len() > 40 {
            let length = id.len();
            return no(
                rules::CALL,
                format!(
                    "Invalid {place}.id': string too long. Expected a string with maximum length 40, but got a string with length {length} instead."
                ),
            );
        }
        let is_short = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if dialect == Dialect::Mistral && !is_short {
            return no(
                rules::SHORT_ID,
                format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."),
            );
        }
        if !seen.insert(id) {
            return no(
                rules::UNIQUE,
                format!("Duplicate value for 'tool_call_id' of '{id}'"),
            );
        }
        let function = &call["function"];
        if !is_name(function["name"].as_str().unwrap_or_default()) {
            return no(
                rules::CALL,
                format!(
                    "Invalid {place}.function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
                ),
            );
        }
        let arguments = function["arguments"].as_str().unwrap_or_default();
        let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
        if call["type"] != "function" || !is_object {
            return no(
                rules::CALL,
                format!("Failed to parse tool call arguments as JSON: {place}.function.arguments'"),
            );
        }
    }
    Ok(())
}

fn pairs(messages: &[Value], dialect: Dialect) -> Result<(), VendorRefusal> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        if role(message) == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                let message = format!(
                    "Invalid parameter: messages[{at}] with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                );
                return Err(dialect.refuse(rules::PAIRING, &message));
            }
            continue;
        }
        answered(&open, dialect)?;
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open = calls.filter_map(|call| call["id"].as_str()).collect();
    }
    answered(&open, dialect)
}

fn answered(open: &BTreeSet<&str>, dialect: Dialect) -> Result<(), VendorRefusal> {
    if open.is_empty() {
        return Ok(());
    }
    let ids = open.iter().copied().collect::<Vec<_>>().join(", ");
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
    );
    Err(dialect.refuse(rules::PAIRING, &message))
}

/// Checks the order of roles, for servers that enforce one.
fn order(messages: &[Value], dialect: Dialect) -> Result<(), VendorRefusal> {
    let is_system = |message: &&Value| ["system", "developer"].contains(&role(message));
    let begin = messages.iter().take_while(is_system).count();
    let talk = &messages[begin..];
    if dialect.wants_system_first() && talk.iter().any(|message| is_system(&message)) {
        return Err(dialect.refuse(rules::SYSTEM_FIRST, "System message must be at the beginning."));
    }
    let last = talk.last().map(role).unwrap_or_default();
    if dialect == Dialect::Mistral && last == "assistant" {
        let message =
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant";
        return Err(dialect.refuse(rules::LAST, message));
    }
    for pair in talk.windows(2) {
        let (before, after) = (role(&pair[0]), role(&pair[1]));
        if dialect == Dialect::Mistral && before == "tool" && after == "user" {
            return Err(dialect.refuse(rules::AFTER_TOOL, "Unexpected role 'user' after role 'tool'"));
        }
        let takes_turns = !(before == after && after != "tool" || before == "tool" && after == "user");
        if dialect == Dialect::Perplexity && !takes_turns {
            let message = "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).";
            return Err(dialect.refuse(rules::ALTERNATE, message));
        }
    }
    if matches!(dialect, Dialect::Devstral | Dialect::Gemma) {
        turns(talk, dialect)?;
    }
    let begins = talk.first().map(role).unwrap_or_default();
    if dialect == Dialect::Perplexity && (begins != "user" || last == "assistant") {
        let message = "Last message must have role `user` or `tool`, and the first one role `user`.";
        return Err(dialect.refuse(rules::ALTERNATE, message));
    }
    Ok(())
}

/// Checks the alternation that chat templates require: of the counted messages, those at even places, and
/// only those, are a person's.
fn turns(talk: &[Value], dialect: Dialect) -> Result<(), VendorRefusal> {
    let counts = |message: &&Value| match dialect {
        Dialect::Devstral => {
            role(message) == "user" || role(message) == "assistant" && message["tool_calls"].is_null()
        }
        _ => true,
    };
    for (at, message) in talk.iter().filter(counts).enumerate() {
        if (role(message) == "user") == at.is_multiple_of(2) {
            continue;
        }
        return Err(match dialect {
            Dialect::Devstral => dialect.refuse(
                rules::DEVSTRAL,
                "\n------------\nWhile executing CallExpression at line 47, column 32 in source:\n...\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.",
            ),
            _ => dialect.refuse(
                rules::GEMMA,
                "Conversation roles must alternate user/assistant/user/assistant/...",
            ),
        });
    }
    Ok(())
}
