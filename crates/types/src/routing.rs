//! The parts of an agent that sorts inputs: rules that say what people may want, and which agent does it.
//! Plain data, part of [`AgentConfig`]; the looser forms in which people write it are read elsewhere.

use serde::{Deserialize, Serialize};

use crate::AgentConfig;

/// Which agent gets which input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Routing {
    /// What people may want.
    pub rules: Vec<IntentRule>,
    /// Who does what.
    pub routes: Vec<Route>,
    /// Who gets what no rule fits; `None` where nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Box<AgentConfig>>,
}

/// An agent and the rules whose intents are its.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Route {
    /// Their names.
    pub rules: Vec<String>,
    /// The agent.
    pub agent: AgentConfig,
}

/// One thing that people may want, and how they say it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentRule {
    /// What it is called, in answers of the model too.
    pub name: String,
    /// What a model has to know to read the words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<IntentReference>,
    /// What may be filled in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vars: Vec<IntentVar>,
    /// How people say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<IntentPattern>,
    /// Inputs as they may come, with what they mean.
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
    /// What it is about.
    pub topic: String,
    /// What there is to know.
    pub text: String,
}

/// Something that an input fills in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentVar {
    /// How patterns and answers name it.
    pub name: String,
    /// What people call it.
    pub label: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: VarKind,
}

/// What a variable holds.
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
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
        }
    }
}

/// A way to say it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentPattern {
    /// The words, with `[name]` where a variable stands.
    pub input: String,
    /// What it means, as a line `rule: name=value, name=value`; `None` where it fills in the variables that stand in `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// An input as it may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntentExample {
    /// What it shows.
    pub subject: String,
    /// What a person says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// What it means, in lines `rule: name=value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}
