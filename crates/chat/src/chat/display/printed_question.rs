//! Keeps an open question about a call directly above the line that answers it. The rows of a question are
//! live while it is open, so that text that comes meanwhile, such as the end of another call, is printed
//! above it; they are printed when it ends. A question without room among the live rows is printed when it is
//! asked, and its most telling rows are live beside that.

use std::collections::BTreeSet;

use agentx_terminal::{Row, Style};

use super::hanging_indent::hanging;
use crate::render::units::counted;

/// The number of rows of a screen below which only the first rows of a question are shown.
const LOW: usize = 4;

/// A question on the screen.
#[derive(Debug)]
pub(in crate::chat) struct PrintedQuestion {
    /// The text as it is shown, for a terminal of another width.
    text: String,
    rows: Vec<Row>,
    /// Whether it is not printed yet, so that all its rows are live.
    is_held: bool,
    /// Rows that were printed since it began, itself included.
    printed: usize,
    /// Rows before it that are printed with the same frame.
    before: usize,
    /// Whether its first row has left the screen, or something was printed after it.
    is_gone: bool,
    /// Whether all its rows were on the screen at the same time.
    was_whole: bool,
    /// Whether the line is there to answer it.
    pub(in crate::chat) is_open: bool,
}

impl PrintedQuestion {
    /// A question with these rows, none of which is printed yet.
    pub(in crate::chat) fn new(text: &str, rows: Vec<Row>) -> Self {
        Self {
            text: text.to_owned(),
            rows,
            is_held: true,
            printed: 0,
            before: 0,
            is_gone: false,
            was_whole: false,
            is_open: false,
        }
    }

    /// Returns whether it was made from this text.
    pub(in crate::chat) fn has_text(&self, text: &str) -> bool {
        self.text == text
    }

    /// Returns whether all of it was on the screen at the same time.
    pub(in crate::chat) fn was_whole(&self) -> bool {
        self.was_whole
    }

    /// Returns the rows to print when the question ends: none if they are printed.
    pub(in crate::chat) fn into_unprinted(self) -> Vec<Row> {
        if self.is_held { self.rows } else { Vec::new() }
    }

    /// Returns the rows to print now because they do not fit into the `room` of the live rows. They are
    /// printed with the next frame, after so many others (`before`).
    pub(in crate::chat) fn rows_without_room(&mut self, room: usize, before: usize) -> Vec<Row> {
        if !self.is_held || self.rows.len() <= room {
            return Vec::new();
        }
        (self.is_held, self.before) = (false, before);
        self.rows.clone()
    }

    /// Notes that a frame printed this number of rows.
    pub(in crate::chat) fn printed(&mut self, rows: usize) {
        if self.is_held {
            return;
        }
        self.printed += rows.saturating_sub(std::mem::take(&mut self.before));
    }

    /// The screen was cleared, or has another width.
    pub(in crate::chat) fn on_screen_cleared(&mut self, columns: Option<usize>) {
        self.is_gone = true;
        if let Some(columns) = columns {
            self.rows = self
                .text
                .lines()
                .flat_map(|line| hanging(line).rows(columns))
                .collect();
        }
    }

    /// Returns its live rows: all of them if it is not printed; otherwise, if it is open and does not stand
    /// whole right above the line, the most telling ones, at most `room`. Of the rows of the `screen`,
    /// `above` live ones are above the question, and `below` from the line on.
    pub(in crate::chat) fn rows(
        &mut self,
        (above, below): (usize, usize),
        screen: usize,
        room: usize,
    ) -> Vec<Row> {
        if self.is_held {
            self.was_whole = true;
            return self.rows.clone();
        }
        self.is_gone |= self.printed > self.rows.len() || self.printed + above + below > screen;
        self.was_whole |= !self.is_gone && above == 0;
        if !(self.is_open && (self.is_gone || above > 0)) {
            return Vec::new();
        }
        self.was_whole |= self.rows.len() <= room;
        if self.rows.len() <= room || room < LOW {
            return self.rows.iter().take(room).cloned().collect();
        }
        let mut shown = Vec::with_capacity(room);
        let mut next = 0;
        for at in most_telling(&self.rows, room) {
            if at > next {
                shown.push(left_out(at - next));
            }
            shown.push(self.rows[at].clone());
            next = at + 1;
        }
        if next < self.rows.len() {
            shown.push(left_out(self.rows.len() - next));
        }
        shown
    }
}

/// Returns the row that stands for rows that are not shown.
fn left_out(count: usize) -> Row {
    let text = format!("  … {} (Ctrl-O shows all)", counted(count, "more row"));
    Row::new(&text, Style::default())
}

/// Returns the rows of a question to show if not all fit, in order. The subject is at the beginning; the
/// reason and the rule that `always` keeps are at the end. If a change is between them, at least a removed
/// and an added row are shown.
fn most_telling(rows: &[Row], room: usize) -> BTreeSet<usize> {
    let first = |sign: char| rows.iter().position(|row| sign_of(row) == Some(sign));
    let wanted = [Some(0), first('+'), first('-')];
    let ends = (0..room.min(rows.len())).flat_map(|at| [at, rows.len() - 1 - at]);
    let mut shown = BTreeSet::new();
    for at in wanted.into_iter().flatten().chain(ends) {
        if shown.insert(at) && height(&shown, rows.len()) > room {
            shown.remove(&at);
        }
    }
    shown
}

/// Returns the sign of a row of a change, which stands behind the number of the line if it has one.
fn sign_of(row: &Row) -> Option<char> {
    let text = row.text();
    let line = text.strip_prefix("    ")?;
    let numbered = line.trim_start_matches(' ');
    let rest = numbered.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == numbered.len() {
        return line.chars().next();
    }
    rest.strip_prefix(' ')?.chars().next()
}

/// Returns how many rows these take, with one for each gap between and behind them.
fn height(shown: &BTreeSet<usize>, all: usize) -> usize {
    let next = shown.iter().skip(1).copied().chain([all]);
    let gaps = shown.iter().zip(next).filter(|(at, next)| *at + 1 < *next);
    shown.len() + gaps.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[&str], room: usize) -> Vec<String> {
        let rows: Vec<Row> = lines
            .iter()
            .map(|line| Row::new(line, Style::default()))
            .collect();
        let mut question = PrintedQuestion::new("", rows);
        question.is_open = true;
        question.rows_without_room(0, 0);
        let shown = question.rows((1, 1), 100, room);
        shown.iter().map(Row::text).collect()
    }

    #[test]
    fn what_goes_and_what_comes_are_in_sight_where_there_is_little_room() {
        let lines = [
            "? edit wants to change a.txt",
            "     8  one",
            "     9  - two",
            "    10 -bye",
            "    10 +hello",
            "    11  three",
            "  because of a rule",
            "  always would save",
            "  (or your own)",
        ];
        assert_eq!(
            shown(&lines, 6),
            [
                "? edit wants to change a.txt",
                "  … 2 more rows (Ctrl-O shows all)",
                "    10 -bye",
                "    10 +hello",
                "  … 3 more rows (Ctrl-O shows all)",
                "  (or your own)",
            ]
        );
        for room in 5..lines.len() {
            let shown = shown(&lines, room);
            assert!(shown.len() <= room, "{shown:?}");
            assert!(
                shown.contains(&"    10 -bye".into()) && shown.contains(&"    10 +hello".into()),
                "{shown:?}"
            );
        }
        assert_eq!(shown(&lines, 10), lines);
    }
}
