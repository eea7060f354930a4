//! Agents that files describe: their entries in lists, and requests for one of them by name.

use agentx_types::{AgentConfig, AgentKind, ApprovalMode, Limits, NanoUsd};
use serde::{Deserialize, Deserializer, Serialize};

use super::error::RuntimeError;

/// An agent that files describe, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentInfo {
    /// The name.
    pub name: String,
    /// Whether it works itself or sends inputs to others.
    pub kind: AgentKind,
    /// The owner of its file.
    pub origin: AgentOrigin,
    /// The agent's purpose in one line; empty if its file has none.
    #[serde(default)]
    pub description: String,
}

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentOrigin {
    /// The workspace.
    Workspace,
    /// The person who runs the program.
    User,
}

/// A request for an agent that a file describes, with changes by the opener of the session. These can only
/// tighten the file's limits and its approval mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NamedAgent {
    /// The name of the agent.
    pub agent: String,
    /// Another model than the file's, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Other standing instructions than the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The approval mode: it decides about calls that no rule decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalMode>,
    /// Limits of a run; those that are not named stay unchanged.
    #[serde(default)]
    pub limits: NamedLimits,
    /// The directory that it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl NamedAgent {
    /// The agent of this name, as its file describes it.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            agent: name.into(),
            ..Self::default()
        }
    }
}

/// Limits of which some are named: `Some(None)`, in JSON `null`, is not a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NamedLimits {
    /// Maximum number of times in one run that the model is answered with tool results.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<Option<u32>>,
    /// Tokens in one run, read and written.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<Option<u64>>,
    /// Money in one run.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Option<NanoUsd>>,
    /// Milliseconds from the start of a run to its end.
    #[serde(deserialize_with = "named", skip_serializing_if = "Option::is_none")]
    pub max_wall_ms: Option<Option<u64>>,
}

/// Reads a named value; `null` counts as named too.
fn named<'de, T, D>(from: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(from).map(Some)
}

impl NamedLimits {
    /// The limits of `before`, with those that are named here in their place.
    pub fn merged_into(self, before: Limits) -> Limits {
        Limits {
            max_iterations: self.max_iterations.unwrap_or(before.max_iterations),
            max_tokens: self.max_tokens.unwrap_or(before.max_tokens),
            max_cost: self.max_cost.unwrap_or(before.max_cost),
            max_wall_ms: self.max_wall_ms.unwrap_or(before.max_wall_ms),
        }
    }
}

/// The agents that files describe, for a runtime that opens sessions with them.
pub trait Agents: Send + Sync {
    /// All agents, sorted by name.
    fn list(&self) -> Vec<AgentInfo>;

    /// Resolves a named agent to the configuration of a new session.
    ///
    /// # Errors
    /// Returns [`RuntimeError::UnknownAgent`] if there is no agent of this name, [`RuntimeError::BadAgent`]
    /// if its files have errors, and [`RuntimeError::UnknownModel`] if a model is not known.
    fn resolve(&self, wanted: &NamedAgent) -> Result<AgentConfig, RuntimeError>;

    /// Completes the agents to which a new session's agent of the settings may delegate work: agents of files
    /// replace built-in ones of the same names, and others are added. By default there are none.
    fn complete_agents(&self, config: AgentConfig) -> AgentConfig {
        config
    }
}

/// Lists no agents: for a runtime without agent files.
#[derive(Clone, Copy, Debug)]
pub struct NoAgents;

impl Agents for NoAgents {
    fn list(&self) -> Vec<AgentInfo> {
        Vec::new()
    }

    fn resolve(&self, wanted: &NamedAgent) -> Result<AgentConfig, RuntimeError> {
        Err(RuntimeError::UnknownAgent {
            agent: wanted.agent.clone(),
            nearest: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn a_limit_that_is_named_as_null_is_none() {
        let json = r#"{"agent":"a","limits":{"max_iterations":null,"max_tokens":5}}"#;
        let wanted: NamedAgent = serde_json::from_str(json).unwrap();
        let before = Limits {
            max_iterations: Some(50),
            max_wall_ms: Some(1),
            ..Limits::default()
        };
        let after = wanted.limits.merged_into(before);
        let expected = Limits {
            max_tokens: Some(5),
            max_wall_ms: Some(1),
            ..Limits::default()
        };
        assert_eq!(after, expected);
        assert_eq!(serde_json::to_string(&wanted).unwrap(), json);
    }
}
