//! The live rows on a terminal that takes another size. Too few cleared rows stand twice, but too many would
//! erase finished ones for good: in doubt, only rows are cleared that are live at any size.

use std::fmt::Write as _;

use crate::painter::Painter;
use crate::text::{Row, width};

/// The behaviour of a terminal with long rows when it becomes narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongRows {
    /// The terminal rewraps the rows, and the cursor stays at its letter: most terminals, and tmux.
    Broken,
    /// The terminal truncates the rows, and the cursor stays in its row: xterm.
    Cut,
}

/// A size of the terminal for which nothing was painted yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
    long: LongRows,
}

impl Painter {
    /// Handles a new size of the terminal. The next frame clears the live rows and paints them again. Rows
    /// above them are not touched, so `long` has to say what the terminal did with rows that are too long.
    ///
    /// Of several sizes before the next frame only the last one counts: by then, that is the width at which
    /// the terminal has broken the live rows, which still stand there as they were painted.
    pub fn resize(&mut self, columns: usize, rows: usize, long: LongRows) {
        self.resized = Some(NewSize {
            columns: columns.max(4),
            rows: rows.max(3),
            long,
        });
    }

    /// Says whether the terminal certainly has the size that it told. While it does not, each frame paints
    /// all live rows again, and may leave some of them a second time above.
    pub fn set_settled(&mut self, settled: bool) {
        self.unsettled = !settled;
    }

    /// Clears the live rows if the terminal has another size than they were painted for, or may have.
    pub(super) fn clear_resized(&mut self) {
        let in_doubt = self.unsettled || self.doubted;
        let size = self.resized.map(|size| (size.columns, size.rows));
        let (columns, rows) = match size {
            Some(size) => size,
            None if in_doubt => (self.columns, self.rows),
            None => return,
        };
        let up = match self.resized.map(|size| size.long) {
            Some(LongRows::Cut) => self.at,
            Some(LongRows::Broken) if !in_doubt => self.rows_above_cursor(columns),
            // At an endless width, each line takes one row.
            _ => self.rows_above_cursor(usize::MAX),
        };
        let up = up.min(rows - 1);
        *self = Self {
            placed: None,
            unsettled: self.unsettled,
            doubted: self.unsettled,
            ..Self::new(columns, rows)
        };
        self.bytes.push('\r');
        if up > 0 {
            let _ = write!(self.bytes, "\u{1b}[{up}A");
        }
        self.bytes.push_str("\u{1b}[J");
    }

    /// Returns the number of rows above the cursor once the terminal has rewrapped all lines to this number
    /// of columns. Rows that it broke itself are one line to it.
    fn rows_above_cursor(&self, columns: usize) -> usize {
        let (mut above, mut cursor) = (0, 0);
        let mut rows = self.shown.as_slice();
        let mut left = self.at;
        while !rows.is_empty() {
            let goes_on = |pair: &[Row]| pair[0].wraps_into(&pair[1], self.columns);
            let count = rows.windows(2).take_while(|pair| goes_on(pair)).count() + 1;
            let (line, below) = rows.split_at(count);
            let before = |rows: &[Row]| rows.iter().map(Row::width).sum::<usize>();
            // Blanks at the end of a line need not move to the next row.
            let last = width(line[count - 1].text().trim_end());
            let takes = (before(&line[..count - 1]) + last).max(1).div_ceil(columns);
            if left < count {
                let column = before(&line[..left]) + self.placed.unwrap_or(0);
                cursor = (column / columns).min(takes - 1);
                break;
            }
            above += takes;
            left -= count;
            rows = below;
        }
        above + cursor
    }
}
