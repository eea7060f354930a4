//! Cuts a streaming text into blocks that the next line can no longer change. The Markdown parser gets each
//! block whole and decides what it means.

use std::collections::VecDeque;

use super::code::{Fence, closes, fence_of, indent_of};
use super::footnotes::{self, FootnoteDefinition, may_become_definition};
use crate::text::width;

/// The kind of a block, as far as its end depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// A paragraph, a heading, a table, a quote.
    Text,
    /// An item of a list with all that is in it.
    Item,
    /// The definition of a footnote with all that is in it.
    Footnote,
    /// The fence before code; its text is the language.
    CodeBegin,
    /// A line of code.
    CodeLine,
    /// The fence after code.
    CodeEnd,
}

impl BlockKind {
    /// Returns whether empty lines and indented blocks may belong to it.
    pub(super) fn is_container(self) -> bool {
        matches!(self, Self::Item | Self::Footnote)
    }
}

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkdownBlock {
    pub(super) kind: BlockKind,
    pub(super) text: String,
    /// Whether an empty line precedes it.
    pub(super) after_blank: bool,
}

impl MarkdownBlock {
    /// Returns whether rows may be final while it grows: those of a table may not, because each line may
    /// change the widths of its columns.
    pub(super) fn may_have_final_rows(&self) -> bool {
        let mut lines = self.text.lines();
        (self.kind == BlockKind::Text || self.kind.is_container())
            && !lines.any(|line| line.trim_start().starts_with('|') || line.contains(" | "))
    }
}

/// Cuts a text as it comes.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    done: VecDeque<MarkdownBlock>,
    /// The lines of the block that is open.
    open: String,
    kind: Option<BlockKind>,
    /// The column at which the text of an item or a footnote begins.
    item_indent: usize,
    /// The open fence: of code by itself, or within an item or a footnote.
    fence: Option<Fence>,
    /// The line that is not complete.
    tail: String,
    /// Empty lines came since the last line of the open block.
    blank: bool,
    /// An empty line stood before the open block.
    after_blank: bool,
    /// The maximum width of a text that a line of signs below turns into a heading.
    title_width: usize,
    /// Whether the open block is the rest of a paragraph whose beginning was released.
    continued: bool,
    /// The number of bytes at the beginning of the open container whose rows are final.
    released: usize,
}

impl Blocks {
    /// Creates an empty text for this number of columns.
    pub(super) fn new(columns: usize) -> Self {
        let mut blocks = Self::default();
        blocks.set_columns(columns);
        blocks
    }

    pub(super) fn set_columns(&mut self, columns: usize) {
        self.title_width = columns.saturating_mul(TITLE_ROWS);
    }

    pub(super) fn push(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find('\n') {
            self.tail.push_str(&rest[..at]);
            let line = std::mem::take(&mut self.tail);
            self.line(line.strip_suffix('\r').unwrap_or(&line));
            rest = &rest[at + 1..];
        }
        self.tail.push_str(rest);
        self.settle();
    }

    /// Finishes open blocks as soon as it is certain that the current line begins another block.
    fn settle(&mut self) {
        let is_open = self.kind.is_some() && !self.is_in_code() && self.fence.is_none();
        // A long line of signs alone is not read again with each sign; of another one it is known what it is.
        let is_known = self.tail.len() > LONGEST_BEGINNING && self.tail.ends_with(is_sign);
        if is_open && !is_known && !may_become_anything(&self.tail) && self.begins(&self.tail) {
            self.close();
        }
    }

    pub(super) fn end(&mut self) {
        if !self.tail.is_empty() {
            let line = std::mem::take(&mut self.tail);
            self.line(&line);
        }
        self.close();
        *self = Self {
            done: std::mem::take(&mut self.done),
            title_width: self.title_width,
            ..Self::default()
        };
    }

    pub(super) fn next_done(&mut self) -> Option<MarkdownBlock> {
        self.done.pop_front()
    }

    /// Returns the length of the unfinished part.
    pub(super) fn live_len(&self) -> usize {
        self.open.len() + self.tail.len()
    }

    /// Replaces this number of bytes at the beginning of the unfinished part, whose rows are final. A
    /// container keeps its beginning, which the rest belongs to.
    pub(super) fn release(&mut self, bytes: usize, kept: &str) {
        let in_tail = bytes.saturating_sub(self.open.len());
        if in_tail == 0 {
            self.open.replace_range(..bytes, kept);
        } else {
            let line = kept.rfind('\n').map_or(0, |at| at + 1);
            self.open.clear();
            self.open.push_str(&kept[..line]);
            self.tail.replace_range(..in_tail, &kept[line..]);
        }
        self.released = kept.len();
    }

