//! The wire form of answers: one piece for each event, as servers send them that flush each event.

use serde_json::{Value, json};

use super::said::Said;

/// A protocol.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wire {
    Anthropic,
    OpenAi,
}

impl Wire {
    /// An answer, with its end. A call has this id.
    pub(super) fn answer(self, said: &Said, call: &str) -> Vec<Vec<u8>> {
        let events = match self {
            Self::Anthropic => anthropic(said, call),
            Self::OpenAi => openai(said, call),
        };
        let chunk = |text: String| format!("{:x}\r\n{text}\r\n", text.len()).into_bytes();
        let mut pieces: Vec<Vec<u8>> = events.into_iter().map(chunk).collect();
        pieces.push(b"0\r\n\r\n".to_vec());
        pieces
    }
}

/// Arguments come in two halves.
fn halves(input: &Value) -> [String; 2] {
    let letters: Vec<char> = input.to_string().chars().collect();
    let (head, tail) = letters.split_at(letters.len() / 2);
    [head.iter().collect(), tail.iter().collect()]
}

fn anthropic(said: &Said, call: &str) -> Vec<String> {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let message = json!({
        "id": "msg_of_the_teller", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let (block, deltas, reason): (Value, Vec<Value>, &str) = match said {
        Said::Words(words) => (
            json!({"type": "text", "text": ""}),
            words
                .iter()
                .map(|word| json!({"type": "text_delta", "text": word}))
                .collect(),
            "end_turn",
        ),
        Said::Call(name, input) => (
            json!({"type": "tool_use", "id": call, "name": name, "input": {}}),
            halves(input)
                .iter()
                .map(|half| json!({"type": "input_json_delta", "partial_json": half}))
                .collect(),
            "tool_use",
        ),
    };
    let mut events = vec![
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
    ];
    let delta = |delta| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    events.extend(deltas.into_iter().map(delta));
    events.extend([
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]);
    let line = |event: Value| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap_or_default()
        )
    };
    events.into_iter().map(line).collect()
}

fn openai(said: &Said, call: &str) -> Vec<String> {
    let chunk = |delta: Value, reason: Value| {
        json!({
            "id": "chatcmpl_of_the_teller", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        })
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let reason = match said {
        Said::Words(words) => {
            events.extend(
                words
                    .iter()
                    .map(|word| chunk(json!({ "content": word }), Value::Null)),
            );
            "stop"
        }
        Said::Call(name, input) => {
            let [head, tail] = halves(input);
            let call = json!({"index": 0, "id": call, "type": "function", "function": {"name": name, "arguments": head}});
            events.push(chunk(json!({ "tool_calls": [call] }), Value::Null));
            let more = json!({"index": 0, "function": {"arguments": tail}});
            events.push(chunk(json!({ "tool_calls": [more] }), Value::Null));
            "tool_calls"
        }
    };
    events.push(chunk(json!({}), json!(reason)));
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30});
    events.push(json!({
        "id": "chatcmpl_of_the_teller", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage,
    }));
    let mut lines: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    lines.push("data: [DONE]\n\n".to_owned());
    lines
}
