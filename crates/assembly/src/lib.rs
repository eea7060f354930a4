//! From files to agents: what agent and tool files say, together with the settings, the models and the tools that are there,
//! becomes the resolved configuration that a session is opened with. Nothing in a log refers to a file.

mod admitted;
mod agent;
mod brings;
mod catalogue;
mod lacking;
mod layers;
mod misnamed;
mod runtime;
mod tools;
mod trust;

pub use agentx_flows::{forget_values, kept_values};

pub use agent::{Assembly, AssemblyError, mistakes_of};
pub use brings::{Brings, Brought, Role, brings};
pub use lacking::tools_lacking;
pub use misnamed::{Misnamed, misnamed_tools};
pub use runtime::{
    Variables, WithFiles, library, runtime_with_files, user_folder, whole_library, workspace_folder,
};
pub use tools::{FileTool, file_tools};
