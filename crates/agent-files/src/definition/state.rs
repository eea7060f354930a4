//! The state of an agent in the format of GenX, to import conversations.

use serde::{Deserialize, Serialize};

use super::MachineKind;

/// The state of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedState {
    /// The kind of agent.
    pub state_type: MachineKind,
    /// The id of the message.
    pub id: String,
    /// The name of the agent's definition.
    pub agent_def: String,
    /// The messages of the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<SavedMessage>,
    /// The phase of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Results that the model has not seen (`react`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_results: Vec<SavedToolResult>,
    /// Whether a tool with `quit` was called (`react`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finished: bool,
    /// The input that is being matched (`match`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The matches, in order (`match`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Matched>,
    /// The index of the match that is being handled (`match`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_index: Option<u64>,
    /// Whether matching has ended (`match`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub matched: bool,
    /// The state of the agent that is called (`match`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calling_state: Option<Box<Self>>,
}

/// The role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedRole {
    /// A person.
    User,
    /// The model.
    Model,
    /// A tool.
    Tool,
}

/// A message of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedMessage {
    /// The role of the speaker.
    pub role: SavedRole,
    /// The text of the message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// A call that the model makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The name of the called tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_name: Option<String>,
    /// The arguments, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_args: Option<String>,
    /// The call that this is the result of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_result_id: Option<String>,
}

/// A result that the model has not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedToolResult {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    #[serde(default)]
    pub name: String,
    /// The result.
    #[serde(default)]
    pub content: String,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
}

/// A rule that matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    /// The rule.
    pub rule_name: String,
    /// The agent that gets it.
    pub agent_name: String,
}
