//! What was said and not answered, because its run failed or was stopped: the model reads it together with what is said next.

use agentx::types::{RunStatus, RuntimeEvent};

use crate::render::conversation;

/// How many messages that is.
#[derive(Debug, Default)]
pub(super) struct UnansweredMessages {
    /// Those of runs that ended without an answer.
    before: usize,
    /// Those of the run that is under way.
    now: usize,
}

impl UnansweredMessages {
    /// Takes an event of the agent that people talk to; returns how many go along with a message that begins a run.
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
