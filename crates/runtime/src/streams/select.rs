//! The selection of a stream, and the policy for a slow reader.

use std::sync::Arc;

use agentx_types::{AgentStateId, Medium};

use super::event::StreamEvent;

/// Selects streams and their events. The default selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    pub(super) agent: AgentSelection,
    pub(super) medium: Option<Medium>,
}

/// The selected agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum AgentSelection {
    /// All agents.
    #[default]
    All,
    /// The agent with this id.
    Id(AgentStateId),
    /// All agents of this name, one after another or at once.
    Name(Arc<str>),
}

impl Select {
    /// The outputs of all agents of the session.
    pub fn all() -> Self {
        Self::default()
    }

    /// Selects the events of this agent. The agent may come later.
    pub fn agent(id: impl Into<AgentStateId>) -> Self {
        Self {
            agent: AgentSelection::Id(id.into()),
            medium: None,
        }
    }

    /// Selects the events of all agents of this name.
    pub fn named(name: impl AsRef<str>) -> Self {
        Self {
            agent: AgentSelection::Name(Arc::from(name.as_ref())),
            medium: None,
        }
    }

    /// Selects only this medium, and the ends: `eof`, `closed` and `interrupted` belong to every medium.
    #[must_use]
    pub fn medium(mut self, medium: Medium) -> Self {
        self.medium = Some(medium);
        self
    }

    /// Returns whether the event is selected.
    pub fn wants(&self, event: &StreamEvent) -> bool {
        let whose = match &self.agent {
            AgentSelection::All => true,
            AgentSelection::Id(id) => *id == event.agent_state_id,
            AgentSelection::Name(name) => *name == event.agent_def,
        };
        whose && self.wants_medium(event)
    }

    pub(super) fn wants_medium(&self, event: &StreamEvent) -> bool {
        let Some(wanted) = &self.medium else { return true };
        event.medium().is_none_or(|medium| medium == wanted)
    }
}

/// The policy for a slow reader of a stream. A slow reader never delays others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowReaderPolicy {
    /// Nothing is lost. This many events are kept; a reader that is further behind reads the rest from the
    /// log.
    Lossless(usize),
    /// Only new events count. This many events are kept; older ones are dropped, and counted.
    Latest(usize),
}

impl SlowReaderPolicy {
    /// The number of events that are kept: one at least.
    pub fn bound(self) -> usize {
        match self {
            Self::Lossless(bound) | Self::Latest(bound) => bound.max(1),
        }
    }
}

/// The beginning of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamStart {
    /// The place at which all of the [`Streams`](super::Streams) begin.
    #[default]
    Start,
    /// Begins after this fact.
    After(u64),
    /// The next event.
    Now,
}
