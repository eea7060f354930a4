//! From files to agents: the definitions in agent and tool files, together with the settings, the models and
//! the available tools, become the resolved configuration that a session is opened with. Nothing in a log
//! refers to a file.

mod accepted_files;
mod agent;
mod catalogue;
mod definition_roots;
mod file_limits;
mod folder_contents;
mod foreign_agents;
mod intent_rules;
mod layers;
mod missing_parts;
mod own_agents;
mod runtime;
mod tools;
mod unknown_names;

pub use agentx_flows::{forget_values, kept_bytes, kept_values};

pub use agent::{Assembly, AssemblyError, mistakes_of};
pub use catalogue::VariableSource;
pub use definition_roots::{user_folder, workspace_folder};
pub use folder_contents::{FileRole, FolderContents, FolderFile, folder_contents};
pub use missing_parts::tools_lacking;
pub use runtime::{AttachedToolSource, WithFiles, library, runtime_with_files, whole_library};
pub use tools::{FileTool, file_tools};
pub use unknown_names::{UnknownTools, misnamed_tools};
