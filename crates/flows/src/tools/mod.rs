//! Definitions become tools.

mod composite;
mod generator;
mod http;
mod luau;
mod run;
mod schema_check;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use agentx_agent_files::definition::{ToolBody, ToolDefinition};
use agentx_luau_tools::{Libraries, Owner};
use agentx_runtime::{Effector, Tool};
use agentx_types::{Access, AgentConfig, CurrentFolder, ModelSpec, ToolReach, ToolSpec, host_name};

pub use schema_check::Schemas;

use crate::world::ToolStore;
use crate::world::network::{AnswerBudget, NameLookup, SystemLookup};

/// The file of the keys that tools keep.
pub(crate) const DATABASE: &str = "flows.db";

/// Resolves the names to which tools from files refer.
pub trait ToolSurroundings: Send + Sync + 'static {
    /// Returns the model that files and scripts call by this name.
    fn model(&self, name: &str) -> Option<ModelSpec>;

    /// Returns the agent that files and scripts call by this name.
    fn agent(&self, name: &str) -> Option<AgentConfig> {
        let _ = name;
        None
    }

    /// Returns the text that context layers call by this name.
    fn context(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// Returns an environment variable.
    fn env(&self, name: &str) -> Option<String>;
}

/// The parts of a [`ToolFactory`].
#[derive(Clone)]
pub struct ToolFactoryParts {
    /// Asks models: performs `call_model`.
    pub models: Arc<dyn Effector>,
    /// Resolves agents, models and variables by name.
    pub known: Arc<dyn ToolSurroundings>,
    /// Further tools that scripts and composites may call.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The libraries that scripts may `require`.
    pub libraries: Libraries,
    /// The libraries of scripts of a folder ([`ToolDefinition::of_folder`]).
    pub folder_libraries: Libraries,
    /// The directory of the store of scripts' values; `None` keeps them in memory.
    pub data_dir: Option<PathBuf>,
    /// The folder of the tools that belong to a folder ([`ToolDefinition::of_folder`]): their values are kept
    /// only for it.
    pub folder: Option<PathBuf>,
    /// The identity of the folder, so that it does not get the values of another folder that was at its path;
    /// `None` identifies folders by their path alone.
    pub folder_now: Option<CurrentFolder>,
    /// Maximum number of bytes that scripts may keep for one person (`kv`), at most 128 MiB; `None` means that.
    pub kept_bytes: Option<u64>,
    /// Finds the addresses of hosts.
    pub lookup: Arc<dyn NameLookup>,
}

impl ToolFactoryParts {
    /// Creates parts without tools, libraries and a data directory, with the system's name service.
    pub fn new(models: Arc<dyn Effector>, known: Arc<dyn ToolSurroundings>) -> Self {
        Self {
            models,
            known,
            tools: Vec::new(),
            libraries: Libraries::new(),
            folder_libraries: Libraries::new(),
            data_dir: None,
            folder: None,
            folder_now: None,
            kept_bytes: None,
            lookup: Arc::new(SystemLookup),
        }
    }
}

/// Makes tools of definitions. Those that it made can call each other.
#[derive(Clone)]
pub struct ToolFactory {
    shared: Arc<ToolsShared>,
}

pub(crate) struct ToolsShared {
    pub(crate) parts: ToolFactoryParts,
    pub(crate) store: Arc<ToolStore>,
    /// The owner of the user's scripts: they come from one place.
    owner: Owner,
    /// The owner of the VMs of a folder's scripts, which are never shared with the person's scripts.
    folder_owner: Owner,
    /// The memory that responses to all tools may take together while they are read.
    pub(crate) answers: AnswerBudget,
    /// The tools that were made, by name; their users keep them alive.
    made: Mutex<BTreeMap<String, Weak<dyn Tool>>>,
}

/// A definition of which no tool can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolBuildError {
    /// The tool's name.
    pub tool: String,
    /// The reason why the tool cannot be used.
    pub problem: String,
}