    /// Returns the number of bytes at the beginning of the open container whose rows are final.
    pub(super) fn released(&self) -> usize {
        self.released
    }

    /// Makes the unfinished part the rest of a paragraph whose beginning was released.
    pub(super) fn continue_text(&mut self) {
        (self.kind, self.continued, self.released) = (Some(BlockKind::Text), true, 0);
    }

    /// The line of code that has begun, unless it may be the end of the code.
    pub(super) fn code_line(&self) -> Option<&str> {
        let shows =
            self.is_in_code() && !self.tail.is_empty() && !self.tail.trim_start().starts_with(['`', '~']);
        shows.then_some(self.tail.as_str())
    }

    /// The block that is open, as it would be if the text ended here.
    pub(super) fn live(&self) -> Option<MarkdownBlock> {
        if self.is_in_code() {
            return self.code_line().map(|line| MarkdownBlock {
                kind: BlockKind::CodeLine,
                text: line.to_owned(),
                after_blank: false,
            });
        }
        let tail = if may_become_anything(&self.tail) {
            ""
        } else {
            self.tail.as_str()
        };
        let begins = self.fence.is_none() && self.begins(tail);
        let (kind, text, after_blank) = match self.kind {
            Some(_) if !tail.is_empty() && begins => (kind_of(tail), tail.to_owned(), self.blank),
            Some(kind) => (kind, format!("{}{tail}", self.open), self.after_blank),
            None if tail.is_empty() => return None,
            None => (kind_of(tail), tail.to_owned(), self.blank),
        };
        Some(MarkdownBlock {
            kind,
            text,
            after_blank,
        })
    }

    /// Returns whether this line begins a new block, and so ends the open one.
    fn begins(&self, line: &str) -> bool {
        let Some(kind) = self.kind else { return true };
        if kind.is_container() && indent_of(line) >= self.item_indent {
            return false;
        }
        if is_heading(line) || fence_of(line).is_some() || FootnoteDefinition::read(line).is_some() {
            return true;
        }
        match kind {
            BlockKind::Item => self.blank || item_indent(line).is_some(),
            BlockKind::Footnote => self.blank || item_indent(line).is_some() || is_underline(line),
            _ => {
                item_indent(line).is_some_and(|_| interrupts(line))
                    || (is_underline(line) && !self.may_be_title())
            }
        }
    }

    /// Returns whether a line of signs may turn the open text into a heading. A longer text cannot become
    /// one, because its upper rows are already final.
    fn may_be_title(&self) -> bool {
        let text = self.open.trim_end();
        !self.continued && !text.contains('\n') && width(text) <= self.title_width
    }

    /// Returns whether rows of the last paragraph of a container are final.
    fn has_final_rows(&self) -> bool {
        self.open.rfind("\n\n").unwrap_or(0) < self.released
    }

    /// Returns whether a fence within a container is open.
    pub(super) fn is_fenced(&self) -> bool {
        self.fence.is_some()
    }

    fn is_in_code(&self) -> bool {
        self.kind == Some(BlockKind::CodeLine)
    }

    fn line(&mut self, line: &str) {
        if self.is_in_code() {
            return self.code(line);
        }
        if let Some(fence) = self.fence {
            // Within a container, everything stays together until the fence is closed.
            if closes(line, fence) {
                self.fence = None;
            }
            return self.add(line);
        }
        if line.trim().is_empty() {
            self.blank = true;
            if self.kind.is_some_and(|kind| !kind.is_container()) {
                self.close();
            }
            return;
        }
        if self.begins(line) {
            self.close();
            self.begin(line);
        } else {
            let is_contained = self.kind.is_some_and(BlockKind::is_container);
            if is_contained && (self.blank || (changes_above(line) && self.has_final_rows())) {
                self.open.push('\n');
            }
            self.blank = false;
            self.fence = fence_of(line.trim_start()).filter(|_| is_contained);
            self.add(line);
        }
    }

