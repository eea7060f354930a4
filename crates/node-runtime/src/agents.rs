//! Agents defined in files, as the code that reads the files passes them to the runtime.
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

    /// Returns the configuration of one of its agents, for opening a session.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Agents::resolve`].
    pub fn resolve_agent(&self, wanted: &NamedAgent) -> Result<AgentConfig, RuntimeError> {
        self.agents.resolve(wanted)
    }

    /// Completes the agents to which a new session's agent may delegate work by those of files. Members of a
    /// server have the built-in ones alone: nobody has fitted an agent of the operator's files to their
    /// bounds.
    pub(crate) fn complete_agents(&self, config: AgentConfig) -> AgentConfig {
        let server = self.server_rules();
        let is_of_member = server.is_some_and(|rules| rules.member_directory.is_some());
        if is_of_member || config.built_in_agents.is_empty() {
            return config;
        }
        self.agents.complete_agents(config)
    }
}
