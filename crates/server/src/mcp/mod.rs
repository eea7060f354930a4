//! Calls of MCP clients: the tools and agents that serve them, their number, and their cost.

pub(crate) mod agent_tasks;
mod agents;
pub(crate) mod client_call_costs;
mod client_run;
pub(crate) mod parts;
pub(crate) mod running_call;
