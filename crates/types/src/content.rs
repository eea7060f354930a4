//! The content of messages. A message is an entry of a conversation; it is derived from events, and only the
//! events are the source of truth.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BlobId, MessageId, OwnerId, ToolCallId};

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The outcome of a tool call.
    Tool,
}

/// An entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Unique in its session.
    pub message_id: MessageId,
    /// The speaker.
    pub role: Role,
    /// The content, in order.
    pub content: Vec<ContentPart>,
    /// The person, if not the session's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<OwnerId>,
}

impl Message {
    /// All text parts, joined.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(ContentPart::as_text).collect()
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentPart {
    /// Words.
    Text(TextPart),
    /// A picture.
    Image(MediaPart),
    /// Sound.
    Audio(MediaPart),
    /// A document.
    File(MediaPart),
    /// The model's reasoning.
    Thinking(ThinkingPart),
    /// The model asks for a tool.
    ToolCall(ToolCallPart),
    /// The result of a tool call.
    ToolResult(ToolResultPart),
    /// Something that only its provider understands and that must be sent back verbatim.
    Opaque(OpaquePart),
}

impl ContentPart {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart {
            text: text.into(),
            provider: None,
        })
    }

    /// The words of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(part) => Some(&part.text),
            _ => None,
        }
    }
}

/// Words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextPart {
    /// The words.
    pub text: String,
    /// Data that the provider attached (citations) and needs back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderData>,
}

/// Bytes of a medium, by reference or inline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MediaPart {
    /// The media type, for example `image/png`.
    pub media_type: String,
    /// The location of the bytes.
    pub source: MediaSource,
    /// A file name to show, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The location of a medium's bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MediaSource {
    /// In the blob store, once, however often it is referred to.
    Blob(BlobId),
    /// Base64, inside this value. Runtimes move it into the blob store before it reaches a log.
    Base64(String),
    /// At an address that the provider fetches.
    Url(String),
}

/// The model's reasoning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThinkingPart {
    /// The words; may be empty if the provider hides them.
    pub text: String,
    /// Data that the provider attached (a signature) and needs back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderData>,
}

/// The model asks for a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCallPart {
    /// The model's name for this call.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The arguments; `{}` if there were none.
    pub input: Value,
    /// Data that the provider attached and needs back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderData>,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResultPart {
    /// The call that this answers.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The answer: text and media parts.
    pub content: Vec<ContentPart>,
    /// Whether the model should read it as a failure.
    pub is_error: bool,
}

/// A part that only its provider understands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpaquePart {
    /// The whole block as it came.
    pub provider: ProviderData,
}

/// Data of one provider, kept verbatim: sent back to the same provider, left out for any other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProviderData {
    /// The API that it belongs to, for example `anthropic`.
    pub api: String,
    /// The model whose answer contained it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The data as it arrived.
    pub data: Value,
}

impl ProviderData {
    /// Returns whether another model than this one made it. Signed and encrypted data goes back only to the
    /// model that made it.
    pub fn is_of_another(&self, model: &str) -> bool {
        self.model.as_deref().is_some_and(|own| own != model)
    }

    /// Returns the data, if it belongs to this API and no other model than this one made it.
    pub fn data_for(&self, api: &str, model: &str) -> Option<&Value> {
        (self.api == api && !self.is_of_another(model)).then_some(&self.data)
    }

    /// Joins data that came later for the same part: objects by key, arrays end to end, anything else
    /// replaced.
    pub fn merge(&mut self, later: Value) {
        merge_values(&mut self.data, later);
    }
}

fn merge_values(into: &mut Value, later: Value) {
    match (into, later) {
        (Value::Object(into), Value::Object(later)) => {
            for (key, value) in later {
                match into.get_mut(&key) {
                    Some(present) => merge_values(present, value),
                    None => {
                        into.insert(key, value);
                    }
                }
            }
        }
        (Value::Array(into), Value::Array(later)) => into.extend(later),
        (into, later) => *into = later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn provider_data_merges_objects_and_arrays() {
        let mut data = ProviderData {
            api: "anthropic".into(),
            model: None,
            data: json!({"citations": [1], "a": 1}),
        };
        data.merge(json!({"citations": [2], "signature": "x", "a": 2}));
        assert_eq!(data.data, json!({"citations": [1, 2], "a": 2, "signature": "x"}));
    }
}