impl fmt::Display for ToolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tool {} cannot be used: {}", self.tool, self.problem)
    }
}

impl std::error::Error for ToolBuildError {}

impl ToolFactory {
    /// Creates the factory from its parts.
    pub fn new(parts: ToolFactoryParts) -> Self {
        let database = parts.data_dir.as_ref().map(|folder| folder.join(DATABASE));
        let folder = parts.folder.as_deref().unwrap_or(Path::new(""));
        let folder = folder.to_string_lossy().into_owned();
        let store = ToolStore::new(database, folder, parts.folder_now.clone(), parts.kept_bytes);
        Self {
            shared: Arc::new(ToolsShared {
                answers: AnswerBudget::default(),
                store: Arc::new(store),
                owner: Owner::new(),
                folder_owner: Owner::new(),
                parts,
                made: Mutex::default(),
            }),
        }
    }

    /// Returns the tool that a definition describes.
    ///
    /// # Errors
    /// Returns an error if the script or a filter cannot be compiled, or no tool here has this name
    /// (`built-in`).
    pub fn tool(&self, definition: &ToolDefinition) -> Result<Arc<dyn Tool>, ToolBuildError> {
        let shared = &self.shared;
        let tool: Result<Arc<dyn Tool>, String> = match &definition.body {
            ToolBody::Luau(luau) => luau::tool(shared, definition, luau),
            ToolBody::Http(http) => http::tool(shared, definition, http),
            ToolBody::Generator(generator) => generator::tool(shared, definition, generator),
            ToolBody::TextProcessor(processor) => generator::processor(shared, definition, processor),
            ToolBody::Composite(composite) => composite::tool(self, definition, composite),
            ToolBody::BuiltIn => match shared.tool(&definition.name) {
                Some(tool) => return Ok(tool),
                None => Err("the program has no built-in tool of this name".to_owned()),
            },
        };
        let tool = match definition.params {
            Some(_) => tool.and_then(schema_check::checked),
            None => tool,
        };
        let tool = tool.map_err(|problem| ToolBuildError {
            tool: definition.name.clone(),
            problem,
        })?;
        let mut made = shared.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert(definition.name.clone(), Arc::downgrade(&tool));
        Ok(tool)
    }
}

impl ToolsShared {
    /// Returns the tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let from_file = made.get(name).and_then(Weak::upgrade);
        drop(made);
        from_file.or_else(|| {
            self.parts
                .tools
                .iter()
                .find(|tool| tool.spec().name == name)
                .cloned()
        })
    }
}

/// Returns the spec that models and approval rules see.
fn spec(definition: &ToolDefinition) -> ToolSpec {
    let description = definition.description.clone().unwrap_or_default();
    let access = definition.access().unwrap_or(Access::Run);
    let spec = ToolSpec::new(&*definition.name, description, definition.input_schema(), access)
        // Its journal makes it idempotent: a call that is run again repeats no recorded step.
        .with_idempotent(true)
        .with_quit(definition.quit)
        .with_checked(true);
    match reach(definition) {
        Some(reach) => spec.with_reach(reach),
        None => spec,
    }
}

/// Returns the reach that its file grants; `None` if it grants nothing.
fn reach(definition: &ToolDefinition) -> Option<ToolReach> {
    let names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    // If arguments or variables decide about the host, it may be any host.
    let host_of = |address: &str| host_name(address).unwrap_or_else(|| "*".to_owned());
    let mut hosts: Vec<String> = definition.hosts().into_iter().map(host_of).collect();
    hosts.sort();
    hosts.dedup();
    let reach = ToolReach {
        hosts,
        variables: names(definition.variables()),
        tools: names(definition.calls()),
        file: definition.known.hash.clone(),
        replaces: definition.known.replaces,
        ..ToolReach::default()
    };
    (reach != ToolReach::default()).then_some(reach)
}
