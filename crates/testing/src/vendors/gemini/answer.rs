//! The stream of the server for an answer, with the usage that belongs to the request.

use serde_json::{Value, json};

use super::{AcceptedContent, signature, version};
use crate::vendors::count::tokens;
use crate::vendors::{AnswerPart, ModelAnswer};

impl AcceptedContent {
    /// Returns the whole stream of an answer, its events in order; tests may cut it anywhere.
    ///
    /// Gemini 3 and later sign each answer: the first call in it, or an empty text at its end.
    pub fn stream(&self, answer: &ModelAnswer) -> String {
        let mut out = String::new();
        let (mut written, mut thought, mut is_signed) = (0, 0, version(&self.model) < 25);
        for (at, part) in answer.parts.iter().enumerate() {
            for mut json in self.parts(part, at) {
                let size = tokens(json.to_string().len());
                if json["thought"] == true {
                    thought += size;
                } else {
                    written += size;
                }
                if json["functionCall"].is_object() && !is_signed {
                    is_signed = true;
                    json["thoughtSignature"] = json!(self.signature());
                }
                out += &self.chunk(
                    json!({ "content": { "parts": [json], "role": "model" }, "index": 0 }),
                    None,
                );
            }
        }
        let mut last = json!({ "text": "" });
        if !is_signed && version(&self.model) >= 30 {
            last["thoughtSignature"] = json!(self.signature());
        }
        let usage = json!({
            "promptTokenCount": self.counted.total(), "cachedContentTokenCount": self.counted.cache_read,
            "candidatesTokenCount": written, "thoughtsTokenCount": thought,
            "totalTokenCount": self.counted.total() + written + thought,
        });
        let candidate = json!({
            "content": { "parts": [last], "role": "model" }, "finishReason": answer.stop.unwrap_or("STOP"), "index": 0,
        });
        out + &self.chunk(candidate, Some(usage))
    }

    fn signature(&self) -> String {
        format!("{}-{}", signature(&self.model), self.answer)
    }

    fn chunk(&self, candidate: Value, usage: Option<Value>) -> String {
        let mut chunk = json!({
            "candidates": [candidate], "modelVersion": self.model, "responseId": format!("resp_made_up_{}", self.answer),
        });
        if let Some(usage) = usage {
            chunk["usageMetadata"] = usage;
        } else if self.is_vertex {
            chunk["usageMetadata"] = json!({ "trafficType": "ON_DEMAND" });
        }
        format!("data: {chunk}\r\n\r\n")
    }

    /// A part as the parts of the chunks that bring it.
    fn parts(&self, part: &AnswerPart, at: usize) -> Vec<Value> {
        match part {
            AnswerPart::Thinking(_) if !self.thinks || version(&self.model) < 25 => Vec::new(),
            AnswerPart::Thinking(words) => halves(words, |text| json!({ "text": text, "thought": true })),
            AnswerPart::Text(words) => halves(words, |text| json!({ "text": text })),
            AnswerPart::Call { id, name, input } => {
                let mut call = json!({ "name": name, "args": input });
                // Gemini 2.5 and Vertex AI name no ids.
                if version(&self.model) >= 30 && !self.is_vertex {
                    let made = format!("call_{}_{at}", self.answer);
                    call["id"] = json!(if id.is_empty() { &made } else { id });
                }
                vec![json!({ "functionCall": call })]
            }
        }
    }
}

fn halves(words: &str, part: impl Fn(&str) -> Value) -> Vec<Value> {
    let half = words
        .char_indices()
        .nth(words.chars().count() / 2)
        .map_or(0, |(at, _)| at);
    let (first, rest) = words.split_at(half);
    [first, rest].into_iter().map(part).collect()
}
