//! The parts of an agent that sorts inputs: rules that describe intents, and the agents that handle them.
//! Plain data, part of [`AgentConfig`]; `agentx-agent-files` reads the looser forms in which people write it.

use serde::{Deserialize, Serialize};

use super::AgentConfig;

/// The rules that give each input to an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Routing {
    /// The intents of people.
    pub rules: Vec<IntentRule>,
    /// The agents and the rules that they serve.
    pub routes: Vec<Route>,
    /// The agent for inputs that fit no rule; `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Box<AgentConfig>>,
}

/// An agent, and the rules whose intents it handles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Route {
    /// The names of the rules.
    pub rules: Vec<String>,
    /// The agent.
    pub agent: AgentConfig,
}

/// A request that people may make, and their words for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentRule {
    /// The rule's name, used in answers of the model too.
    pub name: String,
    /// Background that a model needs to understand the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<IntentReference>,
    /// The variables of the rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vars: Vec<IntentVar>,
    /// Phrases that people use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<IntentPattern>,
    /// Example inputs, with their intents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<IntentExample>,
}

impl IntentRule {
    /// The variable with this name.
    pub fn var(&self, name: &str) -> Option<&IntentVar> {
        self.vars.iter().find(|var| var.name == name)
    }
}

/// Something that a model has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentReference {
    /// The topic.
    pub topic: String,
    /// The knowledge, as text.
    pub text: String,
}

/// Something that an input fills in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentVar {
    /// The name in patterns and answers.
    pub name: String,
    /// The name shown to people.
    pub label: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: VarKind,
}

/// The type of a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VarKind {
    /// Words.
    #[default]
    String,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Yes or no.
    Bool,
}

impl VarKind {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
        }
    }
}

/// A phrasing of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentPattern {
    /// The words, with `[name]` for a variable.
    pub input: String,
    /// The meaning, as a line `rule: name=value, name=value`; `None` if it fills the variables in `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// An input as it may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentExample {
    /// The subject of the example.
    pub subject: String,
    /// The input of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The meaning, in lines `rule: name=value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}
