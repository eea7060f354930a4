//! What somebody said, as the chat prints it, and the notice that the model reads unanswered messages again.

use super::Chat;
use super::past_turns::PastTurns;
use crate::render::conversation;
use crate::render::units::counted;

impl Chat<'_> {
    /// Prints what somebody said.
    pub(super) fn said(&mut self, text: &str) {
        let said = conversation::shortened_input(text, self.display.style());
        self.display.transcript.aside(&said);
    }

    /// Says that the model reads messages again that were not answered.
    pub(super) fn tell_of_unanswered(&mut self, count: usize) {
        let (was, goes) = match count {
            1 => ("was", "goes"),
            _ => ("were", "go"),
        };
        let messages = counted(count, "message");
        let line = format!("· {messages} that {was} not answered {goes} along");
        self.display.transcript.note(&self.display.style().dim(&line));
    }

    /// Counts what was not answered before the chat began.
    pub(super) fn count_unanswered(&mut self, past: &PastTurns) {
        for envelope in past.all() {
            if !self.display.cast.is_of_another(envelope) {
                self.status.count_unanswered(&envelope.event);
            }
        }
    }
}
