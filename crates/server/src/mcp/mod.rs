//! Calls of MCP clients: what serves them, how many run, and what they cost.

pub(crate) mod client_call_costs;
pub(crate) mod client_calls;
pub(crate) mod mcp_parts;
