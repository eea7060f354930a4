//! Recognizes commands that only show something: they also run while a shell command of the person runs.

use super::{QueueCommand, Rules, Slash, WheelCommand};

impl Slash {
    /// Returns whether the command only shows something, so that it needs no agent and changes nothing.
    pub(crate) fn only_shows(&self) -> bool {
        match self {
            Self::Help(_)
            | Self::Status
            | Self::Usage(_)
            | Self::Context { .. }
            | Self::Thinking(_)
            | Self::Output(_)
            | Self::AgentOutput(_)
            | Self::Jobs(None)
            | Self::Todo
            | Self::Sessions
            | Self::Who
            | Self::Model(None)
            | Self::ApproveMode(None)
            | Self::Copy(_)
            | Self::Effort(None)
            | Self::Config(_)
            | Self::Doctor
            | Self::Mcp(None)
            | Self::Secret(None)
            | Self::Wheel(WheelCommand::Know)
            | Self::Queue(QueueCommand::List)
            | Self::Approvals(Rules::List | Rules::Test(_)) => true,
            Self::Quit
            | Self::Model(_)
            | Self::ApproveMode(_)
            | Self::Plan(_)
            | Self::Title(_)
            | Self::Wheel(_)
            | Self::Steer(_)
            | Self::Queue(_)
            | Self::Fork(_)
            | Self::Rewind(_)
            | Self::Diff(_)
            | Self::Approvals(_)
            | Self::Compact(_)
            | Self::Jobs(_)
            | Self::Retry
            | Self::New
            | Self::Resume(_)
            | Self::Effort(_)
            | Self::Export(_)
            | Self::Init
            | Self::Mcp(_)
            | Self::Memory(_)
            | Self::Secret(_)
            | Self::Pin(_) => false,
        }
    }
}
