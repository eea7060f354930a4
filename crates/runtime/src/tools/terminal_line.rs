//! Renders output as a terminal would show it: a carriage return moves to the start of the line, later text
//! overwrites earlier text, and colours are removed. So a progress bar of a thousand steps is one line for
//! the model, not a thousand.
//!
//! Only the current line can change. Sequences that move the cursor to other lines are left out, and the
//! lines stay as they came.

/// A line that is longer than this can no longer be overwritten, so that it takes bounded memory.
const LINE_CHARS: usize = 16 << 10;
/// Longest escape sequence; a longer one ends there, so that an open one cannot swallow what follows.
const ESCAPE_CHARS: usize = 256;

/// The current line of a terminal, with its cursor.
#[derive(Clone, Debug, Default)]
pub struct TerminalLine {
    line: Vec<char>,
    cursor: usize,
    state: EscapeState,
    /// The open escape sequence so far.
    escape: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// In ESC [ … final.
    Control,
    /// In ESC ] … BEL or ESC \, and its like.
    Words,
    /// In those, after ESC.
    WordsEscape,
}

impl TerminalLine {
    /// Takes the next output and adds the lines that it completes to `out`.
    pub fn push(&mut self, output: &str, out: &mut String) {
        let mut rest = output;
        while !rest.is_empty() {
            // Most output has nothing but text in its lines, and the cursor stays at their ends.
            let is_plain = self.state == EscapeState::Text && self.cursor == self.line.len();
            let plain = match rest.bytes().position(is_special) {
                _ if !is_plain => 0,
                Some(end) => end,
                None => rest.len(),
            };
            if plain > 0 {
                self.plain(&rest[..plain], out);
                rest = &rest[plain..];
                continue;
            }
            let mut chars = rest.chars();
            if let Some(c) = chars.next() {
                self.char(c, out);
            }
            rest = chars.as_str();
        }
    }

    /// Returns the incomplete line.
    pub fn open_line(&self) -> String {
        self.line.iter().collect()
    }

    /// Text without anything special, at the end of the line.
    fn plain(&mut self, text: &str, out: &mut String) {
        let last = match text.rfind('\n') {
            Some(end) => {
                out.extend(self.line.drain(..));
                let (lines, last) = text.split_at(end + 1);
                out.push_str(lines);
                last
            }
            None => text,
        };
        if self.line.len() + last.chars().count() >= LINE_CHARS {
            // The line is let go of at once, without taking it apart first.
            out.extend(self.line.drain(..));
            out.push_str(last);
            self.cursor = 0;
            return;
        }
        self.line.extend(last.chars());
        self.cursor = self.line.len();
    }

    fn char(&mut self, c: char, out: &mut String) {
        // Lines always end, so that a reader counts the same lines here as in the raw output.
        if c == '\n' {
            self.state = EscapeState::Text;
            out.extend(self.line.drain(..));
            out.push('\n');
            self.cursor = 0;
            return;
        }
        match self.state {
            EscapeState::Text => self.text(c, out),
            EscapeState::Escape => self.after_escape(c),
            EscapeState::Control if ('\u{40}'..='\u{7e}').contains(&c) => {
                self.state = EscapeState::Text;
                self.control(c);
            }
            EscapeState::Words if c == '\u{7}' => self.state = EscapeState::Text,
            EscapeState::Words if c == '\u{1b}' => self.state = EscapeState::WordsEscape,
            EscapeState::WordsEscape if c == '\\' => self.state = EscapeState::Text,
            EscapeState::WordsEscape => self.state = EscapeState::Words,
            EscapeState::Control | EscapeState::Words => {
                self.escape.push(c);
                if self.escape.len() > ESCAPE_CHARS {
                    self.state = EscapeState::Text;
                }
            }
        }
    }

    fn text(&mut self, c: char, out: &mut String) {
        match c {
            '\r' => self.cursor = 0,
            '\u{8}' => self.cursor = self.cursor.saturating_sub(1),
            '\u{7}' => {}
            '\u{1b}' => self.state = EscapeState::Escape,
            c => {
                if self.cursor >= self.line.len() {
                    // Fill the gap between the end of the line and the cursor with blanks.
                    self.line.resize(self.cursor + 1, ' ');
                }
                self.line[self.cursor] = c;
                self.cursor += 1;
                self.bound(out);
            }
        }
    }

