//! The frames of the server for an answer, with the usage that belongs to the request.

use serde_json::{Value, json};

use super::{AcceptedConversation, signature};
use crate::vendors::bedrock::event_frame;
use crate::vendors::count::tokens;
use crate::vendors::{AnswerPart, ModelAnswer};

impl AcceptedConversation {
    /// Returns the whole answer in frames; tests may cut it anywhere.
    pub fn stream(&self, answer: &ModelAnswer) -> Vec<u8> {
        let mut frames = event_frame("messageStart", &json!({ "role": "assistant" }));
        let mut written = 0;
        for (at, part) in answer.parts.iter().enumerate() {
            let (start, deltas) = self.block(part);
            if let Some(start) = start {
                let payload = json!({ "contentBlockIndex": at, "start": start });
                frames.extend(event_frame("contentBlockStart", &payload));
            }
            for delta in deltas {
                written += tokens(delta.to_string().len());
                let payload = json!({ "contentBlockIndex": at, "delta": delta });
                frames.extend(event_frame("contentBlockDelta", &payload));
            }
            frames.extend(event_frame(
                "contentBlockStop",
                &json!({ "contentBlockIndex": at }),
            ));
        }
        let natural = if answer.has_calls() {
            "tool_use"
        } else {
            "end_turn"
        };
        let reason = json!({ "stopReason": answer.stop.unwrap_or(natural) });
        frames.extend(event_frame("messageStop", &reason));
        let counted = self.counted;
        let usage = json!({
            "inputTokens": counted.input, "cacheReadInputTokens": counted.cache_read,
            "cacheWriteInputTokens": counted.cache_write, "outputTokens": written,
            "totalTokens": counted.total() + written,
        });
        frames.extend(event_frame(
            "metadata",
            &json!({ "usage": usage, "metrics": { "latencyMs": 9 } }),
        ));
        frames
    }

    /// The beginning of a block, and its pieces.
    fn block(&self, part: &AnswerPart) -> (Option<Value>, Vec<Value>) {
        match part {
            AnswerPart::Thinking(words) => {
                let signed = format!("{}-{}", signature(&self.model), self.answer);
                let pieces = [json!({ "text": words }), json!({ "signature": signed })];
                let deltas = pieces.map(|piece| json!({ "reasoningContent": piece }));
                (None, deltas.into())
            }
            AnswerPart::Text(words) => {
                let half = words.char_indices().nth(words.chars().count() / 2);
                let (first, rest) = words.split_at(half.map_or(0, |(at, _)| at));
                (None, vec![json!({ "text": first }), json!({ "text": rest })])
            }
            AnswerPart::Call { id, name, input } => {
                let start = json!({ "toolUse": { "toolUseId": id, "name": name } });
                let delta = json!({ "toolUse": { "input": input.to_string() } });
                (Some(start), vec![delta])
            }
        }
    }
}
