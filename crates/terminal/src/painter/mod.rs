//! Turns frames into bytes. Finished rows scroll away and are never written again; below them are a few live
//! rows. Only the changed parts of these are written, so a streaming word costs little more than its letters.

mod resizing;

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;

pub use crate::painter::resizing::LongRows;
use crate::painter::resizing::NewSize;
use crate::style::Style;
use crate::text::{Row, Span, grapheme_width, is_plain, width};

/// Minimum number of columns that are moved down instead of written again.
const WORTH_MOVING: usize = 16;

/// Keeps track of the terminal's content, and writes the difference to the next frame.
#[derive(Clone, Debug)]
pub struct Painter {
    /// The size for which the live rows were painted.
    columns: usize,
    rows: usize,
    /// The size of the terminal, if it is another one now.
    resized: Option<NewSize>,
    /// Whether the terminal may have another size than it told.
    unsettled: bool,
    /// Whether the live rows were painted for a size that the terminal may not have had.
    doubted: bool,
    /// The live rows; at least one.
    shown: Vec<Row>,
    /// The row of the cursor among them.
    at: usize,
    /// The column of the cursor in its row, if it is known.
    placed: Option<usize>,
    bytes: String,
}

impl Painter {
    /// Creates a painter for a terminal of this size, with the cursor at the beginning of an empty row.
    pub fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns: columns.max(4),
            rows: rows.max(3),
            resized: None,
            unsettled: false,
            doubted: false,
            shown: vec![Row::default()],
            at: 0,
            placed: Some(0),
            bytes: String::new(),
        }
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.resized.map_or(self.columns, |size| size.columns)
    }

    /// Returns the maximum number of live rows: one less than the terminal has.
    pub fn most(&self) -> usize {
        self.resized.map_or(self.rows, |size| size.rows) - 1
    }

    /// Returns the bytes of the next frame: the finished rows `done`, and below them `live`, with the cursor
    /// in a row and column of it, or at its end. If there are more rows than fit, the last ones are shown.
    pub fn frame(&mut self, done: &[Row], live: &[Row], cursor: Option<(usize, usize)>) -> String {
        self.clear_resized();
        let hidden = live.len().saturating_sub(self.most());
        let live = &live[hidden..];
        let cursor = cursor.map(|(row, column)| (row.saturating_sub(hidden), column));
        let empty = [Row::default()];
        let live = if live.is_empty() { &empty } else { live };
        let moved = done.len();
        let rows: Vec<Cow<'_, Row>> = done.iter().chain(live).map(|row| self.fitting(row)).collect();
        self.make_room(&rows);
        let painted = self.paint_all(&rows);
        self.clear_from(moved + live.len());
        self.place(moved, cursor);
        self.shown.drain(..moved);
        self.at -= moved;
        let bytes = std::mem::take(&mut self.bytes);
        if painted > 2 && bytes.len() > 80 {
            // The terminal shows the frame as a whole, or ignores the sequence.
            return format!("\u{1b}[?2026h{bytes}\u{1b}[?2026l");
        }
        bytes
    }

    /// Begins on a clear screen.
    pub fn clear(&mut self) -> String {
        *self = Self {
            unsettled: self.unsettled,
            ..Self::new(self.columns(), self.most() + 1)
        };
        "\u{1b}[2J\u{1b}[H".to_owned()
    }

    /// Moves rows down that stay the same below new rows: the terminal does that for less than it costs to
    /// write them again.
    fn make_room(&mut self, rows: &[Cow<'_, Row>]) {
        let before = self.shown.len();
        let Some(more) = rows.len().checked_sub(before).filter(|more| *more > 0) else {
            return;
        };
        let ends = self.shown.iter().rev().zip(rows.iter().rev());
        let staying = ends.take_while(|(old, new)| *old == new.as_ref()).count();
        let width: usize = self.shown[before - staying..].iter().map(Row::width).sum();
        // All rows have to be on the screen, so that the cursor can reach them.
        if width < WORTH_MOVING || rows.len() > self.rows {
            return;
        }
        self.go_to(before - 1);
        self.bytes.push_str(&"\r\n".repeat(more));
        let up = more + staying - 1;
        if up > 0 {
            let _ = write!(self.bytes, "\u{1b}[{up}A");
        }
        let _ = write!(self.bytes, "\u{1b}[{more}L");
        let at = before - staying;
        self.shown
            .splice(at..at, std::iter::repeat_n(Row::default(), more));
        (self.at, self.placed) = (at, None);
    }

    fn fitting<'a>(&self, row: &'a Row) -> Cow<'a, Row> {
        if row.width() <= self.columns {
            Cow::Borrowed(row)
        } else {
            Cow::Owned(row.cut(self.columns))
        }
    }

    /// Writes the changes of all rows, and returns the number of changed rows.
    fn paint_all(&mut self, rows: &[Cow<'_, Row>]) -> usize {
        let (mut painted, mut is_new) = (0, false);
        for (i, row) in rows.iter().enumerate() {
            let before = i.checked_sub(1).map(|before| rows[before].as_ref());
            let before = before.filter(|before| before.wraps_into(row, self.columns));
            is_new = match before {
                // A terminal may forget that it broke a line when the row before is written again.
                Some(before) if is_new || self.shown.get(i).is_none_or(|old| old.spans.is_empty()) => {
                    self.continue_line(i, before, row);
                    true
                }
                _ => self.paint(i, row),
            };
            painted += usize::from(is_new);
        }
        painted
    }

    /// Writes a row behind the one before it, which is full: the terminal breaks the line itself.
    fn continue_line(&mut self, i: usize, before: &Row, row: &Row) {
        if self.shown.get(i).is_some_and(|old| old.width() > row.width()) {
            self.go_to(i);
            self.column(0);
            self.bytes.push_str("\u{1b}[K");
        }
        self.go_to(i - 1);
        let last = before.last();
        self.column(before.width() - last.width());
        self.write(&last, 0);
        self.write(row, 0);
        self.shown.resize(self.shown.len().max(i + 1), Row::default());
        self.shown[i] = row.clone();
        self.at = i;
        self.placed = Some(row.width()).filter(|width| *width < self.columns);
    }

    /// Writes the changes of a row; returns whether there were any.
    fn paint(&mut self, i: usize, row: &Row) -> bool {
        if i >= self.shown.len() {
            self.go_to(self.shown.len() - 1);
            self.bytes.push_str("\r\n");
            self.shown.push(Row::default());
            (self.at, self.placed) = (i, Some(0));
        }
        let old = &self.shown[i];
        if old == row {
            return false;
        }
        let sure = old.sure().is_none() && row.sure().is_none();
        let (same, column) = common(old, row);
        let shorter = !sure || old.width() > row.width();
        self.go_to(i);
        self.column(column);
        if shorter {
            self.bytes.push_str("\u{1b}[K");
        }
        self.write(row, same);
        // After the last column, the position of the cursor differs between terminals.
        self.placed = Some(row.width()).filter(|width| *width < self.columns);
        self.shown[i] = row.clone();
        true
    }

    /// Writes a row from so many bytes of its text on.
    fn write(&mut self, row: &Row, mut skip: usize) {
        let (mut look, mut link) = (Style::default(), None);
        for span in &row.spans {
            let text = span.text.get(skip.min(span.text.len())..).unwrap_or_default();
            skip = skip.saturating_sub(span.text.len());
            if text.is_empty() {
                continue;
            }
            // Blanks have no colour: a look that only colours need not begin before the word.
            if span.link != link {
                let to = span.link.as_deref().unwrap_or_default();
                let _ = write!(self.bytes, "\u{1b}]8;;{to}\u{1b}\\");
                link.clone_from(&span.link);
            }
            let skips = text.trim().is_empty() && !look.shows_on_blanks() && !span.style.shows_on_blanks();
            if !skips {
                self.bytes.push_str(&look.to(span.style));
                look = span.style;
            }
            self.bytes.push_str(text);
        }
        self.bytes.push_str(&look.to(Style::default()));
        if link.is_some() {
            self.bytes.push_str("\u{1b}]8;;\u{1b}\\");
        }
    }

    /// Moves the cursor to a row, by line feeds if it is below. A terminal that has become lower may have
    /// dropped the rows below the cursor, and a movement would end at its last row: the cursor would be
    /// higher than it seems, and the next frame would write into finished rows. A line feed makes the row.
    fn go_to(&mut self, row: usize) {
        if row < self.at {
            let _ = write!(self.bytes, "\u{1b}[{}A", self.at - row);
        } else if row > self.at {
            self.bytes.push_str(&"\r\n".repeat(row - self.at));
            self.placed = Some(0);
        }
        self.at = row;
    }

    fn clear_from(&mut self, row: usize) {
        if row < self.shown.len() {
            self.go_to(row);
            self.bytes.push_str("\r\u{1b}[J");
            self.go_to(row - 1);
            self.shown.truncate(row);
            self.placed = Some(0);
        }
    }

    /// Puts the cursor into the live rows, which begin at row `first`.
    fn place(&mut self, first: usize, cursor: Option<(usize, usize)>) {
        let last = self.shown.len() - 1;
        let (row, column) = cursor.unwrap_or_else(|| (last - first, self.shown[last].width()));
        let (row, column) = ((first + row).min(last), column.min(self.columns - 1));
        self.go_to(row);
        // Behind a sign whose width differs between terminals, the text before the cursor is written again to
        // place the cursor.
        let unsure = self.shown[row].sure().filter(|sure| sure.1 < column);
        if let Some((bytes, sure)) = unsure.filter(|_| self.placed != Some(column)) {
            self.column(sure);
            let before = self.shown[row].first(column);
            self.write(&before, bytes);
            self.placed = Some(column);
        }
        self.column(column);
    }

    fn column(&mut self, column: usize) {
        if self.placed == Some(column) {
            return;
        }
        self.bytes.push('\r');
        if column > 0 {
            let _ = write!(self.bytes, "\u{1b}[{column}C");
        }
        self.placed = Some(column);
    }
}

