//! The streams of well-behaved model servers, as bytes: made for tests, in the shape of the real APIs.

use serde_json::{Value, json};

/// Formats one event of an Anthropic stream.
pub fn anthropic_event(event: &Value) -> String {
    let name = event["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {event}\n\n")
}

/// Returns the beginning of an Anthropic stream: its start and that of a text block.
pub fn anthropic_start() -> String {
    let message = json!({
        "id": "msg_wire", "type": "message", "role": "assistant", "model": "test-model", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 12, "output_tokens": 1 },
    });
    let start = anthropic_event(&json!({ "type": "message_start", "message": message }));
    let block =
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    start + &anthropic_event(&block)
}

/// Returns a piece of text in an Anthropic stream.
pub fn anthropic_delta(text: &str) -> String {
    let delta = json!({ "type": "text_delta", "text": text });
    anthropic_event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }))
}

/// Returns the end of an Anthropic stream.
pub fn anthropic_end() -> String {
    let delta = json!({ "stop_reason": "end_turn", "stop_sequence": null });
    let events = [
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 7 } }),
        json!({ "type": "message_stop" }),
    ];
    events.iter().map(anthropic_event).collect()
}

/// Returns a whole Anthropic stream with these pieces of text.
pub fn anthropic_text(pieces: &[&str]) -> String {
    let deltas: String = pieces.iter().map(|text| anthropic_delta(text)).collect();
    anthropic_start() + &deltas + &anthropic_end()
}

/// Returns an error event of an Anthropic stream.
pub fn anthropic_error(kind: &str, message: &str) -> String {
    anthropic_event(&json!({ "type": "error", "error": { "type": kind, "message": message } }))
}

/// Returns a whole OpenAI chat stream with these pieces of text.
pub fn chat_text(pieces: &[&str]) -> String {
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": "chatcmpl-wire", "object": "chat.completion.chunk", "created": 1, "model": "test-model", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let mut stream = chunk(json!({ "role": "assistant", "content": "" }), Value::Null);
    stream.extend(
        pieces
            .iter()
            .map(|text| chunk(json!({ "content": text }), Value::Null)),
    );
    stream += &chunk(json!({}), json!("stop"));
    let usage = json!({ "prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19 });
    let last = json!({ "id": "chatcmpl-wire", "object": "chat.completion.chunk", "created": 1, "model": "test-model", "choices": [], "usage": usage });
    stream + &format!("data: {last}\n\ndata: [DONE]\n\n")
}
