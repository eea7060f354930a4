//! The runtime of a program together with the tools that files describe.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agentx_agent_files::definition::ToolBody;
use agentx_agent_files::{
    DefinitionMistake, DiskFiles, FileOrigin, Files, Library, LibraryOptions, ScriptCheck, ScriptFinding,
};
use agentx_config::{Settings, folder_now};
use agentx_flows::{Schemas, ToolFactory, ToolFactoryParts, kept_bytes};
use agentx_luau_tools::Libraries;
use agentx_node_runtime::{KeptBytes, NodeParts, NodeRuntime};
use agentx_runtime::{BusModels, LogError};
use agentx_types::ToolSpec;

use crate::accepted_files::AcceptedFiles;
use crate::catalogue::{AgentCatalog, VariableSource};
use crate::definition_roots::{definition_roots, folder_roots};
use crate::tools::{FileTool, file_tools, name_taken, with_settings};

/// Returns the files of the person, and those of the workspace that the person accepted in their present
/// form; `tools` are those that the program has itself.
pub fn library(settings: &Settings, tools: &[ToolSpec]) -> Library {
    let below = folder_roots(settings);
    let admitted = AcceptedFiles {
        below: &below,
        folder: &settings.folder,
    };
    load_library(settings, tools, &admitted)
}

/// Reads all files of the workspace and of the person, accepted or not: to find errors in them, not to use
/// them.
pub fn whole_library(settings: &Settings, tools: &[ToolSpec]) -> Library {
    load_library(settings, tools, &DiskFiles)
}

pub(crate) fn load_library(settings: &Settings, tools: &[ToolSpec], files: &dyn Files) -> Library {
    let roots = definition_roots(settings);
    let tools: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let options = LibraryOptions {
        scripts: Some(&Scripts),
        schemas: Some(&Schemas),
        tools: &tools,
        agents: &[],
    };
    Library::load(&roots, files, options)
}

struct Scripts;

impl ScriptCheck for Scripts {
    fn check(&self, name: &str, source: &str) -> Result<(), ScriptFinding> {
        agentx_luau_tools::check(name, source).map_err(|mistake| ScriptFinding {
            line: mistake.line.into(),
            column: mistake.column.into(),
            message: mistake.message,
        })
    }
}

/// Returns the tools that reactors will bring, besides these tools of the runtime itself.
pub type AttachedToolSource<'a> = dyn Fn(&[ToolSpec]) -> Vec<ToolSpec> + 'a;

/// A runtime, and the files that it was made with.
pub struct WithFiles {
    /// The runtime.
    pub runtime: NodeRuntime,
    /// The files.
    pub library: Arc<Library>,
    /// Everything that is wrong with the files, by file and place: also tools of which nothing can be made.
    pub mistakes: Vec<DefinitionMistake>,
}

