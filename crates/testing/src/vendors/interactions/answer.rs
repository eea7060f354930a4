//! The stream of the server for an answer, with the usage that belongs to the request.

use serde_json::{Value, json};

use super::{AcceptedInteraction, signature};
use crate::vendors::count::tokens;
use crate::vendors::{AnswerPart, ModelAnswer};

impl AcceptedInteraction {
    /// Returns the whole stream of an answer, its events in order; tests may cut it anywhere. Nothing is
    /// stored, so there is no id.
    pub fn stream(&self, answer: &ModelAnswer) -> String {
        let begun =
            json!({ "id": "", "status": "in_progress", "object": "interaction", "model": self.model });
        let mut out = event("interaction.created", json!({ "interaction": begun }));
        let (mut written, mut thought) = (0, 0);
        for (at, part) in answer.parts.iter().enumerate() {
            let (step, deltas) = self.step(part);
            let size = tokens(
                step.to_string().len() + deltas.iter().map(|delta| delta.to_string().len()).sum::<usize>(),
            );
            match part {
                AnswerPart::Thinking(_) => thought += size,
                _ => written += size,
            }
            out += &event("step.start", json!({ "index": at, "step": step }));
            for delta in deltas {
                out += &event("step.delta", json!({ "index": at, "delta": delta }));
            }
            out += &event("step.stop", json!({ "index": at }));
        }
        let status = match answer.stop {
            Some(status) => status,
            None if answer.has_calls() => "requires_action",
            None => "completed",
        };
        let read = self.counted.total();
        let usage = json!({
            "total_input_tokens": read, "total_cached_tokens": self.counted.cache_read, "total_output_tokens": written,
            "total_thought_tokens": thought, "total_tool_use_tokens": 0, "total_tokens": read + written + thought,
        });
        let whole = json!({ "id": "", "status": status, "usage": usage, "object": "interaction", "model": self.model });
        out += &event("interaction.completed", json!({ "interaction": whole }));
        out + "event: done\ndata: [DONE]\n\n"
    }

    /// The step of a part at its start, and its later deltas.
    fn step(&self, part: &AnswerPart) -> (Value, Vec<Value>) {
        match part {
            AnswerPart::Thinking(words) => {
                let summary =
                    json!({ "type": "thought_summary", "content": { "type": "text", "text": words } });
                let signed = format!("{}-{}", signature(&self.model), self.answer);
                let signed = json!({ "type": "thought_signature", "signature": signed });
                let summary = self.summarizes.then_some(summary);
                (
                    json!({ "type": "thought" }),
                    summary.into_iter().chain([signed]).collect(),
                )
            }
            AnswerPart::Text(words) => {
                let half = words
                    .char_indices()
                    .nth(words.chars().count() / 2)
                    .map_or(0, |(at, _)| at);
                let (first, rest) = words.split_at(half);
                let deltas = [first, rest].map(|text| json!({ "type": "text", "text": text }));
                (json!({ "type": "model_output" }), deltas.into())
            }
            AnswerPart::Call { id, name, input } => {
                let step = json!({ "type": "function_call", "id": id, "name": name, "arguments": {}, "signature": "" });
                let delta = json!({ "type": "arguments_delta", "arguments": input.to_string() });
                (step, vec![delta])
            }
        }
    }
}

fn event(kind: &str, mut data: Value) -> String {
    data["event_type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}
