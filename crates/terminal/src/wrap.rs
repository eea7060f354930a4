//! Breaks lines into the rows of a terminal: between words, and never inside a character.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::text::{Line, Row, Span, grapheme_width, is_plain, uncomposed_width};

impl Line {
    /// The rows that it takes on a terminal of so many columns; at least one.
    pub fn rows(&self, columns: usize) -> Vec<Row> {
        let mut rows = WrappedRows {
            line: self,
            // A wide character needs two columns beside what the row begins with.
            columns: columns.max(self.rest.width().max(self.first.width()) + 2),
            done: Vec::new(),
            row: self.first.clone(),
            width: self.first.width(),
            begun: false,
        };
        for word in self.parts().chunk_by(|_, next| !next.begins) {
            rows.word(word);
        }
        if self.spans.is_empty() {
            trim_end(&mut rows.row);
        }
        rows.done.push(rows.row);
        rows.done
    }

    /// Splits the text into parts of one style. Those of a word may not be broken apart; blanks stand by
    /// themselves, as do wide characters.
    fn parts(&self) -> Vec<LinePart<'_>> {
        let mut all: Vec<LinePart<'_>> = Vec::new();
        let mut joins = false;
        for span in &self.spans {
            for (text, alone) in parts(&span.text, self.verbatim) {
                let begins = !joins || alone;
                all.push(LinePart { text, span, begins });
                joins = !alone;
            }
        }
        all
    }
}

/// A piece of a line.
struct LinePart<'a> {
    text: &'a str,
    span: &'a Span,
    /// Whether a word begins here.
    begins: bool,
}

/// Splits a text into parts, each with whether it is separate: whole words if all of the text is plain, else
/// single graphemes.
fn parts(text: &str, verbatim: bool) -> Vec<(&str, bool)> {
    if !is_plain(text) {
        let alone = |part: &str| verbatim || part == " " || grapheme_width(part) > 1;
        return text.graphemes(true).map(|part| (part, alone(part))).collect();
    }
    if verbatim {
        return text.split_inclusive(|_| true).map(|part| (part, true)).collect();
    }
    let mut parts = Vec::new();
    for word in text.split_inclusive(' ') {
        let letters = word.trim_end_matches(' ');
        let (letters, blank) = word.split_at(letters.len());
        parts.extend((!letters.is_empty()).then_some((letters, false)));
        parts.extend((!blank.is_empty()).then_some((blank, true)));
    }
    parts
}

/// The rows of a line, as they fill.
struct WrappedRows<'a> {
    line: &'a Line,
    columns: usize,
    done: Vec<Row>,
    row: Row,
    width: usize,
    /// Whether the row has more than what it begins with.
    begun: bool,
}

impl WrappedRows<'_> {
    fn word(&mut self, word: &[LinePart<'_>]) {
        let wide: usize = word.iter().map(|part| self.room(part.text)).sum();
        let blank = word.first().is_some_and(|part| part.text == " ") && !self.line.verbatim;
        if self.width + wide > self.columns {
            if blank {
                // A blank at the end of a row is invisible, and no row begins with a blank.
                return;
            }
            // After blanks alone, a word stays on the row if it would not fit into its own row either.
            let fits_alone = self.line.rest.width() + wide <= self.columns;
            if self.begun && (fits_alone || !self.row.text().trim().is_empty()) {
                self.next_row();
            }
        }
        if blank && !self.begun && !self.done.is_empty() {
            return;
        }
        let fits = self.width + wide <= self.columns;
        for LinePart { text, span, .. } in word {
            if fits {
                self.put(text, span, self.room(text));
                continue;
            }
            for text in text.graphemes(true) {
                let wide = self.room(text);
                if self.width + wide > self.columns {
                    self.next_row();
                }
                self.put(text, span, wide);
            }
        }
    }

    /// Returns the maximum width of a text, in columns, on any terminal: a row that is too long would take
    /// two. In a narrow terminal, composed signs count as one.
    fn room(&self, text: &str) -> usize {
        let most = |sign: &str| grapheme_width(sign).max(uncomposed_width(sign).min(self.columns / 4));
        if is_plain(text) {
            text.len()
        } else {
            text.graphemes(true).map(most).sum()
        }
    }

    fn put(&mut self, text: &str, like: &Span, wide: usize) {
        self.row.push_like(text, like);
        self.width += wide;
        self.begun = true;
    }

    fn next_row(&mut self) {
        let next = self.line.rest.clone();
        self.width = next.width();
        self.begun = false;
        let mut full = std::mem::replace(&mut self.row, next);
        if self.line.verbatim {
            full.wraps = self.line.rest.spans.is_empty();
        } else {
            trim_end(&mut full);
        }
        self.done.push(full);
    }
}

/// Takes blanks away from the end of a row.
fn trim_end(row: &mut Row) {
    while let Some(last) = row.spans.last_mut() {
        last.text.truncate(last.text.trim_end_matches(' ').len());
        if !last.text.is_empty() {
            break;
        }
        row.spans.pop();
    }
}
