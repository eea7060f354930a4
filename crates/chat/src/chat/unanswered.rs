//! What was said and not answered, because its run failed or was stopped: the model reads it together with what is said next.

use agentx::types::{RunStatus, RuntimeEvent};

use super::Chat;
use super::past_turns::PastTurns;
use crate::render::conversation;
use crate::render::units::counted;

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
    fn event(&mut self, event: &RuntimeEvent) -> Option<usize> {
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

impl Chat<'_> {
    /// Prints what somebody said.
    pub(super) fn said(&mut self, text: &str) {
        let said = conversation::shortened_input(text, self.console.out_style());
        self.transcript.aside(&said);
    }

    /// Says that the model reads messages again that were not answered.
    pub(super) fn tell_of_unanswered(&mut self, event: &RuntimeEvent, is_of_another: bool) {
        if is_of_another {
            return;
        }
        if let Some(count) = self.desk.unanswered.event(event) {
            let (was, goes) = match count {
                1 => ("was", "goes"),
                _ => ("were", "go"),
            };
            let messages = counted(count, "message");
            let line = format!("· {messages} that {was} not answered {goes} along");
            self.transcript.note(&self.console.out_style().dim(&line));
        }
    }

    /// Counts what was not answered before the chat began.
    pub(super) fn count_unanswered(&mut self, past: &PastTurns) {
        for envelope in past.all() {
            if !self.cast.is_of_another(envelope) {
                self.desk.unanswered.event(&envelope.event);
            }
        }
    }
}
