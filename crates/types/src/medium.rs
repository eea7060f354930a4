//! The medium of an agent's output: one word for outputs, derived events, steps of scripts and subscriptions.

use serde::{Deserialize, Serialize};

/// The medium of an agent's output stream. On the wire it is its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(from = "String", into = "String")]
pub enum Medium {
    /// Words for the person: `text`.
    Text,
    /// Reasoning: `thinking`.
    Thinking,
    /// Sound: `audio`.
    Audio,
    /// Output of tools: `tool`.
    Tool,
    /// Any other name that a script gave to its output.
    Named(String),
}

impl Medium {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Audio => "audio",
            Self::Tool => "tool",
            Self::Named(name) => name,
        }
    }
}

impl From<String> for Medium {
    fn from(name: String) -> Self {
        match name.as_str() {
            "text" => Self::Text,
            "thinking" => Self::Thinking,
            "audio" => Self::Audio,
            "tool" => Self::Tool,
            _ => Self::Named(name),
        }
    }
}

impl From<Medium> for String {
    fn from(medium: Medium) -> Self {
        match medium {
            Medium::Named(name) => name,
            known => known.as_str().to_owned(),
        }
    }
}
