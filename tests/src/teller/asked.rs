//! The meaning of a request, independent of its protocol.

use serde_json::Value;

/// A request to the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// The standing instructions.
    pub(super) system: String,
    /// The messages of people, in order.
    pub(super) inputs: Vec<String>,
    /// The number of answers so far.
    pub(super) answers: usize,
    /// Results of tools since the last input.
    pub(super) results: Vec<String>,
    /// All of the conversation: another one is answered otherwise.
    pub(super) whole: String,
}

impl Asked {
    /// Reads the body of a request of either protocol.
    pub(super) fn of(body: &Value) -> Self {
        let mut asked = Self {
            system: text(&body["system"]),
            ..Self::default()
        };
        for message in body["messages"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let said = text(&message["content"]);
            if message["role"] == "system" {
                asked.system = said;
                continue;
            }
            asked.whole.push_str(&said);
            match message["role"].as_str() {
                Some("assistant") => asked.answers += 1,
                Some("tool") => asked.results.push(said),
                _ => asked.user(message, said),
            }
        }
        asked
    }

    /// In one of the protocols results of tools are what a user says.
    fn user(&mut self, message: &Value, said: String) {
        let parts = message["content"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let results = parts.iter().filter(|part| part["type"] == "tool_result");
        let results: Vec<String> = results.map(|part| text(&part["content"])).collect();
        if results.is_empty() {
            self.inputs.push(said);
            self.results.clear();
        }
        self.results.extend(results);
    }

    /// The last input.
    pub(super) fn input(&self) -> &str {
        self.inputs.last().map_or("", String::as_str)
    }
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .map(|part| text(part.get("text").unwrap_or(&part["content"])))
            .collect(),
        _ => String::new(),
    }
}
