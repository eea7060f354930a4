//! What changes in the read models of a store when a fact is committed.

use agentx_types::{AgentStateId, MessageId, NanoUsd, OwnerId, Role, RunId, RunStatus, SessionRole, Usage};

/// A change of a read model.
#[derive(Clone, Debug, PartialEq)]
pub enum Projection {
    /// The session's title.
    Title(String),
    /// The model that is asked.
    Model(String),
    /// Where its run stands.
    Status(RunStatus),
    /// A message joined a conversation.
    Message {
        /// The event that completed it.
        seq: u64,
        /// Its id.
        message_id: MessageId,
        /// Of which agent.
        agent_state_id: AgentStateId,
        /// Who speaks.
        role: Role,
        /// Its words, for search and previews.
        text: String,
    },
    /// Somebody who is not the owner may do more or less.
    Role {
        /// Who.
        person: OwnerId,
        /// What they may do from now on; `None` for nothing.
        role: Option<SessionRole>,
    },
    /// Nobody but the owner may do anything.
    Unshared,
    /// A model call was paid for.
    Spent {
        /// The event that says so.
        seq: u64,
        /// In which run.
        run_id: Option<RunId>,
        /// Which model.
        model: String,
        /// Tokens.
        usage: Usage,
        /// Money.
        cost: NanoUsd,
    },
}
