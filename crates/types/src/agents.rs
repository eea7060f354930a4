//! Facts about the agents of a session: they come and go.

use crate::vocabulary::payloads;
use crate::{AgentConfig, AgentStateId};

payloads! {
    /// An agent comes into being.
    AgentSpawned {
        /// The agent's id.
        agent_state_id: AgentStateId,
        /// The agent that made it.
        parent: AgentStateId,
        /// The agent's configuration.
        config: Box<AgentConfig>,
    }
    /// An agent is gone.
    AgentClosed {
        /// The agent.
        agent_state_id: AgentStateId,
        /// The reason.
        reason: String,
    }
}
