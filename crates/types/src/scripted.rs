//! The answers of the offline demo: part of the configuration of a runtime, whoever wrote it.

use serde_json::Value;

/// The name of the model that is no model: the offline demo.
pub const SCRIPTED_MODEL: &str = "scripted";

/// One answer of the offline demo, and when it is given. What is `None` fits everything; in patterns `*` stands for any run of
/// characters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedAnswer {
    /// A pattern for the standing instructions.
    pub system: Option<String>,
    /// A pattern for the last input.
    pub input: Option<String>,
    /// A pattern for the results of tools that came since the input; without it, the answer is given only before any came.
    pub result: Option<String>,
    /// Which answer of the conversation it is, from 1.
    pub nth: Option<u64>,
    /// What is said.
    pub say: String,
    /// The tools that are asked for, each with its arguments.
    pub calls: Vec<(String, Value)>,
}
