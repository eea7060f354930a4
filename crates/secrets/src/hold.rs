//! Determines how much of the latest text is held back because a secret may begin in it.
//!
//! The amount depends on the text and not on the known values. Otherwise the author of the text could learn
//! from the cuts whether a guess is the beginning of somebody else's secret. So the last word is always held
//! back, or the last [`WORDS`] words if any value contains blanks, and the lines of base64 before the end.

use std::collections::VecDeque;

/// The number of words that are held back if a value contains blanks. [`SecretSet`](crate::SecretSet) cuts
/// longer values into several.
pub(crate) const WORDS: usize = 8;
/// The shortest line, in bytes, that counts as base64 continuing in the next line, if the text arrives in
/// pieces. With a smaller limit, lists of single words would be held back. A text that arrives whole is
/// searched with lines of any length.
const LEAST_LINE: usize = 16;
/// The minimum number of bytes of an endless word that are held back; more if a form is longer.
const LEAST: usize = 4 << 10;

/// The beginnings of the latest words and of the lines of base64 at the end of a text.
#[derive(Debug)]
pub(crate) struct Hold {
    /// The positions of the latest words in the whole text: as many as are held back.
    words: VecDeque<usize>,
    /// The number of words that are held back; 0 if no value is known.
    count: usize,
    /// The shortest line of base64 that may continue in the next one.
    least_line: usize,
    /// The maximum number of bytes that are held back for words and lines.
    longest: usize,
    /// The position at which the base64 lines at the end of the text begin.
    lines: usize,
    /// The number of base64 characters at the end of the current line.
    line: usize,
    /// The number of line ends at the end.
    line_ends: u8,
}

impl Hold {
    /// Creates the state at the beginning of a text. `has_blanks` is whether a value has more than one word;
    /// `longest` is the length of the longest form in bytes, 0 without a value.
    pub(crate) fn new(has_blanks: bool, longest: usize) -> Self {
        let count = match longest {
            0 => 0,
            _ if has_blanks => WORDS,
            _ => 1,
        };
        Self {
            words: VecDeque::with_capacity(count),
            count,
            least_line: LEAST_LINE,
            // Doubled, because the ends of short lines do not count.
            longest: longest.saturating_mul(2).next_power_of_two().max(LEAST),
            lines: 0,
            line: 0,
            line_ends: 0,
        }
    }

    /// Returns the same for a text that arrives whole.
    pub(crate) fn whole(self) -> Self {
        Self {
            least_line: 0,
            ..self
        }
    }

    /// Takes the byte at a position of the whole text. Returns whether base64 before it cannot continue after
    /// it.
    pub(crate) fn take(&mut self, byte: u8, at: usize) -> bool {
        if byte.is_ascii_whitespace() && self.count > 0 {
            if self.words.len() == self.count {
                self.words.pop_front();
            }
            self.words.push_back(at + 1);
        }
        let ends_base64 = if matches!(byte, b'\n' | b'\r') {
            let is_short = self.line_ends == 0 && self.line < self.least_line;
            self.line_ends = self.line_ends.saturating_add(1);
            self.line = 0;
            // An empty line also ends it.
            is_short || self.line_ends > 2
        } else {
            self.line_ends = 0;
            self.line += 1;
            !(byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte))
        };
        if ends_base64 {
            (self.lines, self.line) = (at + 1, 0);
        }
        ends_base64
    }

    /// Returns the position before which no secret begins that is still incomplete at `end`, the end of the
    /// text.
    pub(crate) fn start(&self, end: usize) -> usize {
        if self.count == 0 {
            return end;
        }
        let word = match self.words.front() {
            Some(start) if self.words.len() == self.count => *start,
            _ => 0,
        };
        word.min(self.lines).max(end.saturating_sub(self.longest))
    }
}
