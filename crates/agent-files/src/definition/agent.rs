//! The definition of an agent.

use agentx_types::{ApprovalMode, Limits, ModelParams, NanoUsd};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::{Millis, RuleDefinition, ToolDefinition};

/// The machine that drives an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineKind {
    /// Thinks and calls tools.
    #[default]
    React,
    /// Routes inputs by intent.
    Match,
}

/// An agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentDefinition {
    /// The machine that drives the agent.
    #[serde(rename = "type")]
    pub kind: MachineKind,
    /// The name that people see.
    pub name: String,
    /// The agent's purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Standing instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The texts that the model reads before the conversation, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_layers: Vec<ContextLayer>,
    /// The model and its parameters; those of the caller without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
    /// Models to ask if its own is down, limited or refuses; those of the configuration without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallbacks: Option<Vec<String>>,
    /// The condensers of its conversation; those of the configuration if it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub condensers: Vec<String>,
    /// The tools that it may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUse>,
    /// The JSON Schema of its answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Agents that it may make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentUse>,
    /// Intents that it knows (`match`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleUse>,
    /// The agents for intents (`match`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<RouteDefinition>,
    /// The agent for inputs without a match (`match`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Box<AgentUse>>,
    /// The limits of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<AgentLimits>,
    /// The approval of tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The choices of an agent of another program; only the loader sets them.
    #[serde(rename = "$foreign", default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<ForeignChoices>,
}

/// The choices of an agent of another program among tools, agents and models that are known only when it
/// runs. It goes without those that there are not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ForeignChoices {
    /// The model, if there is one of this name here; that of the settings without it.
    pub model: Option<String>,
    /// The tools that it may use; `NAME*` stands for all that begin so. All tools of the settings without it.
    pub only: Option<Vec<String>>,
    /// The tools among them that it may not use.
    pub without: Vec<String>,
    /// The built-in agents to which it may delegate.
    pub delegates: Vec<String>,
    /// Whether its file says that no other agent delegates to it unless it names it.
    pub only_by_name: bool,
}

impl ForeignChoices {
    /// Returns whether the agent may use a tool.
    ///
    /// ```
    /// use agentx_agent_files::definition::ForeignChoices;
    /// let choices = ForeignChoices {
    ///     only: Some(vec!["read".into(), "docs__*".into()]),
    ///     without: vec!["docs__drop".into()],
    ///     ..ForeignChoices::default()
    /// };
    /// assert!(choices.admits("read") && choices.admits("docs__find"));
    /// assert!(!choices.admits("bash") && !choices.admits("docs__drop"));
    /// ```
    pub fn admits(&self, tool: &str) -> bool {
        let has = |names: &[String]| {
            names.iter().any(|name| match name.strip_suffix('*') {
                Some(start) => tool.starts_with(start),
                None => tool == name,
            })
        };
        self.only.as_deref().is_none_or(has) && !has(&self.without)
    }
}

/// A layer of the context.
#[derive(Clone, Debug, PartialEq)]
pub enum ContextLayer {
    /// A text.
    Text(String),
    /// A key of the same file, such as `.prompt`.
    This(String),
    /// A text below `context/`, or a file.
    Ref(String),
    /// The value of the environment variable with this name.
    Env(String),
}

impl Serialize for ContextLayer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(serializer),
            Self::This(key) => json!({"$this": key}).serialize(serializer),
            Self::Ref(name) => json!({"$ref": name}).serialize(serializer),
            Self::Env(name) => json!({"$env": name}).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ContextLayer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Value::String(text) = value {
            return Ok(Self::Text(text));
        }
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        text("$this")
            .map(Self::This)
            .or_else(|| text("$ref").map(Self::Ref))
            .or_else(|| text("$env").map(Self::Env))
            .ok_or_else(|| D::Error::custom("not a layer"))
    }
}

/// A reference by name: without the kind before its colon, or the path of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The name of the model.
    #[serde(rename = "$ref")]
    pub name: String,
}

