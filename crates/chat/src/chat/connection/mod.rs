//! The session of a chat, its other participants, and whether the session was lost.

pub(super) mod away;
pub(crate) mod leaving;
pub(super) mod line_limit;
pub(crate) mod lost_session;
pub(super) mod participant_changes;
pub(super) mod participants;
pub mod server_wait;

use std::sync::Arc;

use agentx::runtime::{Delivery, Session, SessionState};
use agentx::types::AgentKind;

use crate::chat::connection::lost_session::StateAtLoss;
use crate::chat::connection::participants::Participants;
use crate::error::ChatError;
use crate::place::follow::AnyFollower;
use crate::session_opening::new_agent::NewAgent;

/// The session of the conversation, open or about to be opened.
pub(crate) enum ConversationSite {
    /// No session yet: the first message opens it.
    New(NewAgent),
    /// An open session.
    Open {
        /// The handle for messages and commands.
        session: Arc<dyn Session>,
        /// The events of the session, from the first one that the chat has not shown yet.
        events: AnyFollower,
    },
}

impl ConversationSite {
    /// The next thing that happens in the session. Safe to drop while it waits.
    pub(super) async fn next_delivery(&mut self) -> Result<Option<Delivery>, ChatError> {
        match self {
            Self::Open { events, .. } => events.next().await,
            Self::New(_) => std::future::pending().await,
        }
    }

    /// The next one, if it has already arrived.
    pub(super) fn ready_delivery(&mut self) -> Option<Delivery> {
        match self {
            Self::Open { events, .. } => events.ready(),
            Self::New(_) => None,
        }
    }
}

/// The conversation, and who takes part.
pub(crate) struct ChatConnection {
    pub(super) site: ConversationSite,
    /// The kind of the agent that people talk to.
    pub(super) kind: AgentKind,
    /// The others at this session.
    pub(super) company: Participants,
    /// The state of the session when it was closed because nothing could be written any more. It is opened
    /// again with the next line.
    pub(super) lost: Option<StateAtLoss>,
}

impl ChatConnection {
    /// Creates a connection without a session, which begins with the first message.
    pub(super) fn new(agent: NewAgent, company: Participants) -> Self {
        Self {
            kind: agent.config.kind,
            site: ConversationSite::New(agent),
            company,
            lost: None,
        }
    }

    /// The session, once it is open.
    pub(super) fn session(&self) -> Option<&Arc<dyn Session>> {
        match &self.site {
            ConversationSite::Open { session, .. } => Some(session),
            ConversationSite::New(_) => None,
        }
    }

    /// Returns the state that the runtime reports, once the session is open.
    pub(super) async fn state(&self) -> Result<Option<SessionState>, ChatError> {
        match self.session() {
            Some(session) => Ok(Some(session.state().await?)),
            None => Ok(None),
        }
    }

    /// Returns whether the agent is a router, which matches messages even while one of its agents speaks.
    pub(super) fn is_router(&self) -> bool {
        self.kind == AgentKind::Match
    }
}
