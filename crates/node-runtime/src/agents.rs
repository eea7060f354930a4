//! Agents of files: a runtime is told of them by whoever has read the files.
//!
//! This crate reads no agent files. `crates/agent-files` reads them and `crates/assembly` gives the result to
//! the runtime; without that the list is empty and every name is refused.

use std::sync::Arc;

use agentx_runtime::{Agents, NamedAgent, RuntimeError};
use agentx_types::AgentConfig;

use crate::NodeRuntime;

impl NodeRuntime {
    /// Sets the agents that can be named.
    #[must_use]
    pub fn with_agents(mut self, agents: Arc<dyn Agents>) -> Self {
        self.agents = agents;
        self
    }

    /// One of its agents, as a session is opened with it.
    ///
    /// # Errors
    /// See [`Agents::resolve`].
    pub fn resolve_agent(&self, wanted: &NamedAgent) -> Result<AgentConfig, RuntimeError> {
        self.agents.resolve(wanted)
    }
}
