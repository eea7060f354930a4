//! The changes of the read models of a store when a fact is committed.
//!
//! From read models, a store answers lists, searches and bills without folding a session. The fold returns
//! their changes; a store applies the changes in the transaction in which it commits the fact, so that no
//! list is ahead of or behind the log. All of them can be rebuilt by folding the log again.

use agentx_types::{
    AgentStateId, ConfigChange, Envelope, EnvironmentEvent, MessageId, NanoUsd, OwnerId, Role, RunId,
    RunStatus, SessionRole, Timestamp, Usage,
};

/// A change of a read model.
///
/// Each is a whole new value, or has a key (the message's id, the `seq` of the payment): applying it again
/// changes nothing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Projection {
    /// The session's title.
    Title(String),
    /// The agent's model.
    Model(String),
    /// The status of the root agent's run. The work of agents below it is a part of that run.
    Status(RunStatus),
    /// A message joined a conversation.
    Message {
        /// The event that completed it.
        seq: u64,
        /// The id of the message.
        message_id: MessageId,
        /// The agent of the conversation.
        agent_state_id: AgentStateId,
        /// The role of the speaker.
        role: Role,
        /// The words, for search and previews.
        text: String,
    },
    /// The role of a person other than the owner changed.
    Role {
        /// The person.
        person: OwnerId,
        /// The role that they have from now on; `None` for none.
        role: Option<SessionRole>,
    },
    /// Nobody but the owner has a role. Emitted for a copy, which inherits no roles.
    Unshared,
    /// The time of the session's first reminder changed; `None` if it has none any more.
    Reminder(Option<Timestamp>),
    /// A model call was paid for. Not emitted for the part that a copy shares with its original, because the
    /// original paid.
    Spent {
        /// The event that recorded it.
        seq: u64,
        /// The run that it was spent in.
        run_id: Option<RunId>,
        /// The called model.
        model: String,
        /// Tokens.
        usage: Usage,
        /// Money.
        cost: NanoUsd,
    },
}

impl Projection {
    /// Returns whether it applies in a copy under another owner, such as an import or a kept mirror, where
    /// nobody inherits a role, and nobody is reminded.
    pub fn holds_in_a_copy(&self) -> bool {
        !matches!(self, Self::Role { .. } | Self::Reminder(_))
    }

    /// Returns the change that follows from the fact itself, without the outputs of agents.
    pub(crate) fn of_fact(fact: &Envelope<EnvironmentEvent>) -> Option<Self> {
        match &fact.event {
            EnvironmentEvent::SessionOpened(opened) => {
                let has_agent = fact.agent_state_id.is_some();
                has_agent.then(|| Self::Model(opened.config.model.id.clone()))
            }
            EnvironmentEvent::SessionTitled(titled) => Some(Self::Title(titled.title.clone())),
            EnvironmentEvent::ConfigChanged(changed) => match &changed.change {
                ConfigChange::Model(model) => Some(Self::Model(model.id.clone())),
                _ => None,
            },
            EnvironmentEvent::SessionForked(_) => Some(Self::Unshared),
            EnvironmentEvent::AccessChanged(changed) => Some(Self::Role {
                person: changed.person.clone(),
                role: changed.role,
            }),
            _ => None,
        }
    }
}
