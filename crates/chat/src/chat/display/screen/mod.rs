//! The screen of a chat: text that scrolls away and never changes again, and below it the live rows: the text
//! that still streams, the status row, and the input line.
//!
//! Of the live rows, only the changed ones are written.

use std::borrow::Cow;

use agentx_terminal::{Line as Text, Markdown, Painter, Row, Style, Theme};

use super::hanging_indent::hanging;
pub(crate) use super::input_layout::InputLine;
use super::input_layout::layout;
use super::printed_question::PrintedQuestion;
use crate::render::transcript::{TextPiece, TextRegion};
use crate::terminal::long_rows;

/// The height below which only the input line stays at the bottom of the screen.
const LOW: usize = 8;

/// Maximum number of rows of an open line of another agent.
const BESIDE: usize = 4;

/// Collects the bytes for a terminal.
#[derive(Debug)]
pub struct Screen {
    painter: Painter,
    theme: Theme,
    rows: usize,
    bytes: String,
    /// Rows that go up for good with the next frame.
    done: Vec<Row>,
    /// The answer that streams.
    answer: Option<Markdown>,
    /// The line of other text that is not complete, with its looks.
    open: String,
    line: Option<InputLine>,
    /// The question that was asked last, until it ends.
    asked: Option<PrintedQuestion>,
    /// The unfinished words of other agents.
    beside: Vec<String>,
    /// The status row.
    status: String,
    /// The waiting messages, a row each.
    queue: Vec<String>,
    /// The hint in an empty input line.
    hint: String,
    /// The list below the line, a row each.
    menu: Vec<String>,
}

impl Screen {
    /// A screen of this size.
    pub fn new(columns: usize, rows: usize, theme: Theme) -> Self {
        Self {
            painter: Painter::new(columns, rows),
            theme,
            rows,
            bytes: String::new(),
            done: Vec::new(),
            answer: None,
            open: String::new(),
            line: None,
            asked: None,
            beside: Vec::new(),
            status: String::new(),
            queue: Vec::new(),
            hint: String::new(),
            menu: Vec::new(),
        }
    }

    /// Adds pieces of text, each in its region.
    pub(crate) fn say(&mut self, pieces: &[TextPiece]) {
        for piece in pieces {
            match piece.region {
                TextRegion::Answer => self.print_answer(&piece.text),
                TextRegion::Aside => self.print(&piece.text),
                TextRegion::Question => self.ask(&piece.text),
                TextRegion::QuestionChange => self.change_question(&piece.text),
                TextRegion::QuestionEnd => self.end_question(),
                TextRegion::Passing => self.print_in_passing(&piece.text),
            }
        }
    }

    /// Adds text above the line, unchanged.
    pub fn print(&mut self, text: &str) {
        self.end_answer();
        self.put(text);
    }

    /// Adds a question, which stays right above the line while it is open.
    fn ask(&mut self, text: &str) {
        self.end_answer();
        self.end_question();
        self.asked = Some(self.question_of(text));
    }

    /// Replaces the open question by one with another text.
    fn change_question(&mut self, text: &str) {
        let Some(asked) = self.asked.as_ref().filter(|asked| !asked.has_text(text)) else {
            return;
        };
        let mut changed = self.question_of(text);
        changed.is_open = asked.is_open;
        self.asked = Some(changed);
    }

    /// Returns a question with this text in the width of the screen.
    fn question_of(&self, text: &str) -> PrintedQuestion {
        let columns = self.painter.columns();
        let mut rows = Vec::new();
        let mut looks = String::new();
        for line in self.readable(text).lines() {
            let line = format!("{looks}{line}");
            looks = open_looks(&line);
            rows.extend(hanging(&line).rows(columns));
        }
        PrintedQuestion::new(text, rows)
    }

