//! The runtime of a program together with the tools that files describe.

use std::path::PathBuf;
use std::sync::Arc;

use agentx_agent_files::{Disk, Library, Options, Origin, Root, ScriptCheck, ScriptMistake};
use agentx_config::{Settings, WORKSPACE_FOLDER};
use agentx_flows::{FlowParts, Flows};
use agentx_luau_tools::Libraries;
use agentx_node_runtime::{NodeParts, NodeRuntime};
use agentx_runtime::{LogError, Tool};
use agentx_types::ToolSpec;

use crate::catalogue::Catalogue;
use crate::file_tools;

/// Where scripts that others `require` are, below the folder of the files.
const LIBRARIES: &str = "libs";
/// The largest of them that is read, and how many.
const MAX_LIBRARY_BYTES: u64 = 256 << 10;
const MAX_LIBRARIES: usize = 256;

/// What an environment variable holds, if it is set.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The folder of this workspace that holds files of agents and tools.
pub fn workspace_folder(settings: &Settings) -> PathBuf {
    settings.workspace_root.join(WORKSPACE_FOLDER)
}

/// The folder of the person that holds them.
pub fn user_folder(settings: &Settings) -> PathBuf {
    let file = &settings.user_file;
    file.parent().map_or_else(|| file.clone(), ToOwned::to_owned)
}

/// All files of the workspace and of the person; `tools` are those that the program has itself.
pub fn library(settings: &Settings, tools: &[ToolSpec]) -> Library {
    let root = |path, origin| Root { path, origin };
    let roots = [
        root(workspace_folder(settings), Origin::Workspace),
        root(user_folder(settings), Origin::User),
    ];
    let tools: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
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
        agentx_luau_tools::check(name, source).map_err(|mistake| ScriptMistake {
            line: mistake.line.into(),
            column: mistake.column.into(),
            message: mistake.message,
        })
    }
}

/// A runtime, and the files that it was made with.
pub struct WithFiles {
    /// It.
    pub runtime: NodeRuntime,
    /// The files.
    pub library: Arc<Library>,
    /// Tools of files that cannot be used, each with the reason.
    pub unusable: Vec<String>,
}

/// The runtime of a program as the settings say, with the tools that files describe. Must be called inside a tokio runtime.
///
/// # Errors
/// Where the database cannot be opened.
pub fn runtime_with_files(
    settings: &Settings,
    program: &str,
    variables: Variables,
) -> Result<WithFiles, LogError> {
    let mut parts = NodeParts::from_settings(settings, program)?;
    let own = parts.tools.specs();
    let library = Arc::new(library(settings, &own));
    let described = file_tools(&library);
    let known = Arc::new(Catalogue::new(
        settings.clone(),
        parts.models.clone(),
        library.clone(),
        variables,
    ));
    let mut unusable = Vec::new();
    if !described.is_empty() {
        let flows = Flows::new(FlowParts {
            tools: own
                .iter()
                .filter_map(|spec| parts.tools.get(&spec.name))
                .collect(),
            libraries: scripts(settings),
            data_dir: Some(settings.data_dir.clone()),
            ..FlowParts::new(parts.model_effector(), known.clone())
        });
        for (name, tool) in described {
            if !settings.tools.offers(&name) {
                continue;
            }
            let made: Result<Arc<dyn Tool>, String> =
                flows.tool(&tool.definition).map_err(|why| why.to_string());
            let added = made.and_then(|made| {
                parts
                    .tools
                    .register(made)
                    .map_err(|_| format!("the program has a tool {name} itself"))
            });
            unusable.extend(added.err());
        }
    }
    known.set_tools(parts.tools.specs());
    Ok(WithFiles {
        runtime: NodeRuntime::new(parts).with_agents(known),
        library,
        unusable,
    })
}

/// The scripts that others may `require`: those of the workspace, then those of the person.
fn scripts(settings: &Settings) -> Libraries {
    let mut libraries = Libraries::new();
    let mut count = 0;
    for folder in [user_folder(settings), workspace_folder(settings)] {
        let folder = folder.join(LIBRARIES);
        let mut waiting = vec![(folder, String::new())];
        while let Some((folder, prefix)) = waiting.pop() {
            let Ok(entries) = std::fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                let Ok(about) = entry.metadata() else { continue };
                if about.is_dir() && prefix.is_empty() {
                    waiting.push((entry.path(), format!("{name}/")));
                }
                let wanted = about.is_file() && name.ends_with(".luau") && !name.ends_with(".d.luau");
                if !wanted || about.len() > MAX_LIBRARY_BYTES || count == MAX_LIBRARIES {
                    continue;
                }
                if let Ok(source) = std::fs::read_to_string(entry.path()) {
                    libraries = libraries.with(&name, &source);
                    count += 1;
                }
            }
        }
    }
    libraries
}
