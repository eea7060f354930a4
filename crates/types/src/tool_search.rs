//! The setting of agents that search tools of MCP servers.

use serde::{Deserialize, Serialize};

/// The condition under which tools of MCP servers are found by searching instead of being listed in each
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolSearch {
    /// The share of the model's context window, in percent, beyond which the tools are searched. Tokens are
    /// estimated.
    pub at_percent: u8,
}

impl Default for ToolSearch {
    fn default() -> Self {
        Self { at_percent: 10 }
    }
}