    fn after_escape(&mut self, c: char) {
        self.escape.clear();
        self.state = match c {
            '[' => EscapeState::Control,
            ']' | 'P' | 'X' | '^' | '_' => EscapeState::Words,
            '\u{1b}' => EscapeState::Escape,
            // Intermediate bytes of sequences such as ESC ( B.
            '\u{20}'..='\u{2f}' => EscapeState::Escape,
            _ => EscapeState::Text,
        };
    }

    /// ESC [ … `last`: those that change the current line.
    fn control(&mut self, last: char) {
        let number: Option<usize> = self.escape.parse().ok();
        let steps = number.unwrap_or(1).max(1);
        match (last, number.unwrap_or(0)) {
            ('K', 0) => self.line.truncate(self.cursor),
            ('K', 1) => {
                let erased = self.line.len().min(self.cursor + 1);
                self.line[..erased].fill(' ');
            }
            ('K', 2) => self.line.clear(),
            ('C', _) => self.move_to(self.cursor.saturating_add(steps)),
            ('D', _) => self.cursor = self.cursor.saturating_sub(steps),
            ('G', _) => self.move_to(steps - 1),
            _ => {}
        }
    }

    fn move_to(&mut self, column: usize) {
        self.cursor = column.min(LINE_CHARS - 1);
    }

    /// Lets go of a line that is too long to be kept for changes.
    fn bound(&mut self, out: &mut String) {
        if self.line.len() >= LINE_CHARS {
            out.extend(self.line.drain(..));
            self.cursor = 0;
        }
    }
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'\r' | 0x07 | 0x08 | 0x1b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let (mut screen, mut out) = (TerminalLine::default(), String::new());
        pieces.into_iter().for_each(|piece| screen.push(piece, &mut out));
        out + &screen.open_line()
    }

    #[test]
    fn a_line_is_what_a_terminal_shows() {
        let table = [
            ("one\r\ntwo\r\n", "one\ntwo\n"),
            (" 10%\r 50%\r100%\ndone", "100%\ndone"),
            ("long line\rshort", "shortline"),
            ("long line\r\u{1b}[Kshort\n", "short\n"),
            ("work...\u{1b}[2K\rdone\n", "done\n"),
            ("\u{1b}[1;31merror\u{1b}[0m: no\n", "error: no\n"),
            ("a|\u{8}/\u{8}-\u{8}ok\n", "aok\n"),
            (
                "\u{1b}]0;title\u{7}text\u{1b}]8;;http://x\u{1b}\\link\n",
                "textlink\n",
            ),
            ("\u{1b}(Bplain\u{7}\n", "plain\n"),
            ("ab\u{1b}[4Gd\u{1b}[2D!\n", "ab!d\n"),
            ("tab\there 你好\rT", "Tab\there 你好"),
            // Never closed: the line ends it.
            ("\u{1b}]0;open\nnext\n", "\nnext\n"),
        ];
        for (raw, expected) in table {
            assert_eq!(seen([raw]), expected, "{raw:?}");
        }
    }

    #[test]
    fn a_progress_bar_of_many_steps_is_one_line() {
        let steps: Vec<String> = (0..=1_000).map(|step| format!("\rstep {step}/1000")).collect();
        assert_eq!(seen(steps.iter().map(String::as_str)), "step 1000/1000");
    }

    proptest! {
        #[test]
        fn pieces_are_seen_like_the_whole_and_no_line_is_lost(
            pieces in prop::collection::vec("[ab你\r\n\u{8}\u{1b}\\[\\]0-9;mKGCDJ]{0,12}", 0..20),
        ) {
            let all = pieces.concat();
            let seen_in_pieces = seen(pieces.iter().map(String::as_str));
            prop_assert_eq!(&seen_in_pieces, &seen([all.as_str()]));
            prop_assert_eq!(seen_in_pieces.matches('\n').count(), all.matches('\n').count());
        }

        #[test]
        fn text_without_controls_stays_as_it_is(pieces in prop::collection::vec("[a-c你\t\n]{0,30}", 0..20)) {
            prop_assert_eq!(seen(pieces.iter().map(String::as_str)), pieces.concat());
        }
    }

    #[test]
    fn a_line_takes_bounded_memory_and_none_of_it_is_lost() {
        let (mut screen, mut out) = (TerminalLine::default(), String::new());
        let piece = "x".repeat(LINE_CHARS / 3);
        for _ in 0..10 {
            screen.push(&piece, &mut out);
            assert!(screen.line.len() < LINE_CHARS);
        }
        assert_eq!(out.len() + screen.open_line().len(), 10 * piece.len());
        screen.push("\u{1b}[4294967295G!", &mut out);
        assert!(screen.line.len() <= LINE_CHARS);
    }
}
