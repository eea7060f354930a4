//! A rule of a matching agent: an intent, its input patterns, and its output.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// An intent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleDefinition {
    /// The name in answers and routes.
    pub name: String,
    /// Facts that the model should know.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub references: BTreeMap<String, String>,
    /// The values of `[var]` in patterns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, Variable>,
    /// The inputs that match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<Pattern>,
    /// Whole exchanges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// Inputs and the values that must come out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<RuleTest>,
}

/// A variable of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// A description; its name if this is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The type of its value.
    #[serde(rename = "type", default)]
    pub kind: VariableType,
}

/// The type of a variable's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableType {
    /// Text.
    #[default]
    String,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// True or false.
    Bool,
}

/// An input pattern with `[var]` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The arguments, as JSON.
    pub input: String,
    /// The answer's line; made from the variables of the input without it.
    pub output: Option<String>,
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.output {
            Some(output) => [&self.input, output].serialize(serializer),
            None => self.input.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(input) => Ok(Self { input, output: None }),
            pair => {
                let [input, output]: [String; 2] = serde_json::from_value(pair).map_err(D::Error::custom)?;
                // An empty output is made from the variables, like a missing one.
                let output = Some(output).filter(|output| !output.trim().is_empty());
                Ok(Self { input, output })
            }
        }
    }
}

/// A whole exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The subject.
    pub subject: String,
    /// The pattern of the input; `None` if the subject alone has to match.
    pub user: Option<String>,
    /// The answer's lines.
    pub output: Option<String>,
}

impl Serialize for Example {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = [Some(&self.subject), self.user.as_ref(), self.output.as_ref()];
        serializer.collect_seq(parts.into_iter().flatten())
    }
}

impl<'de> Deserialize<'de> for Example {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut parts = Vec::<String>::deserialize(deserializer)?.into_iter();
        let mut next = || parts.next();
        let subject = next().ok_or_else(|| D::Error::custom("an example has one to three texts"))?;
        Ok(Self {
            subject,
            user: next(),
            output: next(),
        })
    }
}

/// An input and the values that must come out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleTest {
    /// The input.
    pub input: String,
    /// The values, as text or as parsed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
}
