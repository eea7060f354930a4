//! What was said and nobody has taken yet, also from the transcript of one session to that of the next one in the same chat.

use super::{TextPiece, TranscriptRenderer};

impl TranscriptRenderer {
    /// Whether something was said that nobody has taken.
    pub(crate) fn has_said(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Takes what was said since the last time.
    pub fn take(&mut self) -> Vec<TextPiece> {
        std::mem::take(&mut self.pieces)
    }

    /// Takes what another one has said and nobody has taken yet: it is said before what follows.
    pub(crate) fn take_over(&mut self, other: &mut Self) {
        other.end_line();
        self.pieces.splice(0..0, other.take());
    }
}
