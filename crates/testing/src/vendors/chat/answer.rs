//! The stream of the server for an answer, with the usage that belongs to the request.

use serde_json::{Value, json};

use super::AcceptedCompletion;
use crate::vendors::count::tokens;
use crate::vendors::{AnswerPart, ModelAnswer};

impl AcceptedCompletion {
    /// Returns the whole stream of an answer, its events in order; tests may cut it anywhere.
    pub fn stream(&self, answer: &ModelAnswer) -> String {
        let mut out = self.chunk(&json!({ "role": "assistant", "content": "" }), &Value::Null);
        let mut calls = 0;
        let mut written = 0;
        for part in &answer.parts {
            let delta = match part {
                AnswerPart::Thinking(words) => match self.reasoning {
                    Some(field) => json!({ field: words }),
                    None => continue,
                },
                AnswerPart::Text(words) => json!({ "content": words }),
                AnswerPart::Call { id, name, input } => {
                    let function = json!({ "name": name, "arguments": input.to_string() });
                    let call = json!({ "index": calls, "id": id, "type": "function", "function": function });
                    calls += 1;
                    json!({ "tool_calls": [call] })
                }
            };
            written += tokens(delta.to_string().len());
            out += &self.chunk(&delta, &Value::Null);
        }
        let natural = if answer.has_calls() { "tool_calls" } else { "stop" };
        out += &self.chunk(&json!({}), &json!(answer.stop.unwrap_or(natural)));
        let (read, cached) = (self.counted.total(), self.counted.cache_read);
        let usage = json!({
            "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written,
            "prompt_tokens_details": { "cached_tokens": cached },
        });
        let last = json!({ "id": self.id(), "object": "chat.completion.chunk", "created": 1, "model": self.model, "choices": [], "usage": usage });
        out + &format!("data: {last}\n\ndata: [DONE]\n\n")
    }

    fn id(&self) -> String {
        format!("chatcmpl-made-up-{}", self.answer)
    }

    fn chunk(&self, delta: &Value, finish: &Value) -> String {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({ "id": self.id(), "object": "chat.completion.chunk", "created": 1, "model": self.model, "choices": [choice] });
        format!("data: {chunk}\n\n")
    }
}
