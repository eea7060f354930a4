//! The state that all tools of one factory share: the models and people that they may ask, the store of their
//! values, and each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use agentx_luau_tools::{Libraries, Owner};
use agentx_runtime::{Effector, Tool};
use agentx_types::{AgentConfig, CurrentFolder, ModelSpec};

use super::network::{AnswerBudget, NameLookup, SystemLookup};
use super::store::ToolStore;
use crate::kept_values::DATABASE;

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

/// The parts of a [`ToolFactory`](crate::ToolFactory).
#[derive(Clone)]
pub struct ToolFactoryParts {
    /// Asks models: performs `call_model`. In a program, a [`BusModels`](agentx_runtime::BusModels), so that
    /// attached environments answer too.
    pub models: Arc<dyn Effector>,
    /// Resolves agents, models and variables by name.
    pub known: Arc<dyn ToolSurroundings>,
    /// Further tools that scripts and composites may call.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The libraries that scripts may `require`.
    pub libraries: Libraries,
    /// The libraries of scripts of a folder ([`ToolDefinition::of_folder`]).
    ///
    /// [`ToolDefinition::of_folder`]: agentx_agent_files::definition::ToolDefinition::of_folder
    pub folder_libraries: Libraries,
    /// The directory of the store of scripts' values; `None` keeps them in memory.
    pub data_dir: Option<PathBuf>,
    /// The folder of the tools that belong to a folder ([`ToolDefinition::of_folder`]): their values are kept
    /// only for it.
    ///
    /// [`ToolDefinition::of_folder`]: agentx_agent_files::definition::ToolDefinition::of_folder
    pub folder: Option<PathBuf>,
    /// The identity of the folder, so that it does not get the values of another folder that was at its path;
    /// `None` identifies folders by their path alone.
    pub folder_now: Option<CurrentFolder>,
    /// Maximum number of bytes that scripts may keep for one person (`kv`), at most 128 MiB; `None` means
    /// that.
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

/// The state that all tools of one factory share.
pub(crate) struct ToolsShared {
    pub(crate) parts: ToolFactoryParts,
    pub(crate) store: Arc<ToolStore>,
    /// The owner of the user's scripts: they come from one place.
    pub(crate) owner: Owner,
    /// The owner of the VMs of a folder's scripts, which are never shared with the person's scripts.
    pub(crate) folder_owner: Owner,
    /// The memory that responses to all tools may take together while they are read.
    pub(crate) answers: AnswerBudget,
    /// The tools that were made, by name; their users keep them alive.
    made: Mutex<BTreeMap<String, Weak<dyn Tool>>>,
}

impl ToolsShared {
    /// Shares the parts, with a store in their directory.
    pub(crate) fn new(parts: ToolFactoryParts) -> Self {
        let database = parts.data_dir.as_ref().map(|folder| folder.join(DATABASE));
        let folder = parts.folder.as_deref().unwrap_or(Path::new(""));
        let folder = folder.to_string_lossy().into_owned();
        let store = ToolStore::new(database, folder, parts.folder_now.clone(), parts.kept_bytes);
        Self {
            answers: AnswerBudget::default(),
            store: Arc::new(store),
            owner: Owner::new(),
            folder_owner: Owner::new(),
            parts,
            made: Mutex::default(),
        }
    }

    /// Notes a tool that was made, so that others can call it by its name.
    pub(crate) fn add(&self, name: &str, tool: &Arc<dyn Tool>) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert(name.to_owned(), Arc::downgrade(tool));
    }

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
