//! The screen of a real terminal, with all that has scrolled away: an independent model of one (the `vt100`
//! crate), which also rewraps its rows when its width changes, as today's terminals do.

use std::ops::Range;

/// More than any journey writes.
const SCROLLBACK: usize = 50_000;
/// The queries to a terminal, and this one's answers: the colour of the background, which is dark, and its
/// identity.
const QUESTIONS: [(&[u8], &str); 2] = [
    (b"\x1b]11;?", "\u{1b}]11;rgb:1616/1818/1d1d\u{1b}\\"),
    (b"\x1b[>0q", "\u{1b}P>|model(1)\u{1b}\\"),
];

pub(crate) struct Terminal {
    parser: vt100::Parser,
    /// The last bytes, in which a question may have begun.
    tail: Vec<u8>,
    /// Whether the terminal was resized, and so has broken rows itself.
    broken: bool,
}

/// The end of the first question in these bytes, and the answer to it.
fn first_question(bytes: &[u8]) -> Option<(usize, &'static str)> {
    let found = QUESTIONS.iter().filter_map(|(question, answer)| {
        let at = bytes.windows(question.len()).position(|part| part == *question)?;
        Some((at + question.len(), *answer))
    });
    found.min_by_key(|(end, _)| *end)
}

/// A row as text, and whether it continues in the next one because the terminal broke it.
struct Line {
    text: String,
    goes_on: bool,
}

impl Terminal {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        Self {
            parser: vt100::Parser::new(rows, columns, SCROLLBACK),
            tail: Vec::new(),
            broken: false,
        }
    }

    /// Takes what the program writes; returns what the terminal answers.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> String {
        self.parser.process(bytes);
        self.tail.extend_from_slice(bytes);
        let mut answers = String::new();
        while let Some((end, answer)) = first_question(&self.tail) {
            answers.push_str(answer);
            self.tail.drain(..end);
        }
        let longest = QUESTIONS.iter().map(|(question, _)| question.len()).max();
        let over = self.tail.len().saturating_sub(longest.unwrap_or(0) - 1);
        self.tail.drain(..over);
        answers
    }

    /// Row and column of the cursor, from 1.
    pub(crate) fn cursor(&self) -> (u16, u16) {
        let (row, column) = self.parser.screen().cursor_position();
        (row + 1, column + 1)
    }

    /// The cells of a row of the screen.
    pub(crate) fn cells(&self, row: u16) -> Vec<vt100::Cell> {
        let screen = self.parser.screen();
        let columns = 0..screen.size().1;
        columns
            .filter_map(|column| screen.cell(row, column).cloned())
            .collect()
    }

    /// Returns the screen without the empty rows at its end.
    pub(crate) fn screen(&self) -> Vec<String> {
        let (_, columns) = self.parser.screen().size();
        trimmed(self.parser.screen().rows(0, columns).collect())
    }

    /// Every row since the beginning, without what is empty at the end.
    pub(crate) fn all(&mut self) -> Vec<String> {
        let lines = self.lines();
        trimmed(lines.into_iter().map(|line| line.text).collect())
    }

    /// The lines as a person copies them: rows that the terminal broke are one line.
    pub(crate) fn copied(&mut self) -> Vec<String> {
        joined(&self.lines()).lines().map(str::to_owned).collect()
    }

    /// Rows that the terminal had to break, because the program wrote over their ends. A chat never does,
    /// with two exceptions, which a copy must keep as one line: a line of code, which begins with its margin,
    /// and the command that the chat leaves behind.
    pub(crate) fn overlong(&mut self) -> Vec<String> {
        if self.broken {
            return Vec::new();
        }
        let mut over = Vec::new();
        let mut is_meant = false;
        for line in self.lines() {
            is_meant |= line.text.starts_with("continue with: ") || line.text.starts_with("  ");
            if line.goes_on && !is_meant {
                over.push(line.text);
            } else if !line.goes_on {
                is_meant = false;
            }
        }
        over
    }

    fn lines(&mut self) -> Vec<Line> {
        let (rows, columns) = self.parser.screen().size();
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let scrolled = self.parser.screen().scrollback();
        let mut lines = Vec::new();
        for back in (1..=scrolled).rev() {
            self.parser.screen_mut().set_scrollback(back);
            lines.extend(self.visible(0..1, columns));
        }
        self.parser.screen_mut().set_scrollback(0);
        lines.extend(self.visible(0..rows, columns));
        lines
    }

    fn visible(&self, rows: Range<u16>, columns: u16) -> Vec<Line> {
        let screen = self.parser.screen();
        let texts = screen.rows(0, columns).take(rows.len());
        let both = texts.zip(rows);
        both.map(|(text, row)| Line {
            text,
            goes_on: screen.row_wrapped(row),
        })
        .collect()
    }

    /// Another size: lines that do not fit any more are broken, and those that were broken and fit again are
    /// made whole.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let (at, column) = self.parser.screen().cursor_position();
        let (height, width) = self.parser.screen().size();
        let lines = self.lines();
        let row = lines.len() - usize::from(height - at);
        let (before, behind) = self.cursor_parts(&lines[row], at, column, width);
        let above = joined(&lines[..row]);
        let below = joined(&lines[row + 1..]);
        let goes_on = if lines[row].goes_on { "" } else { "\r\n" };
        let rest = format!("{behind}{goes_on}{below}");
        let rest = rest.trim_end();
        // The position of the cursor afterwards, counted from the end.
        let mut measure = vt100::Parser::new(2_000, columns, 0);
        measure.process(format!("{above_line}{before}", above_line = broken_start(&lines[..row])).as_bytes());
        let stands = measure.screen().cursor_position();
        measure.process(rest.as_bytes());
        let up = measure.screen().cursor_position().0 - stands.0;
        self.parser = vt100::Parser::new(rows, columns, SCROLLBACK);
        self.parser.process(format!("{above}{before}{rest}\r").as_bytes());
        let mut back = String::new();
        if up > 0 {
            back.push_str(&format!("\u{1b}[{up}A"));
        }
        if stands.1 > 0 {
            back.push_str(&format!("\u{1b}[{}C", stands.1));
        }
        self.parser.process(back.as_bytes());
        self.broken = true;
    }

    /// The text of the cursor's row before and behind the cursor.
    fn cursor_parts(&self, line: &Line, row: u16, column: u16, width: u16) -> (String, String) {
        let screen = self.parser.screen();
        let before = screen.contents_between(row, 0, row, column);
        let padding =
            usize::from(column).saturating_sub(unicode_width::UnicodeWidthStr::width(before.as_str()));
        let behind = screen.contents_between(row, column, row, width);
        debug_assert!(line.text.starts_with(&before));
        (before + &" ".repeat(padding), behind)
    }
}

/// The beginning of a line whose end is in the next row.
fn broken_start(lines: &[Line]) -> String {
    let whole = lines
        .iter()
        .rposition(|line| !line.goes_on)
        .map_or(0, |at| at + 1);
    lines[whole..].iter().map(|line| line.text.as_str()).collect()
}

/// The lines as a program would have written them.
fn joined(lines: &[Line]) -> String {
    let line = |line: &Line| {
        if line.goes_on {
            line.text.clone()
        } else {
            format!("{}\r\n", line.text.trim_end())
        }
    };
    lines.iter().map(line).collect()
}

fn trimmed(mut rows: Vec<String>) -> Vec<String> {
    for row in &mut rows {
        row.truncate(row.trim_end().len());
    }
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}
