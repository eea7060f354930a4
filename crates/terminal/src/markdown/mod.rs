//! Renders Markdown while it streams. The part that can no longer change is final, and is returned once, as
//! rows. The end of the text, which the next letter may change, is live and is rendered again each time.

mod blocks;
mod code;
mod cut;
mod events;
mod footnotes;
mod inline;
mod links;
mod literal;
mod render;
mod table;

use crate::highlight::Highlighter;
use crate::style::Theme;
use crate::text::{Line, Row};
use blocks::{BlockKind, Blocks, MarkdownBlock};
pub use code::code_blocks;
use inline::closed;

/// Renders Markdown that arrives in pieces.
#[derive(Debug)]
pub struct Markdown {
    columns: usize,
    theme: Theme,
    blocks: Blocks,
    done: Vec<Row>,
    /// The number of letters of the live block that are final; none of a paragraph, whose beginning is
    /// dropped when it is final.
    frozen: usize,
    /// Whether the beginning of the live block is final and was released.
    continued: bool,
    /// The length of the block when its upper rows were last released.
    looked_at: usize,
    /// The kind of the previous block, for the space before the next one.
    before: Option<BlockKind>,
    code: Option<Highlighter>,
}

impl Markdown {
    /// Creates an empty text for this number of columns.
    pub fn new(columns: usize, theme: Theme) -> Self {
        Self {
            columns,
            theme,
            blocks: Blocks::new(columns),
            done: Vec::new(),
            frozen: 0,
            continued: false,
            looked_at: 0,
            before: None,
            code: None,
        }
    }

