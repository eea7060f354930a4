//! Words in `$'…'`, which have escapes as in C.
//!
//! The lexer reads them because they can spell commands: `$'\x72m'` is `rm`, and `$'\162m'` is too. This is a
//! part of the lexer in a separate file.

use super::Lexer;

impl Lexer<'_> {
    /// Adds the rest of `$'…'` to the word and resolves its escapes. Without an end, the line is unclosed.
    pub(crate) fn ansi_quoted(&mut self) {
        self.word();
        while let Some(c) = self.next_quoted() {
            match c {
                '\'' => return,
                '\\' => {
                    if let Some(c) = self.ansi_escape() {
                        self.word().push(c);
                    }
                }
                c => self.word().push(c),
            }
        }
    }

    /// Returns the character that an escape stands for: up to two hexadecimal digits after `x`, four after
    /// `u`, eight after `U`, or three octal digits.
    ///
    /// Any other character stands for itself. `None` if the digits make no character.
    fn ansi_escape(&mut self) -> Option<char> {
        match self.next()? {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'x' => self.number(16, 2),
            'u' => self.number(16, 4),
            'U' => self.number(16, 8),
            c @ '0'..='7' => {
                let first = c.to_digit(8).unwrap_or_default();
                let more = self.digits(8, 2);
                let value = u32::from_str_radix(more, 8).unwrap_or_default();
                char::from_u32((first << (3 * more.len())) | value)
            }
            c => Some(c),
        }
    }

    /// Returns the character whose number the next digits are; `None` if there is no such character.
    fn number(&mut self, radix: u32, most: usize) -> Option<char> {
        char::from_u32(u32::from_str_radix(self.digits(radix, most), radix).ok()?)
    }

    /// Reads at most this many digits from the line.
    fn digits(&mut self, radix: u32, most: usize) -> &str {
        let count = self
            .rest
            .chars()
            .take(most)
            .take_while(|c| c.is_digit(radix))
            .count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits
    }
}
