//! How much of the latest text is held back, because the beginning of a secret may be in it.
//!
//! The place depends on the text, and not on the values that are known: if it did, whoever makes the text would
//! learn from the cuts whether a guess begins a secret of somebody else. So the last word is always held back, or
//! the last [`WORDS`] if any value has blanks, and the lines of base64 before the end.

use std::collections::VecDeque;

/// The number of words that are held back if a value has blanks: [`SecretSet`](crate::SecretSet) cuts values with
/// more words into several.
pub(crate) const WORDS: usize = 8;
/// The shortest line of a text in pieces that counts as one of base64 that continues in the next line, in bytes.
/// Otherwise lists of single words would be held back. A text that comes whole is looked at with lines of any length.
const LEAST_LINE: usize = 16;
/// The number of bytes of an endless word that are held back at least; more if a form is longer.
const LEAST: usize = 4 << 10;

/// The beginnings of the latest words and of the lines of base64 at the end of a text.
#[derive(Debug)]
pub(crate) struct Hold {
    /// The beginnings of the latest words, as places in the whole text; as many as are held back.
    words: VecDeque<usize>,
    /// The number of words that are held back; 0 if no value is known.
    count: usize,
    /// The shortest line of base64 that may continue in the next one.
    least_line: usize,
    /// The most bytes that are held back for words and lines.
    longest: usize,
    /// The place at which the lines of base64 begin that the text ends with.
    lines: usize,
    /// The number of characters of base64 at the end of the current line.
    line: usize,
    /// The number of line ends at the end.
    line_ends: u8,
}

impl Hold {
    /// `has_blanks` says whether a value has more than one word, `longest` is the length of the longest form in
    /// bytes, 0 without a value.
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
            // Twice, because the ends of short lines do not count.
            longest: longest.saturating_mul(2).next_power_of_two().max(LEAST),
            lines: 0,
            line: 0,
            line_ends: 0,
        }
    }

    /// The same for a text that comes whole.
    pub(crate) fn whole(self) -> Self {
        Self {
            least_line: 0,
            ..self
        }
    }

    /// Takes the byte at a place of the whole text. Returns whether base64 before it cannot go on after it.
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
            // An empty line ends it, too.
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

    /// The place before which no secret begins that is not complete before `end`, the end of the text.
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
