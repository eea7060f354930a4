//! The agent that a file describes, and what is said where there is none.

use agentx::agent_files::Library;
use agentx::assembly::{Assembly, AssemblyError};
use agentx::config::nearest;
use agentx::types::{AgentConfig, ModelSpec};

use crate::error::CliError;

/// The agent of this name, over what the settings say.
pub(crate) fn agent(
    library: &Library,
    name: &str,
    base: &AgentConfig,
    model: &dyn Fn(&str) -> Result<ModelSpec, Vec<String>>,
) -> Result<AgentConfig, CliError> {
    let assembly = Assembly {
        library,
        base,
        model,
        lookup: &crate::start::lookup,
    };
    assembly.agent(name).map_err(|error| {
        let hint = match &error {
            AssemblyError::NoAgent { name, known } if known.is_empty() => {
                format!("there are none; `agentx agents new {name}` writes one to begin with")
            }
            AssemblyError::NoAgent { name, known } => {
                let near = nearest(name, known.iter().map(String::as_str), 3);
                match near.is_empty() {
                    true => format!("there are: {}", known.join(", ")),
                    false => format!("did you mean {}?", near.join(" or ")),
                }
            }
            AssemblyError::Mistakes { .. } => "`agentx agents check` shows all of them".to_owned(),
            AssemblyError::Missing { .. } => "`agentx agents check` shows more".to_owned(),
        };
        CliError::usage(error.to_string(), hint)
    })
}
