//! The MCP servers of a person: listed, changed, and logged in to.

pub mod changes;
pub(crate) mod command_line;
pub mod login;
pub mod servers;