/// Creates the runtime of a program from its settings, with the tools from files. Agents of files may have
/// the tools that `attached` names, too. Must be called inside a tokio runtime.
///
/// # Errors
/// Returns an error if the database cannot be opened.
pub fn runtime_with_files(
    settings: &Settings,
    program: &str,
    variables: VariableSource,
    attached: &AttachedToolSource<'_>,
) -> Result<WithFiles, LogError> {
    let mut parts = NodeParts::from_settings(settings, program)?;
    let own = parts.tools.specs();
    let library = Arc::new(library(settings, &[&own, &attached(&own)[..]].concat()));
    let mut described = file_tools(&library);
    let known = Arc::new(AgentCatalog::new(
        settings.clone(),
        parts.models.clone(),
        library.clone(),
        variables.clone(),
    ));
    with_settings(&mut described, settings, &|name| known.choose(name).ok());
    let mut mistakes = library.check().to_vec();
    let models = BusModels::default();
    if !described.is_empty() {
        let flows = ToolFactory::new(ToolFactoryParts {
            tools: own
                .iter()
                .filter_map(|spec| parts.tools.get(&spec.name))
                .collect(),
            libraries: scripts(library.own_libraries()),
            folder_libraries: scripts(library.libraries()),
            data_dir: Some(settings.data_dir.clone()),
            folder: Some(settings.workspace_root.clone()),
            folder_now: folder_now(&settings.workspace_root),
            // With at most half of the quota, a person can always make room by deleting sessions.
            kept_bytes: settings.quotas.bytes.map(|quota| quota / 2),
            ..ToolFactoryParts::new(Arc::new(models.clone()), known.clone())
        });
        let is_built_in = |name: &str| own.iter().any(|spec| spec.name == name);
        for (name, tool) in &described {
            if !settings.tools.offers(name) {
                continue;
            }
            let made = not_our_keys(settings, tool, &*variables)
                .and_then(|()| no_taken_name(tool, &described, &is_built_in))
                .and_then(|()| flows.tool(&tool.definition).map_err(|why| why.problem));
            let added = made.and_then(|made| {
                parts
                    .tools
                    .register(made)
                    .map_err(|_| "a built-in tool has this name".to_owned())
            });
            // This is the reason if the file sets more.
            let told = library.check().iter().any(|mistake| is_of(mistake, tool));
            let problem = added.err().filter(|_| !told);
            mistakes.extend(problem.map(|problem| no_tool(tool, &problem)));
        }
    }
    parts.tools =
        std::mem::take(&mut parts.tools).ask_about_unknown(|name| settings.tools.asks_unknown(name));
    let tools = parts.tools.specs();
    known.set_tools([&tools[..], &attached(&tools)].concat().into());
    mistakes.sort();
    let runtime = NodeRuntime::new(parts)
        .with_agents(known)
        .with_kept_bytes(kept_bytes_in(settings.data_dir.clone()));
    runtime.connect_models(&models);
    Ok(WithFiles {
        runtime,
        library,
        mistakes,
    })
}

/// Counts what tools from files keep for an owner in this directory. There may be values without any tool:
/// the files may have been removed.
fn kept_bytes_in(data_dir: PathBuf) -> KeptBytes {
    Arc::new(move |owner| {
        kept_bytes(&data_dir, owner)
            .map_err(|why| format!("the values that scripts keep cannot be counted: {why}"))
    })
}

/// Removes the keys that this program itself uses from a folder's file, under any name.
fn not_our_keys(
    settings: &Settings,
    tool: &FileTool,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<(), String> {
    let keys = settings.key_variables();
    let holds_key = |name: &str| lookup(name).is_some_and(|value| settings.holds_key(&value));
    let wanted = tool.definition.variables();
    let wanted = wanted
        .into_iter()
        .find(|name| keys.contains(name) || holds_key(name));
    match wanted.filter(|_| tool.origin == FileOrigin::Workspace) {
        Some(name) => Err(format!(
            "it asks for {name}, an API key that AgentX itself uses; only your own files may use it"
        )),
        None => Ok(()),
    }
}

/// Refuses a tool inside a folder's composite with the name of another tool.
fn no_taken_name(
    tool: &FileTool,
    tools: &BTreeMap<String, FileTool>,
    is_built_in: &dyn Fn(&str) -> bool,
) -> Result<(), String> {
    match name_taken(tool, tools, is_built_in) {
        Some(name) => Err(format!(
            "it contains a tool called `{name}`, which is the name of another tool; rename it"
        )),
        None => Ok(()),
    }
}

/// Returns whether an error is in the tool's file, or in its script.
fn is_of(mistake: &DefinitionMistake, tool: &FileTool) -> bool {
    let script = match &tool.definition.body {
        ToolBody::Luau(luau) => luau.lua_file.as_deref(),
        _ => None,
    };
    let script = script.map(|script| script.trim_start_matches("./").trim_start_matches("../"));
    mistake.file == tool.file || script.is_some_and(|script| mistake.file.ends_with(script))
}

/// Returns the error of a definition that cannot become a tool; its place in the file is unknown.
fn no_tool(tool: &FileTool, problem: &str) -> DefinitionMistake {
    DefinitionMistake {
        file: tool.file.clone(),
        line: 1,
        column: 1,
        message: format!("the tool `{}` cannot be used: {problem}", tool.definition.name),
        hint: None,
    }
}

/// Returns the scripts that others may `require`.
fn scripts(read: &BTreeMap<String, String>) -> Libraries {
    read.iter().fold(Libraries::new(), |libraries, (path, source)| {
        libraries.with(path, source)
    })
}
