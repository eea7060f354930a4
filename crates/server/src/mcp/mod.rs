//! Calls of MCP clients: the tools that serve them, their number, and their cost.

pub(crate) mod client_call_costs;
pub(crate) mod parts;
pub(crate) mod running_call;
