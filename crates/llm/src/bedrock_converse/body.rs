//! Decodes a complete answer of Converse.

use agentx_types::EnvironmentEvent;
use serde_json::{Value, json};

use super::state::ConverseState;
use crate::error;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Decodes a complete answer that was not streamed, as if its blocks had come in a stream.
///
/// # Errors
/// Returns an error if the body is an error, or not an answer of this API.
///
/// ```text
/// {"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn"}
/// ```
pub fn decode_body(
    context: StreamContext,
    body: &[u8],
    out: &mut Vec<EnvironmentEvent>,
) -> Result<(), StreamError> {
    let text = String::from_utf8_lossy(body);
    let answer: Value = serde_json::from_str(&text).map_err(|error| StreamError::malformed(error, &text))?;
    let content = answer
        .pointer("/output/message/content")
        .and_then(Value::as_array);
    let (Some(content), Some(_)) = (content, answer["stopReason"].as_str()) else {
        if error::Extracted::is_error(&text) {
            return Err(StreamError::Provider(error::from_stream(&text)));
        }
        return Err(StreamError::malformed("no content or no stopReason", &text));
    };
    let mut state = ConverseState::new(context);
    state.event("messageStart", "{}", out)?;
    for (index, block) in content.iter().enumerate() {
        for (name, mut event) in events_of(block) {
            event["contentBlockIndex"] = index.into();
            state.event(name, &event.to_string(), out)?;
        }
    }
    state.event(
        "messageStop",
        &json!({"stopReason": answer["stopReason"]}).to_string(),
        out,
    )?;
    state.event("metadata", &json!({"usage": answer["usage"]}).to_string(), out)?;
    state.close(out)
}

/// The events in which a block would be streamed.
fn events_of(block: &Value) -> Vec<(&'static str, Value)> {
    let delta = |delta: Value| ("contentBlockDelta", json!({ "delta": delta }));
    let reasoning = &block["reasoningContent"];
    let mut events = Vec::new();
    if block["text"].is_string() {
        events.push(delta(json!({"text": block["text"]})));
    } else if block["toolUse"].is_object() {
        let call = &block["toolUse"];
        let start = json!({"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}});
        events.push(("contentBlockStart", json!({ "start": start })));
        let input = call["input"].to_string();
        events.push(delta(json!({"toolUse": {"input": input}})));
    } else if reasoning["reasoningText"].is_object() {
        for key in ["text", "signature"] {
            let piece = &reasoning["reasoningText"][key];
            if piece.is_string() {
                events.push(delta(json!({"reasoningContent": {(key): piece}})));
            }
        }
    } else if reasoning["redactedContent"].is_string() {
        events.push(delta(json!({ "reasoningContent": reasoning })));
    }
    events.push(("contentBlockStop", json!({})));
    events
}
