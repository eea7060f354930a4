//! Pieces of text that the screen has not taken yet; they move to the transcript of the next session in the
//! same chat.

use super::{TextPiece, TranscriptRenderer};

impl TranscriptRenderer {
    /// Returns whether there is text that has not been taken.
    pub(crate) fn has_said(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Takes the pieces since the last call.
    pub fn take(&mut self) -> Vec<TextPiece> {
        std::mem::take(&mut self.pieces)
    }

    /// Takes the waiting text of another transcript, to print it before the text of this one.
    pub(crate) fn take_over(&mut self, other: &mut Self) {
        other.end_line();
        self.pieces.splice(0..0, other.take());
    }
}
