//! The screen of a chat: text that flows down and scrolls away for good, and one line below it that is being written.
//!
//! What has been printed is never touched again. To add to it, the line being written is taken away and put back; while
//! there is none (nobody types, an answer streams) text costs no more bytes than it has.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The line that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// What stands before it.
    pub(crate) prompt: String,
    /// What is written.
    pub(crate) text: String,
    /// Where the cursor is in it, in bytes.
    pub(crate) cursor: usize,
}

/// Collects the bytes for a terminal.
#[derive(Debug)]
pub(crate) struct Screen {
    columns: usize,
    rows: usize,
    bytes: String,
    /// The column after the last character of the text above.
    column: usize,
    line: Option<Line>,
    /// Where the cursor is below the first row of the line, if it is shown.
    shown: Option<usize>,
    /// The text above filled its row exactly, and the row below was begun for it.
    filled: bool,
    /// The words that stream have ended with a blank.
    after_blank: bool,
}

impl Screen {
    /// A screen of this size.
    pub(crate) fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns: columns.max(8),
            rows: rows.max(4),
            bytes: String::new(),
            column: 0,
            line: None,
            shown: None,
            filled: false,
            after_blank: false,
        }
    }

    /// Adds text above the line.
    pub(crate) fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.hide();
        for c in text.chars() {
            match c {
                '\n' if std::mem::take(&mut self.filled) => {}
                '\n' => {
                    self.bytes.push_str("\r\n");
                    self.column = 0;
                }
                c => {
                    self.filled = false;
                    self.bytes.push(c);
                }
            }
        }
        self.advance(text);
    }

    /// Adds words that stream: one that does not fit into the row begins the next. A word that comes in pieces is only
    /// known by its first one, because nothing waits and nothing is repainted.
    pub(crate) fn print_words(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (blanks, word) = first_word(rest);
            let (shown, after) = rest.split_at(blanks + word);
            let width = shown[blanks..].width();
            let may_break = self.column > 0 && !shown.ends_with('\n') && (blanks > 0 || self.after_blank);
            if may_break && width <= self.columns && self.column + blanks + width > self.columns && word > 0 {
                self.print("\n");
                self.print(&shown[blanks..]);
            } else {
                self.print(shown);
            }
            self.after_blank = shown.ends_with(' ');
            rest = after;
        }
    }

    /// Keeps track of the column; styles take no room.
    fn advance(&mut self, text: &str) {
        let last = text.rsplit('\n').next().unwrap_or_default();
        if last.len() < text.len() {
            self.column = 0;
        }
        let mut escape = false;
        for c in last.chars() {
            match (escape, c) {
                (false, '\u{1b}') => escape = true,
                (true, 'm') => escape = false,
                (true, _) => {}
                (false, c) => {
                    let width = c.width().unwrap_or(0);
                    // A wide character that does not fit goes to the next row whole.
                    self.column = if self.column + width > self.columns {
                        width
                    } else {
                        self.column + width
                    };
                }
            }
        }
    }

    /// Shows this line, or none.
    pub(crate) fn set_line(&mut self, line: Option<Line>) {
        if self.line != line {
            self.hide();
            self.line = line;
        }
    }

    /// The terminal has another size now. What stands above was wrapped anew by it; the next text begins in a new row.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        self.hide();
        self.columns = columns.max(8);
        self.rows = rows.max(4);
        if self.column > 0 {
            self.column %= self.columns;
        }
    }

    /// Begins on a clear screen.
    pub(crate) fn clear(&mut self) {
        self.hide();
        self.bytes.push_str("\u{1b}[2J\u{1b}[H");
        self.column = 0;
        self.filled = false;
    }

    /// Takes the bytes for the terminal.
    pub(crate) fn take(&mut self) -> String {
        self.show();
        std::mem::take(&mut self.bytes)
    }

    /// Takes the line away and goes back to the end of the text.
    fn hide(&mut self) {
        let Some(row) = self.shown.take() else { return };
        if row > 0 {
            self.bytes.push_str(&format!("\u{1b}[{row}A"));
        }
        self.bytes.push_str("\r\u{1b}[J");
        if self.column >= self.columns {
            // The end of a full row cannot be gone back to; the row below is where the text goes on anyway.
            self.column = 0;
            self.filled = true;
        } else if self.column > 0 {
            self.bytes.push_str(&format!("\u{1b}[A\u{1b}[{}C", self.column));
        }
    }

    fn show(&mut self) {
        if self.shown.is_some() {
            return;
        }
        let Some(line) = &self.line else { return };
        let layout = layout(line, self.columns, self.rows - 1);
        if self.column > 0 {
            self.bytes.push_str("\r\n");
        }
        self.bytes.push_str(&layout.rows.join("\r\n"));
        let below = layout.rows.len() - 1 - layout.row;
        if below > 0 {
            self.bytes.push_str(&format!("\u{1b}[{below}A"));
        }
        self.bytes.push('\r');
        if layout.column > 0 {
            self.bytes.push_str(&format!("\u{1b}[{}C", layout.column));
        }
        self.shown = Some(layout.row);
    }
}

