//! The MCP servers of a person: listed, changed, and logged in to.

pub mod mcp_changes;
pub(crate) mod mcp_command_line;
pub mod mcp_login;
pub mod mcp_servers;
