//! The contents of files, as data. Each definition serializes to the form of a file, and a file of that form
//! reads to the same definition.

mod agent;
mod reach;
mod rule;
mod state;
mod tool;

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use agent::{
    AgentDefinition, AgentLimits, AgentUse, Approval, ContextLayer, ForeignChoices, Generator, MachineKind,
    Reference, RouteDefinition, RuleUse, ToolUse,
};
pub use reach::GrantedNames;
pub use rule::{Example, Pattern, RuleDefinition, RuleTest, Variable, VariableType};
pub use state::{Matched, SavedMessage, SavedRole, SavedState, SavedToolResult};
pub use tool::{
    AuthKind, Capabilities, Composite, CompositeStep, GeneratorMode, GeneratorTool, HttpAuth, HttpTool,
    LoaderFacts, LuauTool, OutputMode, ScriptReference, TextProcessor, ToolBody, ToolDefinition, ToolLimits,
    UnknownOutcome,
};

/// A time. Written with a unit: `90s`, `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl Millis {
    /// Converts to the standard library's type.
    pub fn duration(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0)
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        agentx_config::Value::Millis(self.0).fmt(f)
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = agentx_config::yaml::Yaml::Text(String::deserialize(deserializer)?);
        match agentx_config::scalar(agentx_config::ValueKind::Duration, &text) {
            Ok(agentx_config::Value::Millis(millis)) => Ok(Self(millis)),
            _ => Err(D::Error::custom("expected a time with a unit")),
        }
    }
}