/// The bytes of the blanks that `text` begins with, and of the word after them: what may not be broken. A wide
/// character is a word, as is the end of a line.
fn first_word(text: &str) -> (usize, usize) {
    let word = text.trim_start_matches(' ');
    let blanks = text.len() - word.len();
    let ends = |c: char| c == ' ' || c == '\n' || c.width().unwrap_or(0) > 1;
    let len = match (word.find(ends), word.chars().next()) {
        (Some(0), Some(c)) if c != ' ' => c.len_utf8(),
        (Some(at), _) => at,
        (None, _) => word.len(),
    };
    (blanks, len)
}

struct Layout {
    rows: Vec<String>,
    row: usize,
    column: usize,
}

/// Breaks the line into rows, at most `most` of them: those around the cursor.
fn layout(line: &Line, columns: usize, most: usize) -> Layout {
    let mut rows = vec![line.prompt.clone()];
    let mut width = line.prompt.width();
    let mut cursor = (0, width);
    let mut bytes = 0;
    for grapheme in line.text.graphemes(true) {
        let wide = grapheme.width();
        if grapheme != "\n" && width + wide > columns {
            rows.push(String::new());
            width = 0;
        }
        if bytes == line.cursor {
            cursor = (rows.len() - 1, width);
        }
        bytes += grapheme.len();
        if grapheme == "\n" || grapheme == "\r\n" {
            rows.push("  ".to_owned());
            width = 2;
            continue;
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(grapheme);
        }
        width += wide;
    }
    if width >= columns {
        rows.push(String::new());
        width = 0;
    }
    if bytes <= line.cursor {
        cursor = (rows.len() - 1, width);
    }
    let first = (cursor.0 + 1).saturating_sub(most.max(1));
    let rows: Vec<String> = rows.into_iter().skip(first).take(most.max(1)).collect();
    Layout {
        rows,
        row: cursor.0 - first,
        column: cursor.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::terminal::FakeTerminal;

    fn line(text: &str) -> Option<Line> {
        Some(Line {
            prompt: "› ".into(),
            text: text.into(),
            cursor: text.len(),
        })
    }

    #[test]
    fn text_flows_above_the_line() {
        let mut screen = Screen::new(20, 8);
        let mut terminal = FakeTerminal::new(20, 8);
        screen.print("Hello");
        screen.set_line(line("dra"));
        terminal.write(&screen.take());
        assert_eq!(terminal.lines(), ["Hello", "› dra"]);
        screen.print(" world\nsecond");
        terminal.write(&screen.take());
        assert_eq!(terminal.lines(), ["Hello world", "second", "› dra"]);
        assert_eq!(terminal.cursor(), (2, 5));
        screen.set_line(None);
        screen.print("\n");
        terminal.write(&screen.take());
        assert_eq!(terminal.lines(), ["Hello world", "second"]);
    }

    #[test]
    fn any_pieces_of_any_width_give_the_same_screen() {
        let text = "abcdefgh你好世界ijklmnop\nqrst\u{1b}[2muvwx\u{1b}[0m好yz12345678901234\n\nlast 🙂 line that wraps twice on it";
        for columns in 8..24 {
            let mut whole = FakeTerminal::new(columns, 40);
            whole.write(&text.replace('\n', "\r\n"));
            for step in 1..7 {
                let mut screen = Screen::new(columns, 40);
                let mut terminal = FakeTerminal::new(columns, 40);
                let chars: Vec<char> = plain_pieces(text);
                for (i, piece) in chars.chunks(step).enumerate() {
                    screen.print(&piece.iter().collect::<String>());
                    screen.set_line(line(&"x".repeat(i % 19)));
                    terminal.write(&screen.take());
                }
                screen.set_line(None);
                terminal.write(&screen.take());
                assert_eq!(
                    terminal.lines(),
                    whole.lines(),
                    "{columns} columns, {step} characters at once"
                );
            }
        }
    }

    /// Styles are printed whole, as renderers do.
    fn plain_pieces(text: &str) -> Vec<char> {
        crate::render::clean::clean(text).chars().collect()
    }

    #[test]
    fn words_that_stream_stay_whole() {
        let mut screen = Screen::new(12, 8);
        let mut terminal = FakeTerminal::new(12, 8);
        for piece in [
            "It came",
            " to the harbour,",
            " and ",
            "nobody\nwas 你好世界 there",
            " abcdefghijklmnop",
        ] {
            screen.print_words(piece);
            terminal.write(&screen.take());
        }
        assert_eq!(
            terminal.lines(),
            [
                "It came to",
                "the harbour,",
                "and nobody",
                "was 你好世界",
                "there abcdef",
                "ghijklmnop"
            ]
        );
    }

    #[test]
    fn a_full_row_and_the_end_of_a_line_are_one_end() {
        let mut screen = Screen::new(10, 8);
        let mut terminal = FakeTerminal::new(10, 8);
        screen.print_words("123456789 \n1234 56789\nend");
        terminal.write(&screen.take());
        assert_eq!(terminal.lines(), ["123456789", "1234 56789", "end"]);
    }

    #[test]
    fn a_long_line_wraps_and_keeps_its_cursor() {
        let mut screen = Screen::new(10, 6);
        let mut terminal = FakeTerminal::new(10, 6);
        screen.set_line(Some(Line {
            prompt: "› ".into(),
            text: "12345678好0\nx".into(),
            cursor: 8,
        }));
        terminal.write(&screen.take());
        assert_eq!(terminal.lines(), ["› 12345678", "好0", "  x"]);
        assert_eq!(terminal.cursor(), (1, 0));
    }
}