    /// Prints the question that was asked last, unless it is printed: from now on it changes no more.
    fn end_question(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.done.extend(asked.into_unprinted());
        }
    }

    /// Sets whether the question that was asked last is answered in the line; `None` if there is no question
    /// any more.
    pub(crate) fn set_asked(&mut self, is_open: Option<bool>) {
        match (is_open, &mut self.asked) {
            (Some(is_open), Some(asked)) => asked.is_open = is_open,
            (None, _) => self.end_question(),
            (Some(_), None) => {}
        }
    }

    /// Returns whether the open question was never whole on the screen.
    pub(crate) fn hides_question(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| !asked.was_whole())
    }

    /// Adds whole lines above what still lives of the answer, which continues below them.
    pub(crate) fn print_in_passing(&mut self, text: &str) {
        if let Some(answer) = &mut self.answer {
            self.done.extend(answer.take_done());
        }
        self.put(text);
    }

    fn put(&mut self, text: &str) {
        let text = self.readable(text);
        let mut rest = text.as_ref();
        while let Some((line, after)) = rest.split_once('\n') {
            self.open.push_str(line);
            let looks = open_looks(&self.open);
            self.end_open();
            self.open = looks;
            rest = after;
        }
        self.open.push_str(rest);
    }

    /// Adds words of the model, which are markdown.
    pub(crate) fn print_answer(&mut self, text: &str) {
        if !Text::from_ansi(&self.open).spans.is_empty() {
            self.end_open();
        }
        self.open.clear();
        let (columns, theme) = (self.painter.columns(), self.theme);
        let answer = self.answer.get_or_insert_with(|| Markdown::new(columns, theme));
        answer.push(text);
    }

    /// Replaces yellow and cyan by darker colours on a light background, if they cannot be read.
    fn readable<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.theme.light && text.contains('\u{1b}') {
            Cow::Owned(
                text.replace("\u{1b}[36m", "\u{1b}[34m")
                    .replace("\u{1b}[33m", "\u{1b}[35m"),
            )
        } else {
            Cow::Borrowed(text)
        }
    }

    fn end_answer(&mut self) {
        if let Some(mut answer) = self.answer.take() {
            answer.end();
            self.done.extend(answer.take_done());
        }
    }

    fn end_open(&mut self) {
        let line = std::mem::take(&mut self.open);
        self.done.extend(hanging(&line).rows(self.painter.columns()));
    }

    /// Shows this line, or none.
    pub(crate) fn set_line(&mut self, line: Option<InputLine>) {
        self.line = line;
    }

    /// Shows lines that other agents are saying; they are printed when they end.
    pub(crate) fn set_beside(&mut self, beside: Vec<String>) {
        self.beside = beside
            .iter()
            .map(|line| self.readable(line).into_owned())
            .collect();
    }

    /// Sets the text of the status row.
    pub(crate) fn set_status(&mut self, status: String) {
        self.status = self.readable(&status).into_owned();
    }

    /// Shows the queued messages above the line, a row each.
    pub(crate) fn set_queue(&mut self, queue: Vec<String>) {
        self.queue = queue.iter().map(|row| self.readable(row).into_owned()).collect();
    }

    /// Returns whether it has this size already.
    pub(crate) fn has_size(&self, columns: usize, rows: usize) -> bool {
        // A painter has a least width.
        (self.painter.columns(), self.rows) == (columns.max(4), rows)
    }

    /// Returns the bytes that clear the live rows from the screen while another program has the terminal.
    pub(crate) fn stand_aside(&mut self) -> String {
        if let Some(answer) = &mut self.answer {
            self.done.extend(answer.take_done());
        }
        let frame = self.painter.frame(&self.done, &[], None);
        if let Some(asked) = &mut self.asked {
            asked.printed(self.done.len());
        }
        self.done.clear();
        self.bytes.push_str(&frame);
        std::mem::take(&mut self.bytes)
    }

    /// Shows a hint in the empty input line, until it is replaced.
    pub(crate) fn set_hint(&mut self, hint: String) {
        self.hint = hint;
    }

    /// Shows a list below the line, a row each.
    pub(crate) fn set_menu(&mut self, menu: Vec<String>) {
        self.menu = menu.iter().map(|row| self.readable(row).into_owned()).collect();
    }

    /// Returns the height of the terminal in rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds bytes for the terminal that show nothing.
    pub(crate) fn tell(&mut self, bytes: &str) {
        self.bytes.push_str(bytes);
    }

    /// Returns those bytes alone.
    pub(crate) fn take_told(&mut self) -> String {
        std::mem::take(&mut self.bytes)
    }

    /// Sets the theme of everything that is drawn from now on.
    pub(crate) fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Returns the theme.
    pub(crate) fn theme(&self) -> Theme {
        self.theme
    }

    /// The terminal has another size now.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        self.painter.resize(columns, rows, long_rows());
        self.rows = rows;
        let columns = self.painter.columns();
        if let Some(answer) = &mut self.answer {
            answer.set_columns(columns);
        }
        if let Some(asked) = &mut self.asked {
            asked.on_screen_cleared(Some(columns));
        }
    }

    /// Says whether the terminal certainly has the size that it told.
    pub(crate) fn set_settled(&mut self, settled: bool) {
        self.painter.set_settled(settled);
    }

    /// Begins on a clear screen.
    pub(crate) fn clear(&mut self) {
        self.bytes.push_str(&self.painter.clear());
        if let Some(asked) = &mut self.asked {
            asked.on_screen_cleared(None);
        }
    }

    /// Takes the bytes for the terminal.
    pub fn take(&mut self) -> String {
        let columns = self.painter.columns();
        let mut live = match &mut self.answer {
            Some(answer) => {
                self.done.extend(answer.take_done());
                answer.live()
            }
            None if self.open.is_empty() => Vec::new(),
            None => hanging(&self.open).rows(columns),
        };
        for line in &self.beside {
            let rows = Text::from_ansi(line).rows(columns);
            let hidden = rows.len().saturating_sub(BESIDE);
            live.extend(rows.into_iter().skip(hidden));
        }
        // Without an input line, the cursor stays at the end of the text, so that a new word costs only its
        // letters.
        let mut cursor = live.last().map(|row| (live.len() - 1, row.width()));
        let mut below = Vec::new();
        if self.rows >= LOW {
            below.extend((!self.status.is_empty()).then(|| Row::from_ansi(&self.status)));
            below.extend(self.queue.iter().map(|row| Row::from_ansi(row)));
        }
        let most = self.painter.most();
        let mut written = None;
        if let Some(line) = &self.line {
            let layout = layout(line, columns, most);
            written = Some((below.len() + layout.row, layout.column));
            below.extend(layout.rows.iter().map(|row| Row::new(row, Style::default())));
            below.extend(self.menu.iter().map(|row| Row::from_ansi(row)));
        }
        for hint in self.hint.lines() {
            below.extend(Text::new(hint, self.theme.faint).rows(columns));
        }
        if let Some(asked) = &mut self.asked {
            let room = most.saturating_sub(below.len());
            let unprinted = asked.rows_without_room(room, self.done.len());
            self.done.extend(unprinted);
            asked.printed(self.done.len());
            live.extend(asked.rows((live.len(), below.len()), self.rows, room));
        }
        cursor = written.map(|(row, column)| (live.len() + row, column)).or(cursor);
        live.append(&mut below);
        let frame = self.painter.frame(&self.done, &live, cursor);
        self.done.clear();
        self.bytes.push_str(&frame);
        std::mem::take(&mut self.bytes)
    }

    /// Returns the bytes at the end: the text stays, and the live rows below it are cleared.
    pub(crate) fn leave(&mut self) -> String {
        self.end_answer();
        if !self.open.is_empty() {
            self.end_open();
        }
        self.end_question();
        self.line = None;
        self.beside.clear();
        self.hint.clear();
        self.menu.clear();
        self.queue.clear();
        self.status.clear();
        self.take()
    }
}

/// The control sequence of the look that a line leaves on.
fn open_looks(line: &str) -> String {
    let last = line.rfind("\u{1b}[").map(|at| &line[at..]);
    let end = last.and_then(|last| last.find('m').map(|end| &last[..=end]));
    end.filter(|codes| *codes != "\u{1b}[0m")
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests;
