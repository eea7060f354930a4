//! Keeps an open question about a call directly above the line that answers it. The question is printed like
//! everything else. It is printed once more if something appears below it, such as the end of another call,
//! or if it has left the screen.

use std::collections::BTreeSet;

use agentx_terminal::{Row, Style};

use super::hanging_indent::hanging;
use crate::render::units::counted;

/// The number of rows of a screen below which only the first rows of a question are shown.
const LOW: usize = 4;

/// A question that was printed.
#[derive(Debug)]
pub(in crate::chat) struct PrintedQuestion {
    /// The text as it was printed, for a terminal of another width.
    text: String,
    rows: Vec<Row>,
    /// Rows that were printed since it began, itself included.
    printed: usize,
    /// Rows before it that are printed with the same frame.
    before: usize,
    /// Whether its first row has left the screen, or something was printed after it.
    is_gone: bool,
    /// Whether the line is there to answer it.
    pub(in crate::chat) is_open: bool,
}

impl PrintedQuestion {
    /// A question whose rows are printed with the next frame, after so many others.
    pub(in crate::chat) fn new(text: &str, rows: Vec<Row>, before: usize) -> Self {
        Self {
            text: text.to_owned(),
            rows,
            printed: 0,
            before,
            is_gone: false,
            is_open: false,
        }
    }

    /// Notes that a frame printed this number of rows.
    pub(in crate::chat) fn printed(&mut self, rows: usize) {
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

    /// Returns its rows, if it is open and does not stand whole right above the line: on a screen with so
    /// many rows, of which `above` are above the line, and `below` from there on. Returns at most `room`
    /// rows: the most telling ones.
    pub(in crate::chat) fn rows(
        &mut self,
        (above, below): (usize, usize),
        screen: usize,
        room: usize,
    ) -> Vec<Row> {
        self.is_gone |= self.printed > self.rows.len() || self.printed + above + below > screen;
        if !(self.is_open && (self.is_gone || above > 0)) {
            return Vec::new();
        }
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
    let text = format!("  … {} above", counted(count, "more row"));
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
        let mut question = PrintedQuestion::new("", rows, 0);
        question.is_open = true;
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
                "  … 2 more rows above",
                "    10 -bye",
                "    10 +hello",
                "  … 3 more rows above",
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
