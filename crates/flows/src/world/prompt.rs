//! Converts a script's prompt to a model request.

use std::sync::Arc;

use agentx_luau_tools::EffectError;
use agentx_types::{ContentPart, Message, MessageId, ModelParams, ModelRequest, ModelSpec, Role};
use serde_json::Value;

use super::file_tool_call::FileToolCall;
use super::request_text::text;

/// The most messages of one request.
const MAX_MESSAGES: usize = 1_000;

/// Returns the model that a script names, if it may ask it. No name is the model of the agent that calls, for
/// scripts that may ask any.
pub(crate) fn model(call: &FileToolCall, name: &str) -> Result<(ModelSpec, ModelParams), EffectError> {
    let own = call.context.journal.caller().config.as_deref();
    if name.is_empty() {
        let own =
            own.ok_or_else(|| EffectError::new("not_found", "no model is named, and no agent calls"))?;
        if call.grants.models.is_empty() {
            call.grants.model(&own.model.id)?;
        }
        return Ok((own.model.clone(), own.params.clone()));
    }
    call.grants.model(name)?;
    if let Some(spec) = call.shared.parts.known.model(name) {
        return Ok((spec, ModelParams::default()));
    }
    match own.filter(|own| own.model.id == name) {
        Some(own) => Ok((own.model.clone(), own.params.clone())),
        None => Err(EffectError::new(
            "not_found",
            format!("there is no model {name:?}"),
        )),
    }
}

/// Returns the request for a script's prompt: a text, a list of messages, or `{system, messages, prompt}`.
pub(crate) fn request(call: &FileToolCall, asked: &Value) -> Result<ModelRequest, EffectError> {
    let (model, params) = model(call, text(asked, "model"))?;
    let mut system = Vec::new();
    let mut messages = Vec::new();
    read(asked, &mut system, &mut messages)?;
    if messages.is_empty() {
        return Err(EffectError::new("invalid", "the prompt is empty"));
    }
    Ok(ModelRequest::new(model, params, system, messages))
}

fn read(
    asked: &Value,
    system: &mut Vec<Arc<str>>,
    messages: &mut Vec<Arc<Message>>,
) -> Result<(), EffectError> {
    if let Some(words) = asked
        .get("system")
        .and_then(Value::as_str)
        .filter(|words| !words.is_empty())
    {
        system.push(words.into());
    }
    if let Some(listed) = asked.get("messages") {
        each(listed, messages)?;
    }
    match asked.get("prompt") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(words)) => {
            say(Role::User, words, messages);
            Ok(())
        }
        Some(listed @ Value::Array(_)) => each(listed, messages),
        Some(whole @ Value::Object(_)) => read(whole, system, messages),
        Some(other) => Err(EffectError::new(
            "invalid",
            format!("a prompt is a text, not {other}"),
        )),
    }
}

fn each(listed: &Value, messages: &mut Vec<Arc<Message>>) -> Result<(), EffectError> {
    // A table without entries may be either.
    let empty = Vec::new();
    let listed = match listed {
        Value::Array(listed) => listed,
        Value::Object(entries) if entries.is_empty() => &empty,
        _ => {
            return Err(EffectError::new(
                "invalid",
                "messages are a list of {role, content}",
            ));
        }
    };
    if listed.len() > MAX_MESSAGES {
        return Err(EffectError::new(
            "invalid",
            format!("there are more than {MAX_MESSAGES} messages"),
        ));
    }
    for message in listed {
        let role = match text(message, "role") {
            "user" | "" => Role::User,
            "assistant" | "model" => Role::Assistant,
            other => {
                let problem = format!("a message's role is user or assistant (or model), not {other:?}");
                return Err(EffectError::new("invalid", problem));
            }
        };
        say(role, text(message, "content"), messages);
    }
    Ok(())
}

/// Adds a message.
pub(crate) fn say(role: Role, words: &str, messages: &mut Vec<Arc<Message>>) {
    messages.push(Arc::new(Message {
        message_id: MessageId::with_suffix(messages.len()),
        role,
        content: vec![ContentPart::text(words)],
        by: None,
    }));
}
