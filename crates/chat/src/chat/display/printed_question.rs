//! Keeps the question about a call right above the line that answers it for as long as it is open. It is
//! printed like everything else; if something stands below it, such as the end of another call, or if it has
//! left the screen, it is shown once more.

use agentx_terminal::{Row, Style};

use super::hanging_indent::hanging;

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
    /// rows, the first and the last.
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
        // What it is about stands at its beginning; why it is asked, and which rule `always` keeps, at its
        // end.
        let end = self.rows.len() - (room - 1) / 2;
        let first = room - 1 - (room - 1) / 2;
        let left_out = format!("  … {} more rows above", end - first);
        let mut shown = self.rows[..first].to_vec();
        shown.push(Row::new(&left_out, Style::default()));
        shown.extend_from_slice(&self.rows[end..]);
        shown
    }
}
