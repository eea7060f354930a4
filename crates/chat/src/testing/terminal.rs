//! A small terminal: enough of one to see the result of a screen's bytes.

#![allow(clippy::panic, reason = "what a screen should not write fails its test")]

use unicode_width::UnicodeWidthChar as _;

/// Rows of cells and a cursor; a wide character fills two cells.
pub(crate) struct FakeTerminal {
    columns: usize,
    rows: usize,
    cells: Vec<Vec<String>>,
    row: usize,
    column: usize,
    pending_wrap: bool,
    scrolled: Vec<Vec<String>>,
    /// The modes that were set and reset, in order: `?2004h`.
    modes: Vec<String>,
    /// The latest text of its clipboard, in base64.
    clipboard: Option<String>,
    /// The titles that it was given, and `keep` and `restore` for those that it had.
    titles: Vec<String>,
}

impl FakeTerminal {
    pub(crate) fn new(columns: usize, rows: usize) -> Self {
        let cells = vec![vec![" ".to_owned(); columns]; rows];
        Self {
            columns,
            rows,
            cells,
            row: 0,
            column: 0,
            pending_wrap: false,
            scrolled: Vec::new(),
            modes: Vec::new(),
            clipboard: None,
            titles: Vec::new(),
        }
    }

    /// Returns the requested modes, in order.
    #[allow(dead_code, reason = "the tests of keys look at it")]
    pub(crate) fn modes(&self) -> &[String] {
        &self.modes
    }

    /// Returns the latest text of its clipboard, in base64.
    #[allow(dead_code, reason = "the tests of commands look at it")]
    pub(crate) fn clipboard(&self) -> Option<&str> {
        self.clipboard.as_deref()
    }

    /// The titles that it was given, in order; `keep` and `restore` stand for what was done to the one
    /// before.
    #[allow(dead_code, reason = "the test of titles looks at it")]
    pub(crate) fn titles(&self) -> &[String] {
        &self.titles
    }

    pub(crate) fn write(&mut self, text: &str) {
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\u{1b}' => {
                    match chars.next() {
                        Some('[') => {}
                        // Words to the terminal itself, until BEL or ESC \\.
                        Some(']') => {
                            let ends = |c: &char| *c == '\u{7}' || *c == '\\';
                            let words: String = chars.by_ref().take_while(|c| !ends(c)).collect();
                            self.titles.extend(words.strip_prefix("0;").map(str::to_owned));
                            let copied = words.strip_prefix("52;c;").map(str::to_owned);
                            self.clipboard = copied.or(self.clipboard.take());
                            continue;
                        }
                        other => panic!("unexpected sequence {other:?}"),
                    }
                    let mut arguments = String::new();
                    let end = loop {
                        match chars.next() {
                            Some(c) if c.is_ascii_digit() || matches!(c, ';' | '?' | '>' | '<') => {
                                arguments.push(c)
                            }
                            Some(c) => break c,
                            None => panic!("an open sequence"),
                        }
                    };
                    self.control(end, &arguments);
                }
                '\u{7}' => {}
                '\r' => self.go(self.row, 0),
                '\n' => self.line_feed(),
                c => self.put(c),
            }
        }
    }

    fn control(&mut self, end: char, arguments: &str) {
        let n: usize = arguments.parse().unwrap_or(1);
        match end {
            'A' => self.go(self.row.saturating_sub(n), self.column),
            'B' => self.go((self.row + n).min(self.rows - 1), self.column),
            'K' => self.cells[self.row][self.column..].fill(" ".to_owned()),
            'C' => self.go(self.row, (self.column + n).min(self.columns - 1)),
            'L' => {
                let wide = self.columns;
                for _ in 0..n.min(self.rows - self.row) {
                    self.cells.pop();
                    self.cells.insert(self.row, vec![" ".to_owned(); wide]);
                }
                self.go(self.row, 0);
            }
            'H' => self.go(0, 0),
            'J' => {
                let from = if arguments == "2" {
                    (0, 0)
                } else {
                    (self.row, self.column)
                };
                for row in from.0..self.rows {
                    let start = if row == from.0 { from.1 } else { 0 };
                    self.cells[row][start..].fill(" ".to_owned());
                }
            }
            'h' | 'l' | 's' | 'r' if arguments.starts_with('?') => {
                self.modes.push(format!("{arguments}{end}"))
            }
            // How it tells keys apart.
            'u' | 'f' | 'm' if arguments.starts_with(['<', '>']) => {
                self.modes.push(format!("{arguments}{end}"))
            }
            't' if arguments == "22;0" => self.titles.push("keep".to_owned()),
            't' if arguments == "23;0" => self.titles.push("restore".to_owned()),
            // Looks, and the question what it is.
            'm' | 'q' => {}
            other => panic!("unexpected control {other:?}"),
        }
    }

    fn go(&mut self, row: usize, column: usize) {
        (self.row, self.column, self.pending_wrap) = (row, column, false);
    }

    fn line_feed(&mut self) {
        self.pending_wrap = false;
        if self.row + 1 == self.rows {
            self.scrolled.push(self.cells.remove(0));
            self.cells.push(vec![" ".to_owned(); self.columns]);
        } else {
            self.row += 1;
        }
    }

    fn put(&mut self, c: char) {
        let width = c.width().unwrap_or(0);
        if width == 0 {
            return;
        }
        if self.pending_wrap || self.column + width > self.columns {
            self.line_feed();
            self.column = 0;
        }
        self.cells[self.row][self.column] = c.to_string();
        if width == 2 {
            self.cells[self.row][self.column + 1] = String::new();
        }
        self.column += width;
        if self.column == self.columns {
            self.column -= 1;
            self.pending_wrap = true;
        }
    }

    /// Returns all rows, including those that have scrolled away, without empty rows at the ends.
    pub(crate) fn lines(&self) -> Vec<String> {
        let rows = self.scrolled.iter().chain(&self.cells);
        let mut lines: Vec<String> = rows.map(|row| row.concat().trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Returns the number of rows that have scrolled away.
    #[allow(dead_code, reason = "each test uses a part of it")]
    pub(crate) fn scrolled(&self) -> usize {
        self.scrolled.len()
    }

    /// Returns the row and column of the cursor.
    #[allow(dead_code, reason = "each test uses a part of it")]
    pub(crate) fn cursor(&self) -> (usize, usize) {
        (self.row, self.column)
    }
}
