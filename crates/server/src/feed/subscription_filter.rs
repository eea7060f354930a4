//! Filters of subscriptions. Frames are encoded once for all readers and carry the fields that filters look
//! at.

use agentx_types::wire::Problem;
use agentx_types::{AgentStateId, EnvironmentEvent, Medium, RuntimeEvent, UiEvent};

use super::Frame;
use crate::limits::size_limits::ID_BYTES;
use crate::problems::problem;

/// The largest number of agents, and of media, in one filter.
const MOST: usize = 256;

/// The agents and media that a reader subscribes to. An empty list means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionFilter {
    /// Sorted.
    agents: Vec<AgentStateId>,
    /// Sorted.
    media: Vec<Medium>,
}

impl SubscriptionFilter {
    /// Creates a filter for these agents and media; `None` if it lets everything pass.
    ///
    /// # Errors
    /// Returns an error if too many are named, or one has too long a name.
    pub fn of(mut agents: Vec<AgentStateId>, mut media: Vec<Medium>) -> Result<Option<Self>, Box<Problem>> {
        for (what, count) in [("agents", agents.len()), ("media", media.len())] {
            if count > MOST {
                let why = format!("`{what}` names {count}; at most {MOST} can be named");
                return Err(problem("bad_request", &why));
            }
        }
        let mut names = agents
            .iter()
            .map(AgentStateId::as_str)
            .chain(media.iter().map(Medium::as_str));
        if names.any(|name| name.len() > ID_BYTES) {
            let why = format!("`agents` and `media` name what has at most {ID_BYTES} bytes each");
            return Err(problem("bad_request", &why));
        }
        agents.sort_unstable();
        media.sort_unstable();
        let is_all = agents.is_empty() && media.is_empty();
        Ok((!is_all).then_some(Self { agents, media }))
    }

    /// Returns whether a frame passes. Frames without an agent, or without a medium, pass that part.
    pub fn wants(&self, frame: &Frame) -> bool {
        let agent = |agent| self.agents.is_empty() || self.agents.binary_search(agent).is_ok();
        let medium = |medium| self.media.is_empty() || self.media.binary_search(medium).is_ok();
        frame.agent.as_ref().is_none_or(agent) && frame.medium.as_ref().is_none_or(medium)
    }
}

/// The fields of events that filters look at.
pub trait FilteredEvent {
    /// Returns the medium of the event; `None` if it has none.
    fn medium(&self) -> Option<Medium>;
}

impl FilteredEvent for EnvironmentEvent {
    fn medium(&self) -> Option<Medium> {
        match self {
            Self::TextChunk(_) => Some(Medium::Text),
            Self::ThinkingChunk(_) => Some(Medium::Thinking),
            Self::ToolCallStart(_)
            | Self::ToolCallChunk(_)
            | Self::ToolCall(_)
            | Self::ToolOutputChunk(_)
            | Self::ToolResult(_) => Some(Medium::Tool),
            _ => None,
        }
    }
}

impl FilteredEvent for RuntimeEvent {
    fn medium(&self) -> Option<Medium> {
        match self {
            Self::TextDelta(_) => Some(Medium::Text),
            Self::ThinkingDelta(_) => Some(Medium::Thinking),
            Self::Chunk(chunk) => Some(chunk.medium.clone()),
            Self::ToolCallRequested(_)
            | Self::ToolCallAnswered(_)
            | Self::ToolPlanned(_)
            | Self::ToolExecuting(_)
            | Self::ToolOutput(_)
            | Self::ToolCompleted(_)
            | Self::ToolFailed(_) => Some(Medium::Tool),
            _ => None,
        }
    }
}

impl FilteredEvent for UiEvent {
    fn medium(&self) -> Option<Medium> {
        match self {
            Self::UiTextChunk(_) => Some(Medium::Text),
            Self::UiToolCallStarted(_) | Self::UiToolCallFinished(_) => Some(Medium::Tool),
            _ => None,
        }
    }
}
