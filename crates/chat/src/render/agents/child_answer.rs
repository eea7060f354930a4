//! The answer of an agent beside the main one: rendered as Markdown while it streams, and folded like the
//! output of a tool, so that the conversation with the main agent stays in sight.

use agentx_terminal::{Markdown, Row, Theme};

use super::super::line_fold::LineFold;

/// Minimum number of columns of an answer, however long the name of its agent is.
const NARROWEST: usize = 20;
/// Maximum number of rows of the unfinished part that are shown.
const LIVE_ROWS: usize = 4;

/// An answer that streams.
#[derive(Debug)]
pub(super) struct ChildAnswer {
    markdown: Markdown,
    fold: LineFold,
}

impl ChildAnswer {
    /// Returns an empty answer for this number of columns.
    pub(super) fn new(columns: usize, theme: Theme) -> Self {
        Self {
            // A line that is printed with its looks has no room for the address of a link.
            markdown: Markdown::new(columns.max(NARROWEST), theme.with_links(false)),
            fold: LineFold::default(),
        }
    }

    /// Sets the width of the text that follows.
    pub(super) fn set_columns(&mut self, columns: usize) {
        self.markdown.set_columns(columns.max(NARROWEST));
    }

    /// Takes a piece; returns the rows that are shown now, with control sequences for looks.
    pub(super) fn push(&mut self, text: &str) -> Vec<String> {
        self.markdown.push(text);
        self.take_shown()
    }

    /// Ends the answer; returns the remaining rows. `more` tells how to see the rows that are left out.
    pub(super) fn finish(mut self, more: &str) -> Vec<String> {
        self.markdown.end();
        let mut rows = self.take_shown();
        rows.extend(self.fold.finish(more));
        rows
    }

    /// The rows of the unfinished part.
    pub(super) fn live(&self) -> Vec<String> {
        let rows = self.markdown.live();
        let hidden = rows.len().saturating_sub(LIVE_ROWS);
        rows.iter().skip(hidden).map(Row::to_ansi).collect()
    }

    fn take_shown(&mut self) -> Vec<String> {
        let done = self.markdown.take_done();
        done.iter()
            .filter_map(|row| self.fold.push(row.to_ansi()))
            .collect()
    }
}