    /// Sets the width for the following text.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
        self.blocks.set_columns(columns);
    }

    /// Adds text; it must be free of control characters but for line ends and tabs. It is read letter by
    /// letter, so that the rows depend on the text and not on the pieces in which it comes.
    pub fn push(&mut self, text: &str) {
        for letter in text.split_inclusive(|_| true) {
            self.blocks.push(letter);
            while let Some(block) = self.blocks.next_done() {
                self.finish(&block);
            }
            self.release();
        }
        if let (Some(code), Some(line)) = (&mut self.code, self.blocks.code_line()) {
            code.begin(line, &self.theme);
        }
    }

    /// Ends the text, so that all rows become final.
    pub fn end(&mut self) {
        self.blocks.end();
        while let Some(block) = self.blocks.next_done() {
            self.finish(&block);
        }
        (self.before, self.code) = (None, None);
    }

    /// Takes the rows that are done since the last time.
    pub fn take_done(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.done)
    }

    /// Returns the rows of the unfinished block, which later text may still change. What is open looks as if
    /// it ended here; if it never ends, its final rows show its sign.
    pub fn live(&self) -> Vec<Row> {
        let Some(mut block) = self.blocks.live() else {
            return Vec::new();
        };
        if block.kind != BlockKind::CodeLine && !self.blocks.is_fenced() {
            block.text = closed(&block.text);
        }
        let lines = match (block.kind, &self.code) {
            (BlockKind::CodeLine, Some(code)) => {
                vec![render::code(&code.begun_line(&block.text), &self.theme)]
            }
            _ => self.lines(&block),
        };
        let mut live = rows_after(self.rows(&lines), self.frozen);
        if self.begins(&block) {
            live.insert(0, Row::default());
        }
        live
    }

    /// Returns whether there is an empty row before a block.
    fn is_apart(&self, block: &MarkdownBlock) -> bool {
        match (self.before, block.kind) {
            (None, _)
            | (Some(BlockKind::CodeBegin | BlockKind::CodeLine), BlockKind::CodeLine | BlockKind::CodeEnd) => {
                false
            }
            (Some(BlockKind::Item), BlockKind::Item) => block.after_blank,
            (Some(BlockKind::CodeBegin), _) | (Some(BlockKind::Footnote), BlockKind::Footnote) => false,
            _ => true,
        }
    }

    /// Returns whether no row of a block is done yet, and it needs an empty row before it.
    fn begins(&self, block: &MarkdownBlock) -> bool {
        self.frozen == 0 && !self.continued && self.is_apart(block)
    }

    fn finish(&mut self, block: &MarkdownBlock) {
        if self.begins(block) {
            self.done.push(Row::default());
        }
        let lines = match block.kind {
            BlockKind::CodeBegin => {
                self.code = Some(Highlighter::new(&block.text));
                Vec::new()
            }
            BlockKind::CodeEnd => {
                self.code = None;
                Vec::new()
            }
            BlockKind::CodeLine => vec![self.code_line(&block.text)],
            _ => self.lines(block),
        };
        let rows = self.rows(&lines);
        self.done.extend(rows_after(rows, self.frozen));
        (self.frozen, self.continued, self.looked_at) = (0, false, 0);
        self.before = Some(block.kind);
    }

    fn code_line(&mut self, text: &str) -> Line {
        let theme = self.theme;
        match &mut self.code {
            Some(code) => render::code(&code.line(text, &theme), &theme),
            None => render::plain_code(text, &theme),
        }
    }

    fn lines(&self, block: &MarkdownBlock) -> Vec<Line> {
        match block.kind {
            BlockKind::CodeBegin | BlockKind::CodeEnd => Vec::new(),
            // A line of code that is not complete yet gets its colours when it is.
            BlockKind::CodeLine => vec![render::plain_code(&block.text, &self.theme)],
            _ => render::block(&block.text, &self.theme, self.columns),
        }
    }

    fn rows(&self, lines: &[Line]) -> Vec<Row> {
        lines.iter().flat_map(|line| line.rows(self.columns)).collect()
    }

    /// Releases the upper rows of a growing paragraph. Their text gets a meaning that nothing can change, so
    /// that the final rows of the block begin with them.
    fn release(&mut self) {
        // A block that has grown by less than a row, or by little of its length, need not be checked.
        let length = self.blocks.live_len();
        if length < self.looked_at + self.columns.max(self.looked_at / 32) {
            return;
        }
        self.looked_at = length;
        let Some(block) = self.blocks.live().filter(MarkdownBlock::may_have_final_rows) else {
            return;
        };
        let render = |text: &str| self.rows(&render::block(text, &self.theme, self.columns));
        let live = rows_after(render(&block.text), self.frozen).len();
        let Some(cut) = cut::find(&block, self.blocks.released(), live, render) else {
            return;
        };
        if self.begins(&block) {
            self.done.push(Row::default());
        }
        let letters = cut.rows.iter().map(letters).sum();
        self.done.extend(rows_after(cut.rows, self.frozen));
        if block.kind.is_container() {
            self.blocks
                .release(block.text[..cut.at].trim_end().len(), &cut.before);
            self.frozen = letters;
        } else {
            // The rest means the same without it, so that a long paragraph costs no more than a short one.
            let (begin, replaced) = cut::beginning(&block.text[cut.at..]);
            self.blocks.release(cut.at + replaced, &begin);
            self.blocks.continue_text();
        }
        (self.continued, self.looked_at) = (true, self.blocks.live_len());
    }
}

/// Returns the number of letters in a row; blanks are not counted, because they vanish at the end of a
/// wrapped row.
fn letters(row: &Row) -> usize {
    let spans = row.spans.iter();
    spans
        .map(|span| span.text.chars().filter(|c| *c != ' ').count())
        .sum()
}

/// Returns the rows after this number of letters. If a row is partly final, because the terminal changed its
/// width, returns its rest.
fn rows_after(rows: Vec<Row>, mut letters_done: usize) -> Vec<Row> {
    let mut left = Vec::new();
    for row in rows {
        let count = letters(&row);
        if letters_done >= count && letters_done > 0 {
            letters_done -= count;
        } else if letters_done > 0 {
            left.push(rest_of(&row, letters_done));
            letters_done = 0;
        } else {
            left.push(row);
        }
    }
    left
}

fn rest_of(row: &Row, mut letters_done: usize) -> Row {
    let mut rest = Row {
        wraps: row.wraps,
        ..Row::default()
    };
    for span in &row.spans {
        for c in span.text.chars() {
            if letters_done == 0 {
                rest.push_like(c.encode_utf8(&mut [0; 4]), span);
            } else if c != ' ' {
                letters_done -= 1;
            }
        }
    }
    rest
}

#[cfg(test)]
mod tests;