/// Returns the common prefix of two rows in bytes of text and in columns, styles included; up to the first
/// sign behind which the terminal's column is uncertain.
fn common(old: &Row, new: &Row) -> (usize, usize) {
    let same = alike(old, new);
    new.sure().map_or(same, |sure| same.min(sure))
}

/// Returns the common prefix of two rows.
fn alike(old: &Row, new: &Row) -> (usize, usize) {
    let spans = old.spans.iter().zip(&new.spans);
    let whole = spans.take_while(|(old, new)| old == new).count();
    let same = new.spans[..whole].iter();
    let (mut bytes, mut columns) = same.fold((0, 0), |(bytes, columns), span| {
        (bytes + span.text.len(), columns + width(&span.text))
    });
    if let (Some(old), Some(new)) = (old.spans.get(whole), new.spans.get(whole))
        && is_plain(&old.text)
        && is_plain(&new.text)
    {
        let letters = old.text.bytes().zip(new.text.bytes());
        let same = letters.take_while(|(old, new)| old == new).count();
        let same = if old.is_like(new) { same } else { 0 };
        return (bytes + same, columns + same);
    }
    let mut olds = graphemes(&old.spans[whole..]);
    for (text, span) in graphemes(&new.spans[whole..]) {
        if !olds
            .next()
            .is_some_and(|(old, before)| old == text && before.is_like(span))
        {
            break;
        }
        bytes += text.len();
        columns += grapheme_width(text);
    }
    (bytes, columns)
}

fn graphemes(spans: &[Span]) -> impl Iterator<Item = (&str, &Span)> {
    spans
        .iter()
        .flat_map(|span| span.text.graphemes(true).map(move |text| (text, span)))
}
