//! Agents and tools in files: where they are, what is wrong with them, and the agent that one of them makes.

use std::path::PathBuf;

use agentx::agent_files::{Disk, Library, Options, Origin, Root, ScriptCheck, ScriptMistake};
use agentx::assembly::{Assembly, AssemblyError};
use agentx::config::{Settings, WORKSPACE_FOLDER, nearest};
use agentx::luau_tools;
use agentx::types::{AgentConfig, ModelSpec, ToolSpec};

use crate::error::CliError;

/// The folder of this workspace that holds them.
pub(crate) fn workspace_folder(settings: &Settings) -> PathBuf {
    settings.workspace_root.join(WORKSPACE_FOLDER)
}

/// The folder of the person that holds them.
pub(crate) fn user_folder(settings: &Settings) -> PathBuf {
    let file = &settings.user_file;
    file.parent().map_or_else(|| file.clone(), ToOwned::to_owned)
}

/// All files of the workspace and of the person. `tools` are those that the program has itself.
pub(crate) fn library(settings: &Settings, tools: &[ToolSpec]) -> Library {
    let tools: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let roots = [
        Root {
            path: workspace_folder(settings),
            origin: Origin::Workspace,
        },
        Root {
            path: user_folder(settings),
            origin: Origin::User,
        },
    ];
    let options = Options {
        scripts: Some(&Scripts),
        tools: &tools,
        agents: &[],
    };
    Library::load(&roots, &Disk, options)
}

struct Scripts;

impl ScriptCheck for Scripts {
    fn check(&self, name: &str, source: &str) -> Result<(), ScriptMistake> {
        luau_tools::check(name, source).map_err(|mistake| ScriptMistake {
            line: mistake.line.into(),
            column: mistake.column.into(),
            message: mistake.message,
        })
    }
}

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
