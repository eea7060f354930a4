//! The operators of vi: delete, change, copy, put, replace.

use unicode_segmentation::UnicodeSegmentation as _;

use super::super::{EditOutcome, Editor, KillBuffer, LONGEST, motion};
use super::{Vi, ViOperator};

impl Editor {
    /// Does something to the text from `from` to `to`.
    pub(super) fn operate(&mut self, operator: ViOperator, from: usize, to: usize) -> EditOutcome {
        if from == to && operator != ViOperator::Change {
            return self.no_command();
        }
        self.cut = KillBuffer {
            text: self.text[from..to].to_owned(),
            rows: false,
            left: None,
        };
        match operator {
            ViOperator::Yank => {
                let edited = self.go(from);
                self.settled();
                edited
            }
            ViOperator::Delete => {
                self.changes();
                self.delete(from, to);
                self.settled();
                EditOutcome::Changed
            }
            ViOperator::Change => {
                self.changes();
                self.delete(from, to);
                self.insert_mode()
            }
        }
    }

    /// Does something to the rows from that of `from` to that of `to`.
    pub(super) fn operate_on_rows(&mut self, operator: ViOperator, from: usize, to: usize) -> EditOutcome {
        let (start, end) = (
            motion::row_start(&self.text, from),
            motion::row_end(&self.text, to),
        );
        self.cut = KillBuffer {
            text: self.text[start..end].to_owned(),
            rows: true,
            left: None,
        };
        match operator {
            ViOperator::Yank => {
                let edited = self.go(from);
                self.settled();
                return edited;
            }
            ViOperator::Change => {
                self.changes();
                self.delete(start, end);
                return self.insert_mode();
            }
            ViOperator::Delete => {}
        }
        self.changes();
        if end < self.text.len() {
            self.delete(start, end + 1);
        } else {
            self.delete(start.saturating_sub(1), end);
        }
        self.cursor = motion::row_text(&self.text, self.cursor);
        self.settled();
        EditOutcome::Changed
    }

    /// A command that stands alone.
    pub(super) fn alone(&mut self, c: char) -> EditOutcome {
        let (at, times) = (self.cursor, self.vi.as_ref().map_or(1, Vi::times));
        let (start, end) = (motion::row_start(&self.text, at), motion::row_end(&self.text, at));
        match c {
            'i' => self.insert_mode(),
            'I' => self.insert_at(motion::row_text(&self.text, at)),
            'a' => self.insert_at(self.next_grapheme().min(end)),
            'A' => self.insert_at(end),
            'o' => self.open_row(end, end + 1),
            'O' => self.open_row(start, start),
            'x' => self.operate(ViOperator::Delete, at, self.graphemes_on(times).min(end)),
            'X' => self.operate(ViOperator::Delete, self.graphemes_back(times).max(start), at),
            's' => self.operate(ViOperator::Change, at, self.graphemes_on(times).min(end)),
            'S' => self.operate_on_rows(ViOperator::Change, at, at),
            'D' => self.operate(ViOperator::Delete, at, end),
            'C' => self.operate(ViOperator::Change, at, end),
            'Y' => self.operate_on_rows(ViOperator::Yank, at, at),
            'p' => self.put(true, times),
            'P' => self.put(false, times),
            '~' => self.other_case(times),
            'J' => self.join(times),
            'u' => self.counted(|editor| editor.take_back(false)),
            '.' => self.repeat_change(),
            '/' => {
                self.settled();
                self.begin_search()
            }
            'v' => {
                self.settled();
                EditOutcome::Elsewhere
            }
            _ => {
                self.settled();
                EditOutcome::Nothing
            }
        }
    }

    fn graphemes_on(&self, times: usize) -> usize {
        (0..times).fold(self.cursor, |at, _| motion::next_grapheme(&self.text, at))
    }

    fn graphemes_back(&self, times: usize) -> usize {
        (0..times).fold(self.cursor, |at, _| motion::previous_grapheme(&self.text, at))
    }

    fn insert_at(&mut self, at: usize) -> EditOutcome {
        self.go(at);
        self.insert_mode()
    }

    /// Begins a row at `at`, and types at `cursor`.
    fn open_row(&mut self, at: usize, cursor: usize) -> EditOutcome {
        self.changes();
        self.change(false);
        self.cursor = at;
        self.insert("\n");
        self.cursor = motion::snapped(&self.text, cursor);
        self.insert_mode()
    }

    /// Inserts the cut text behind the cursor or before it; whole rows below its row or above.
    fn put(&mut self, behind: bool, times: usize) -> EditOutcome {
        let KillBuffer { text, rows, .. } = self.cut.clone();
        if (text.is_empty() && !rows) || (text.len() + 1) * times > LONGEST {
            self.settled();
            return EditOutcome::Nothing;
        }
        self.changes();
        self.change(false);
        let (start, end) = (
            motion::row_start(&self.text, self.cursor),
            motion::row_end(&self.text, self.cursor),
        );
        if rows && behind {
            self.cursor = end;
            self.insert(&format!("\n{text}").repeat(times));
            self.cursor = motion::row_text(&self.text, (end + 1).min(self.text.len()));
        } else if rows {
            self.cursor = start;
            self.insert(&format!("{text}\n").repeat(times));
            self.cursor = motion::row_text(&self.text, start);
        } else {
            self.cursor = if behind {
                self.next_grapheme().min(end)
            } else {
                self.cursor
            };
            self.insert(&text.repeat(times));
            self.cursor = self.previous_grapheme();
        }
        self.settled();
        EditOutcome::Changed
    }

    /// `r`: replaces characters.
    pub(super) fn put_over(&mut self, c: char) -> EditOutcome {
        let times = self.vi.as_ref().map_or(1, Vi::times);
        let end = motion::row_end(&self.text, self.cursor);
        let to = self.graphemes_on(times);
        let there = self.text[self.cursor..to.min(end)].graphemes(true).count();
        if to > end || there < times {
            self.settled();
            return EditOutcome::Nothing;
        }
        self.changes();
        self.change(false);
        let over = c.to_string().repeat(times);
        let from = self.cursor;
        self.text.replace_range(from..to, &over);
        self.cursor = motion::snapped(&self.text, from + over.len() - c.len_utf8());
        self.settled();
        EditOutcome::Changed
    }

    /// `~`: small letters become large ones, and the other way round.
    fn other_case(&mut self, times: usize) -> EditOutcome {
        let end = motion::row_end(&self.text, self.cursor);
        let to = self.graphemes_on(times).min(end);
        let turned: String = self.text[self.cursor..to].chars().flat_map(turned).collect();
        self.changes();
        self.change(false);
        let from = self.cursor;
        self.text.replace_range(from..to, &turned);
        self.cursor = motion::snapped(&self.text, from + turned.len());
        self.settled();
        EditOutcome::Changed
    }

    /// `J`: the next row continues in this one.
    fn join(&mut self, times: usize) -> EditOutcome {
        self.changes();
        for _ in 0..times.max(2) - 1 {
            let end = motion::row_end(&self.text, self.cursor);
            if end == self.text.len() {
                break;
            }
            let next = motion::row_text(&self.text, end + 1);
            self.change(false);
            self.text.replace_range(end..next, " ");
            self.cursor = motion::snapped(&self.text, end);
        }
        self.settled();
        EditOutcome::Changed
    }
}

fn turned(c: char) -> Vec<char> {
    if c.is_uppercase() {
        c.to_lowercase().collect()
    } else {
        c.to_uppercase().collect()
    }
}
