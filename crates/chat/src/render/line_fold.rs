//! Folds a long text while it arrives: its first lines are shown as they come, the last ones at its end, and
//! the lines between are counted. The output of tools and the answers of other agents are folded alike.

use std::collections::VecDeque;

use super::units;

/// The number of lines that are shown as they come.
pub(super) const HEAD_LINES: usize = 12;
/// The number of lines that are shown from the end of the omitted text.
const TAIL_LINES: usize = 4;

/// The way to see the omitted lines, in a chat at a terminal.
pub(crate) const KEY_FOR_MORE: &str = " (Ctrl-O shows more)";

/// The lines of a text that are not shown yet, and the number of those that were.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineFold {
    shown: usize,
    left_out: usize,
    tail: VecDeque<String>,
}

impl LineFold {
    /// Takes the next line; returns it if it is shown now.
    pub(crate) fn push(&mut self, line: String) -> Option<String> {
        if self.shown < HEAD_LINES {
            self.shown += 1;
            return Some(line);
        }
        self.left_out += 1;
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
        None
    }

    /// Returns whether no line came.
    pub(crate) fn is_empty(&self) -> bool {
        self.shown == 0
    }

    /// The latest lines that are not shown yet.
    pub(crate) fn tail(&self) -> impl Iterator<Item = &str> {
        self.tail.iter().map(String::as_str)
    }

    /// Returns the remaining lines at the end of the text; `more` tells how to see omitted lines.
    pub(crate) fn finish(&mut self, more: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.left_out > self.tail.len() {
            let left_out = units::counted(self.left_out - self.tail.len(), "line");
            lines.push(format!("… {left_out}{more} …"));
        }
        lines.extend(self.tail.drain(..));
        lines
    }
}