/// The model and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// The agent's name, if it has its own file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A generator file; keys next to it win.
    #[serde(rename = "$ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The longest answer in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Tokens for reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u64>,
}

impl Generator {
    /// Returns the settings of a model call.
    pub fn params(&self) -> ModelParams {
        ModelParams {
            max_output_tokens: self.max_output_tokens,
            temperature: self.temperature,
            thinking_tokens: self.thinking_tokens,
        }
    }

    /// Merges two: values of `self` win over those of `base`.
    pub fn merged_over(&self, base: &Self) -> Self {
        Self {
            name: base.name.clone(),
            reference: None,
            model: self.model.clone().or_else(|| base.model.clone()),
            temperature: self.temperature.or(base.temperature),
            max_output_tokens: self.max_output_tokens.or(base.max_output_tokens),
            thinking_tokens: self.thinking_tokens.or(base.thinking_tokens),
        }
    }
}

/// A tool of an agent, or of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolUse {
    /// A tool with a file, or of the host.
    Ref {
        /// The name of the tool.
        name: String,
        /// Whether a successful call ends the agent.
        quit: bool,
    },
    /// A tool that is written in place.
    Inline(Box<ToolDefinition>),
}

impl ToolUse {
    /// Returns the tool's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Ref { name, .. } => name,
            Self::Inline(tool) => &tool.name,
        }
    }
}

/// An agent of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentUse {
    /// An agent with a file.
    Ref(String),
    /// An agent that is written in place.
    Inline(Box<AgentDefinition>),
}

/// A rule of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleUse {
    /// A rule with a file.
    Ref(String),
    /// A rule that is written in place.
    Inline(Box<RuleDefinition>),
}

macro_rules! reference_or_inline {
    ($name:ident, $kind:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    Self::Ref(name) => Reference { name: name.clone() }.serialize(serializer),
                    Self::Inline(inline) => inline.serialize(serializer),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = Value::deserialize(deserializer)?;
                match value.get("$ref").and_then(Value::as_str) {
                    Some(name) => Ok(Self::Ref(bare(name, $kind).to_owned())),
                    None => serde_json::from_value(value)
                        .map(Self::Inline)
                        .map_err(D::Error::custom),
                }
            }
        }
    };
}

reference_or_inline!(AgentUse, "agent");
reference_or_inline!(RuleUse, "rule");

impl Serialize for ToolUse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ref { name, quit: false } => json!({"$ref": name}).serialize(serializer),
            Self::Ref { name, quit: true } => json!({"$ref": name, "quit": true}).serialize(serializer),
            Self::Inline(tool) => tool.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ToolUse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let Some(name) = value.get("$ref").and_then(Value::as_str) else {
            return serde_json::from_value(value)
                .map(Self::Inline)
                .map_err(D::Error::custom);
        };
        Ok(Self::Ref {
            name: bare(name, "tool").to_owned(),
            quit: value.get("quit").and_then(Value::as_bool).unwrap_or_default(),
        })
    }
}

/// Returns a name without its kind.
fn bare<'a>(name: &'a str, kind: &str) -> &'a str {
    name.strip_prefix(kind)
        .and_then(|rest| rest.strip_prefix(':'))
        .unwrap_or(name)
}

/// The agent for some intents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteDefinition {
    /// Names of rules.
    pub rules: Vec<String>,
    /// The agent.
    pub agent: AgentUse,
}

/// The limits of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentLimits {
    /// The number of times that the model may get tool results in one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Tokens in one run, read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// maximum cost of one run in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// Time from the start of a run to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
}

impl AgentLimits {
    /// The limits of a run.
    pub fn of_run(&self) -> Limits {
        Limits {
            max_iterations: self.max_iterations,
            max_tokens: self.max_tokens,
            max_cost: self.max_cost.map(NanoUsd::from_usd),
            max_wall_ms: self.timeout.map(|time| time.0),
        }
    }
}

/// The approval settings of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Approval {
    /// The mode for calls that no rule decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Deny beats ask beats allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<agentx_types::Rule>,
}
