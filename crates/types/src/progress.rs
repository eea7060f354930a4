//! Classifies facts by their place in an answer or an output. Code that skips work distinguishes facts by
//! this one table, each caller with another question.

use crate::EnvironmentEvent;

/// The place of a fact within an answer of a model, or an output of a tool, that continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventProgress {
    /// A few letters more.
    Delta,
    /// A part of an answer has ended.
    PartEnd,
    /// Anything else that belongs to it: its beginning, a call in it, its cost.
    Item,
    /// A complete event: a person, a tool or an agent may continue because of it.
    Whole,
}

impl EnvironmentEvent {
    /// Returns whether it only adds a few characters to something unfinished.
    ///
    /// ```
    /// use agentx_types::{EnvironmentEvent, PartEnd, TextChunk};
    ///
    /// assert!(EnvironmentEvent::from(TextChunk { text: "Hel".into() }).is_delta());
    /// assert!(!EnvironmentEvent::from(PartEnd {}).is_delta());
    /// ```
    pub fn is_delta(&self) -> bool {
        self.progress() == EventProgress::Delta
    }

    /// Returns whether lists of sessions show nothing of it.
    pub fn is_unlisted(&self) -> bool {
        matches!(self.progress(), EventProgress::Delta | EventProgress::PartEnd)
    }

    /// Returns whether somebody or something did anything in the session. Its title, its settings, who has
    /// access or drives, and that it was opened, joined or left do not make the session count as more recent.
    ///
    /// ```
    /// use agentx_types::{EnvironmentEvent, SessionTitled, TextChunk};
    ///
    /// assert!(EnvironmentEvent::from(TextChunk { text: "Hel".into() }).is_activity());
    /// assert!(!EnvironmentEvent::from(SessionTitled { title: "Lunch".into(), by: None }).is_activity());
    /// ```
    pub fn is_activity(&self) -> bool {
        !matches!(
            self,
            Self::SessionTitled(_)
                | Self::SessionRedacted(_)
                | Self::AccessChanged(_)
                | Self::WheelChanged(_)
                | Self::ConfigChanged(_)
                | Self::WriterAttached(_)
                | Self::Connected(_)
                | Self::Disconnected(_)
                | Self::SessionClosed(_)
        )
    }

    /// Returns whether more events like this will follow immediately; a commit may wait for them.
    pub fn has_more(&self) -> bool {
        self.progress() != EventProgress::Whole
    }

    /// Returns whether an agent may want something done because of it.
    ///
    /// ```
    /// use agentx_types::{EnvironmentEvent, SessionTitled, TextChunk};
    ///
    /// assert!(!EnvironmentEvent::from(TextChunk { text: "Hel".into() }).may_move_an_agent());
    /// assert!(EnvironmentEvent::from(SessionTitled { title: "Lunch".into(), by: None }).may_move_an_agent());
    /// ```
    pub fn may_move_an_agent(&self) -> bool {
        self.progress() == EventProgress::Whole
    }

    fn progress(&self) -> EventProgress {
        match self {
            Self::TextChunk(_)
            | Self::ThinkingChunk(_)
            | Self::ToolCallChunk(_)
            | Self::ToolOutputChunk(_) => EventProgress::Delta,
            Self::PartEnd(_) => EventProgress::PartEnd,
            Self::StreamStart(_)
            | Self::ToolCallStart(_)
            | Self::ToolCall(_)
            | Self::ProviderPart(_)
            | Self::UsageReport(_)
            | Self::ModelFellBack(_) => EventProgress::Item,
            Self::UserMessage(_)
            | Self::InterruptRequested(_)
            | Self::InputRevised(_)
            | Self::Approval(_)
            | Self::SystemCommand(_)
            | Self::StreamEnd(_)
            | Self::AttemptFailed(_)
            | Self::FallbackAsked(_)
            | Self::ActionStarted(_)
            | Self::EffectStarted(_)
            | Self::EffectEnded(_)
            | Self::InnerCallAsked(_)
            | Self::ToolResult(_)
            | Self::JobEnded(_)
            | Self::CommandRan(_)
            | Self::RequestRecorded(_)
            | Self::Connected(_)
            | Self::Disconnected(_)
            | Self::TimerFired(_)
            | Self::SessionOpened(_)
            | Self::WriterAttached(_)
            | Self::SessionForked(_)
            | Self::SessionImported(_)
            | Self::SessionTitled(_)
            | Self::SessionRedacted(_)
            | Self::WheelChanged(_)
            | Self::AccessChanged(_)
            | Self::FilesRestoring(_)
            | Self::FilesRestored(_)
            | Self::SessionClosed(_)
            | Self::ConfigChanged(_)
            | Self::AgentSpawned(_)
            | Self::AgentClosed(_)
            | Self::InputPinned(_)
            | Self::CondenseRequested(_)
            | Self::ContextBuilt(_)
            | Self::RiskAssessed(_)
            | Self::MemoriesProposed(_)
            | Self::ContextCondensed(_)
            | Self::CondensingFailed(_)
            | Self::ContextRestored(_)
            | Self::Interrupted(_)
            | Self::ErrorOccurred(_)
            | Self::AnswerChecked(_)
            | Self::Unknown(_) => EventProgress::Whole,
        }
    }
}
