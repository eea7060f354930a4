//! The stream of the server for an answer, with the usage that belongs to the request.

use serde_json::{Value, json};

use super::{AcceptedResponse, encrypted};
use crate::vendors::count::tokens;
use crate::vendors::{AnswerPart, ModelAnswer};

impl AcceptedResponse {
    /// Returns the whole stream of an answer, its events in order; tests may cut it anywhere.
    pub fn stream(&self, answer: &ModelAnswer) -> String {
        let id = format!("resp_made_up_{}", self.answer);
        let begun = json!({ "id": id, "object": "response", "status": "in_progress", "model": self.model, "output": [], "error": null });
        let mut out = event("response.created", json!({ "response": begun }));
        out += &event("response.in_progress", json!({ "response": begun }));
        let mut output = Vec::new();
        let mut written = 0;
        for part in &answer.parts {
            let at = output.len();
            let Some((events, item)) = self.item(part, at) else {
                continue;
            };
            written += tokens(item.to_string().len());
            out += &events;
            out += &event(
                "response.output_item.done",
                json!({ "output_index": at, "item": item }),
            );
            output.push(item);
        }
        let (read, cached) = (self.counted.total(), self.counted.cache_read);
        let reason = answer.stop.map(|reason| json!({ "reason": reason }));
        let status = if reason.is_some() {
            "incomplete"
        } else {
            "completed"
        };
        let whole = json!({
            "id": id, "object": "response", "status": status, "model": self.model, "output": output, "error": null,
            "incomplete_details": reason,
            "usage": {
                "input_tokens": read, "input_tokens_details": { "cached_tokens": cached },
                "output_tokens": written, "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": read + written,
            },
        });
        out + &event(&format!("response.{status}"), json!({ "response": whole }))
    }

    /// The events of a part up to its end, and the item as a whole. `None` of thinking, if the model does not
    /// reason.
    fn item(&self, part: &AnswerPart, at: usize) -> Option<(String, Value)> {
        let (begun, pieces, whole) = match part {
            AnswerPart::Thinking(_) if !self.reasons => return None,
            AnswerPart::Thinking(words) => self.reasoning(words, at),
            AnswerPart::Text(words) => message(words, at),
            AnswerPart::Call { id, name, input } => call(id, name, &input.to_string(), at),
        };
        let added = event(
            "response.output_item.added",
            json!({ "output_index": at, "item": begun }),
        );
        Some((added + &pieces, whole))
    }

    fn reasoning(&self, words: &str, at: usize) -> (Value, String, Value) {
        let id = format!("rs_{}_{at}", self.answer);
        let mut whole = json!({ "id": id, "type": "reasoning", "summary": [] });
        let mut pieces = String::new();
        if self.summarizes {
            whole["summary"] = json!([{ "type": "summary_text", "text": words }]);
            let delta = json!({ "item_id": id, "output_index": at, "summary_index": 0, "delta": words });
            pieces = event("response.reasoning_summary_text.delta", delta);
        }
        if self.encrypts {
            whole["encrypted_content"] = json!(encrypted(&self.model, words));
        }
        (
            json!({ "id": id, "type": "reasoning", "summary": [] }),
            pieces,
            whole,
        )
    }
}

fn message(words: &str, at: usize) -> (Value, String, Value) {
    let of = |content: Value| json!({ "id": format!("msg_{at}"), "type": "message", "role": "assistant", "status": "completed", "content": content });
    let half = words
        .char_indices()
        .nth(words.chars().count() / 2)
        .map_or(0, |(at, _)| at);
    let (first, rest) = words.split_at(half);
    let pieces = [first, rest].map(|delta| {
        event(
            "response.output_text.delta",
            json!({ "item_id": format!("msg_{at}"), "output_index": at, "content_index": 0, "delta": delta, "logprobs": [] }),
        )
    });
    let whole = of(json!([{ "type": "output_text", "text": words, "annotations": [], "logprobs": [] }]));
    (of(json!([])), pieces.concat(), whole)
}

fn call(id: &str, name: &str, arguments: &str, at: usize) -> (Value, String, Value) {
    let of = |arguments: &str| json!({ "id": format!("fc_{at}"), "type": "function_call", "status": "completed", "call_id": id, "name": name, "arguments": arguments });
    let delta = json!({ "item_id": format!("fc_{at}"), "output_index": at, "delta": arguments });
    let pieces = event("response.function_call_arguments.delta", delta);
    (of(""), pieces, of(arguments))
}

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}