    fn begin(&mut self, line: &str) {
        (self.after_blank, self.blank) = (self.blank, false);
        if let Some(fence) = fence_of(line) {
            let language = line.trim().trim_start_matches(fence.sign).trim();
            self.put(BlockKind::CodeBegin, language);
            (self.fence, self.kind) = (Some(fence), Some(BlockKind::CodeLine));
            return;
        }
        self.kind = Some(kind_of(line));
        self.item_indent = match self.kind {
            Some(BlockKind::Footnote) => footnotes::INDENT,
            _ => item_indent(line).unwrap_or(0),
        };
        self.add(line);
        if is_heading(line) {
            self.close();
        }
    }

    fn code(&mut self, line: &str) {
        match self.fence {
            Some(fence) if closes(line, fence) => {
                (self.fence, self.kind) = (None, None);
                self.put(BlockKind::CodeEnd, "");
            }
            fence => {
                let indent = fence.map_or(0, |fence| fence.indent).min(indent_of(line));
                self.put(BlockKind::CodeLine, &line[indent..]);
            }
        }
    }

    fn add(&mut self, line: &str) {
        self.open.push_str(line);
        self.open.push('\n');
    }

    fn put(&mut self, kind: BlockKind, text: &str) {
        self.done.push_back(MarkdownBlock {
            kind,
            text: text.to_owned(),
            after_blank: self.after_blank,
        });
    }

    fn close(&mut self) {
        let Some(kind) = self.kind.take() else { return };
        let text = std::mem::take(&mut self.open);
        (self.fence, self.continued, self.released) = (None, false, 0);
        match kind {
            BlockKind::Text | BlockKind::Item | BlockKind::Footnote => self.put(kind, &text),
            _ => self.put(BlockKind::CodeEnd, ""),
        }
    }
}

/// Number of bytes at the beginning of a line in which its kind is known, unless it has signs alone.
const LONGEST_BEGINNING: usize = 100;

/// Returns whether a line of such signs may become any kind of block.
fn is_sign(c: char) -> bool {
    "#-*+_=`~>|:. ".contains(c)
}

/// Returns whether a line may still become any kind of block: signs alone may, a number may become an item,
/// and a fence is one only when its line has ended.
pub(super) fn may_become_anything(line: &str) -> bool {
    let text = line.trim();
    let after_digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_number = text.len() - after_digits.len() <= MOST_DIGITS && matches!(after_digits, "" | "." | ")");
    is_number || text.chars().all(is_sign) || fence_of(line).is_some() || may_become_definition(line)
}

fn kind_of(line: &str) -> BlockKind {
    if item_indent(line).is_some() {
        BlockKind::Item
    } else if FootnoteDefinition::read(line).is_some() {
        BlockKind::Footnote
    } else {
        BlockKind::Text
    }
}

fn is_heading(line: &str) -> bool {
    let line = line.trim_start();
    let signs = line.len() - line.trim_start_matches('#').len();
    (1..=6).contains(&signs) && line[signs..].starts_with([' ', '\t'])
}

/// A heading that is underlined has no more rows.
const TITLE_ROWS: usize = 3;

/// Returns whether it may underline a heading.
fn is_underline(line: &str) -> bool {
    let signs = line.trim();
    !signs.is_empty() && (signs.bytes().all(|b| b == b'-') || signs.bytes().all(|b| b == b'='))
}

/// Returns whether a line may make a heading or a table of the paragraph above.
fn changes_above(line: &str) -> bool {
    is_underline(line) || line.chars().all(|c| "|-: ".contains(c))
}

/// The number of an item has no more digits.
const MOST_DIGITS: usize = 9;

/// Returns the column at which the text of an item begins, if the line begins one.
fn item_indent(line: &str) -> Option<usize> {
    let indent = indent_of(line);
    let text = &line[indent..];
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let marker = match text[digits..].chars().next()? {
        '-' | '*' | '+' if digits == 0 => 1,
        '.' | ')' if (1..=MOST_DIGITS).contains(&digits) => digits + 1,
        _ => return None,
    };
    let after = &text[marker..];
    let is_rule = digits == 0 && text.chars().all(|c| c == ' ' || text.starts_with(c)) && text.len() > 2;
    (after.starts_with(' ') && !after.trim().is_empty() && !is_rule).then_some(indent + marker + 1)
}

/// Returns whether an item may begin right below a paragraph.
fn interrupts(line: &str) -> bool {
    let line = line.trim_start();
    !line.starts_with(|c: char| c.is_ascii_digit()) || line.starts_with("1.") || line.starts_with("1)")
}
