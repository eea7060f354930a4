//! Counts messages without an answer, because their run failed or was stopped: the model reads them together
//! with the next message.

use agentx::types::{RunStatus, RuntimeEvent};

use crate::render::conversation;

/// The number of unanswered messages.
#[derive(Debug, Default)]
pub(super) struct UnansweredMessages {
    /// The number of messages of runs that ended without an answer.
    before: usize,
    /// The number of messages of the present run.
    now: usize,
}

impl UnansweredMessages {
    /// Handles an event of the agent that people talk to; returns how many go along with a message that
    /// begins a run.
    pub(super) fn event(&mut self, event: &RuntimeEvent) -> Option<usize> {
        match event {
            RuntimeEvent::UserMessageAdded(added) if !conversation::is_note(&added.message) => {
                self.now += 1;
                (self.now == 1 && self.before > 0).then_some(self.before)
            }
            RuntimeEvent::MessageStart(_) => {
                *self = Self::default();
                None
            }
            RuntimeEvent::RunFinished(run) => {
                let now = std::mem::take(&mut self.now);
                match run.status {
                    RunStatus::Completed => self.before = 0,
                    _ => self.before += now,
                }
                None
            }
            _ => None,
        }
    }
}
