//! The MCP servers of a person: listed, changed, and logged in to; and tokens for the MCP server of others.

pub mod changes;
pub(crate) mod command_line;
pub(crate) mod last_use;
pub mod login;
pub mod servers;
pub mod tokens;
