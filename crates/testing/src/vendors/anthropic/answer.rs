//! The stream of the API for an answer, with the signatures and the usage that belong to the request.

use serde_json::{Value, json};

use super::AcceptedMessages;
use crate::vendors::count::tokens;
use crate::vendors::{AnswerPart, ModelAnswer};
use crate::wire::anthropic_event;

impl AcceptedMessages {
    /// Returns the signature of thinking with this text at the beginning of the answer.
    pub fn sign(&self, words: &str) -> String {
        let mut place = self.place;
        place.sign(&self.model.name, words, self.answer)
    }

    /// Returns the whole stream of an answer, its events in order; tests may cut it anywhere. Thinking is
    /// left out if the request has none, and its text if the request does not show it.
    pub fn stream(&self, answer: &ModelAnswer) -> String {
        let mut out = self.start();
        let mut place = self.place;
        let mut index = 0;
        let mut written = 0;
        for part in &answer.parts {
            let (start, deltas, whole) = match part {
                AnswerPart::Text(text) if text.is_empty() => continue,
                AnswerPart::Thinking(_) if !self.thinks => continue,
                AnswerPart::Thinking(words) => {
                    let words = if self.shows_thinking { words.as_str() } else { "" };
                    let signature = place.sign(&self.model.name, words, self.answer);
                    (thinking_start(), thinking_deltas(words, &signature), None)
                }
                AnswerPart::Text(text) => {
                    let block = json!({ "type": "text", "text": text });
                    let start = json!({ "type": "text", "text": "" });
                    (start, text_deltas(text), Some(block))
                }
                AnswerPart::Call { id, name, input } => {
                    let block = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
                    let start = json!({ "type": "tool_use", "id": id, "name": name, "input": {} });
                    (start, input_deltas(input), Some(block))
                }
            };
            if let Some(whole) = &whole {
                place.pass("assistant", whole);
            }
            out += &anthropic_event(
                &json!({ "type": "content_block_start", "index": index, "content_block": start }),
            );
            for delta in deltas {
                written += tokens(delta.to_string().len());
                out += &anthropic_event(
                    &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
                );
            }
            out += &anthropic_event(&json!({ "type": "content_block_stop", "index": index }));
            index += 1;
        }
        let natural = if answer.has_calls() {
            "tool_use"
        } else {
            "end_turn"
        };
        let delta = json!({ "stop_reason": answer.stop.unwrap_or(natural), "stop_sequence": null });
        out += &anthropic_event(
            &json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": written } }),
        );
        out + &anthropic_event(&json!({ "type": "message_stop" }))
    }

    fn start(&self) -> String {
        let usage = json!({
            "input_tokens": self.counted.input,
            "cache_creation_input_tokens": self.counted.cache_write,
            "cache_read_input_tokens": self.counted.cache_read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": if self.for_an_hour { 0 } else { self.counted.cache_write },
                "ephemeral_1h_input_tokens": if self.for_an_hour { self.counted.cache_write } else { 0 },
            },
            "output_tokens": 1,
        });
        let id = format!("msg_made_up_{}", self.answer);
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model.name, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        });
        anthropic_event(&json!({ "type": "message_start", "message": message }))
    }
}

fn thinking_start() -> Value {
    json!({ "type": "thinking", "thinking": "", "signature": "" })
}

fn thinking_deltas(words: &str, signature: &str) -> Vec<Value> {
    let words = pieces(words).map(|piece| json!({ "type": "thinking_delta", "thinking": piece }));
    words
        .chain([json!({ "type": "signature_delta", "signature": signature })])
        .collect()
}

fn text_deltas(text: &str) -> Vec<Value> {
    pieces(text)
        .map(|piece| json!({ "type": "text_delta", "text": piece }))
        .collect()
}

fn input_deltas(input: &Value) -> Vec<Value> {
    let text = input.to_string();
    pieces(&text)
        .map(|piece| json!({ "type": "input_json_delta", "partial_json": piece }))
        .collect()
}

/// Returns a text in two halves.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|piece| !piece.is_empty())
}
