//! From files to agents: what agent and tool files say, together with the settings, the models and the tools that are there,
//! becomes the resolved configuration that a session is opened with. Nothing in a log refers to a file.

mod agent;
mod layers;
mod tools;
mod trust;

pub use agent::{Assembly, AssemblyError};
pub use tools::{FileTool, file_tools};
