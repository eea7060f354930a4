//! The answers of the offline demo: part of a runtime's configuration.

use serde_json::Value;

/// The name of the model that is not a model: the offline demo.
pub const SCRIPTED_MODEL: &str = "scripted";

/// An answer of the offline demo, and its conditions. A condition that is `None` always holds; in patterns
/// `*` stands for any run of characters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedAnswer {
    /// A pattern for the standing instructions.
    pub system: Option<String>,
    /// A pattern for the last input.
    pub input: Option<String>,
    /// A pattern for the results of tools that came since the input; without it, the answer is given only
    /// before any came.
    pub result: Option<String>,
    /// The number of the answer in the conversation, from 1.
    pub nth: Option<u64>,
    /// The text of the answer.
    pub say: String,
    /// The requested tools, each with its arguments.
    pub calls: Vec<(String, Value)>,
}
